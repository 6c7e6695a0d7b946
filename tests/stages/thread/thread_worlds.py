"""Small worlds of messages that collide in every way, an index in memory, and what must come of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from models.base import pack, shift_key
from models.thread import (
    Node,
    SoftEdge,
    bucket_key,
    hard_keys,
    is_loose,
    is_seeking,
    node_number,
    quoted_index,
    said_index,
)
from stages.thread import settle
from stages.thread.config import ThreadPolicy
from stages.thread.index import ThreadIndex
from stages.thread.memory import MemoryThreadIndex
from stages.thread.soft import (
    SKEW_HOURS,
    SKEW_LIMIT,
    choose_later,
    choose_parent,
    choose_quoted,
    earliest,
)

IDS = [f"m{number}@x.example" for number in range(6)]
PHANTOMS = ["p0@x.example", "p1@x.example"]
PEOPLE = ["ann@us.example", "bo@north.example", "cai@south.example"]
DATES = [None, *(f"2026-03-02T{hour:02}:{minute:02}:00Z" for hour in (8, 9, 10, 14) for minute in (0, 1, 30))]


def raw_hash(number: int) -> str:
    return f"blake3:{number:064x}"


def node(number: int, **more: Any) -> Node:
    """Return a plain message of a known date, sender and subject; `more` are fields to set otherwise."""
    raw = raw_hash(number)
    msg_id = more.pop("msg_id", f"n{number}@x.example")
    values: dict[str, Any] = {
        "identity": f"{number:08x}" * 4,
        "content_hash": raw,
        "date": shift_key("2026-03-02T08:00:00Z", number / 60),
        "own_ids": [msg_id],
        "subject": "Plan",
        "subject_key": "plan",
        "people": PEOPLE[:2],
        "sender": PEOPLE[number % 2],
    }
    row = Node(raw=raw, msg_id=msg_id, **{**values, **more})
    if "twin_key" not in more:
        row.twin_key = f"twin:{row.date or '~'} {row.identity}"
    return row


def reply(number: int, *refs: str, **more: Any) -> Node:
    """Return a reply that names `refs`, oldest first; without any it lost its headers."""
    return node(
        number, **{"reply_sign": True, "refs": list(refs), "parent_ref": refs[-1] if refs else None, **more}
    )


class MemoryIndex(MemoryThreadIndex):
    """The index in memory, open to a look inside."""

    @property
    def stored(self) -> dict[str, Node]:
        return self._nodes

    @property
    def edges(self) -> dict[str, SoftEdge]:
        return self._edges

    @property
    def home(self) -> dict[str, int]:
        return self._homes

    @property
    def last(self) -> int:
        return self._last


# ---- what must come of a set of messages --------------------------------------------------------------

Outcome = dict[str, Any]


def outcome_of(nodes: Sequence[Node], policy: ThreadPolicy, dates: Mapping[str, str]) -> Outcome:
    """Return partition, guesses and conversations of a set of messages, worked out without an index."""
    twins = twins_of(nodes)
    edges = [edge for one in nodes if is_loose(one) and (edge := _guess(one, nodes, twins, policy))]
    reused = {own for own, (first, last) in twins.items() if first != last}
    keys = {one.raw: set(hard_keys(one)) - reused for one in nodes}
    groups = [{one.raw} for one in nodes]
    links = [(edge.child, edge.parent) for edge in edges]
    links += [(a.raw, b.raw) for a in nodes for b in nodes if keys[a.raw] & keys[b.raw]]
    for one, other in links:
        joined = [group for group in groups if {one, other} & group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return _outcome({one.raw: one for one in nodes}, groups, edges, dates, twins)


Twins = dict[str, tuple[str, str]]


def twins_of(nodes: Iterable[Node]) -> Twins:
    """Return the first and last twin key under each id."""
    found: dict[str, set[str]] = {}
    for one in nodes:
        found.setdefault(one.msg_id, set()).add(one.twin_key)
    return {own: (min(keys), max(keys)) for own, keys in found.items()}


def _guess(child: Node, nodes: Sequence[Node], twins: Twins, policy: ThreadPolicy) -> SoftEdge | None:
    def place(one: Node) -> tuple[str, bool, str]:
        return (one.date or "", is_seeking(one), one.raw)

    def age(one: Node) -> tuple[str, int]:
        return (one.date or "", node_number(one.raw))

    if any(ref in twins and twins[ref][0] == twins[ref][1] for ref in child.refs):
        return None
    edge = _by_subject(child, nodes, place, policy) if is_seeking(child) else None
    if edge is not None and not child.refs:
        return edge
    authors = []
    for piece in quoted_index(child):
        wrote = [one for one in nodes if piece in said_index(one) and (one.date or "") < (child.date or "")]
        if wrote:
            authors.append((piece, sorted(wrote, key=age)[: policy.line_limit]))
    return (choose_quoted(child, authors, policy) if authors else None) or edge


def _by_subject(
    child: Node, nodes: Sequence[Node], place: Callable[[Node], tuple[str, bool, str]], policy: ThreadPolicy
) -> SoftEdge | None:
    since, until = earliest(child, policy), shift_key(child.date or "", SKEW_HOURS)
    bucket = sorted((one for one in nodes if bucket_key(one) == bucket_key(child)), key=place)
    seen = [one for one in bucket if since <= (one.date or "") and place(one) < place(child)]
    later = [one for one in bucket if place(one) > place(child)][:SKEW_LIMIT]
    edge = choose_parent(child, seen[-policy.bucket_limit :], policy)
    return edge or choose_later(child, [one for one in later if (one.date or "") <= until], policy)


def outcome_in(index: ThreadIndex, raws: Iterable[str], dates: Mapping[str, str]) -> Outcome:
    """Return partition, guesses and conversations as they stand in an index."""
    nodes = {one.raw: one for one in index.nodes(sorted(raws))}
    groups: dict[int, set[str]] = {}
    for raw, surrogate in index.threads(sorted(nodes)).items():
        groups.setdefault(surrogate, set()).add(raw)
    assert sum(map(len, groups.values())) == len(nodes), "a message without a thread"
    twins = index.twins(sorted({one.msg_id for one in nodes.values()}))
    return _outcome(nodes, groups.values(), index.soft_edges(sorted(nodes)), dates, twins)


def _outcome(
    nodes: Mapping[str, Node],
    groups: Iterable[set[str]],
    edges: Sequence[SoftEdge],
    dates: Mapping[str, str],
    twins: Twins,
) -> Outcome:
    conversations = []
    for group in groups:
        inside = [edge for edge in edges if edge.child in group]
        conversations.append(settle([nodes[raw] for raw in sorted(group)], inside, dates, twins))
    return {
        "threads": sorted(sorted(group) for group in groups),
        "guesses": sorted((edge.child, edge.parent, edge.score, edge.reason) for edge in edges),
        "conversations": sorted((one.thread_id, pack(one)) for one in conversations),
    }


# ---- worlds ----------------------------------------------------------------------------------------------

# A message is drawn as one number and a way of arrival as another: a few thousand worlds take seconds, and a
# world that fails still shrinks to the few messages that it needs.
codes = st.integers(0, 2**32 - 1)


def message(raw: str, code: int) -> Node:
    """Return a message that shares ids, subject, people and minutes with others of its world."""
    chance = random.Random(code)
    msg_id = chance.choice([*IDS, raw, raw])
    others = [ref for ref in [*IDS, *PHANTOMS] if ref != msg_id]
    refs = chance.sample(others, chance.choice([0, 0, 0, 0, 0, 1, 1, 2]))
    people = chance.sample(PEOPLE, chance.choice([1, 2, 2, 3, 3]))
    identity = chance.choice(["1" * 32, "2" * 32, "1" * 8 + "3" * 24])
    return Node(
        raw=raw,
        msg_id=msg_id,
        twin_key=f"twin:{identity[0]}",
        identity=identity,
        content_hash=raw,
        date=chance.choice(DATES),
        received_count=chance.randrange(3),
        own_ids=[msg_id],
        refs=refs,
        parent_ref=chance.choice([None, *refs]),
        group_keys=chance.choice([[]] * 9 + [["group"]]),
        subject=chance.choice("AB"),
        subject_key=chance.choice(["a"] * 7 + ["b", ""]),
        people=sorted(people),
        sender=chance.choice([*people, *people, *people, ""]),
        reply_sign=chance.random() < 0.75,
        joins_by_subject=chance.random() < 0.85,
        tokens=sorted(chance.sample("uvw", chance.randrange(4))),
        said=sorted(chance.sample(range(6), chance.choice([0, 1, 2, 3]))),
        quoted=sorted(chance.sample(range(6), chance.choice([0, 0, 2, 3]))),
        forward=chance.random() < 0.1,
        begins_subject=chance.random() < 0.5,
        former=chance.choice(["", "", "", "a", "b"]),
        list_key=chance.choice([None, None, None, "list"]),
    )


policies = st.builds(
    ThreadPolicy,
    window_hours=st.sampled_from([1, 2, 168]),
    long_hours=st.sampled_from([2, 2880]),
    bucket_limit=st.sampled_from([1, 2, 3, 64]),
    line_limit=st.sampled_from([1, 2, 6]),
    company_domains=st.sampled_from([[], ["us.example"]]),
)
worlds = st.lists(codes, min_size=1, max_size=14).map(
    lambda drawn: [message(raw_hash(number * 7919 % 1009), code) for number, code in enumerate(drawn, 1)]
)

Step = tuple[str, list[Node]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Node], list[Step], dict[str, str]]:
    """Return the messages that are there in the end, a way to get there, and server dates.

    The way: messages arrive in any order and any batches; some come first as another row of theirs, some are
    filed twice, some are taken out and come back, and strangers come and go.
    """
    final = draw(worlds)
    chance = random.Random(draw(codes))
    strangers = [
        message(raw_hash(2000 + number), chance.getrandbits(32)) for number in range(chance.randrange(3))
    ]
    waiting = [*final, *strangers]
    chance.shuffle(waiting)
    steps: list[Step] = []
    while waiting:
        size = chance.randint(1, 4)
        batch, waiting = waiting[:size], waiting[size:]
        one = chance.choice(batch)
        if chance.random() < 0.3:  # an older row of one of them came before
            steps.append(("place", [message(one.raw, chance.getrandbits(32))]))
        steps.append(("place", batch))
        if chance.random() < 0.2:
            steps.append(("place", [one, one]))
        if chance.random() < 0.3:
            steps += [("withdraw", [one]), ("place", [one])]
    if strangers:
        steps.append(("withdraw", strangers))
    dates = {one.raw: chance.choice(DATES[1:]) or "" for one in final if chance.random() < 0.2}
    return final, steps, dates
