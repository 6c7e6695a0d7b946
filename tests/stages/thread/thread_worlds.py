"""Small worlds of messages that collide in every way, an index in memory, and what must come of them."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from models.base import pack, shift_key
from models.thread import Node, SoftEdge, hard_keys
from stages.thread import settle
from stages.thread.config import ThreadPolicy
from stages.thread.place import ThreadIndex
from stages.thread.soft import choose_parent, earliest, has_bucket, is_waiting

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
    return Node(raw=raw, msg_id=msg_id, **{**values, **more})


def reply(number: int, *refs: str, **more: Any) -> Node:
    """Return a reply that names `refs`, oldest first; without any it lost its headers."""
    return node(
        number, **{"reply_sign": True, "refs": list(refs), "parent_ref": refs[-1] if refs else None, **more}
    )


Row = tuple[str, bool, str, Node]


def _place(row: Row) -> tuple[str, bool, str]:
    return row[:3]


class MemoryIndex:
    """The index of the thread stage without a database."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[Node, bool]] = {}
        self.buckets: dict[str, list[Row]] = {}  # by subject, in order; made when asked for
        self.edges: dict[str, SoftEdge] = {}
        self.home: dict[str, int] = {}
        self.last = 0

    def put(self, nodes: Sequence[Node], waiting: Sequence[bool]) -> None:
        self.stored.update((one.raw, (one, wait)) for one, wait in zip(nodes, waiting, strict=True))
        self.buckets.clear()

    def drop(self, raws: Iterable[str]) -> None:
        for raw in raws:
            for table in (self.stored, self.edges, self.home):
                table.pop(raw, None)
        self.buckets.clear()

    def nodes(self, raws: Iterable[str]) -> list[Node]:
        return [self.stored[raw][0] for raw in sorted(set(raws)) if raw in self.stored]

    def of_threads(self, threads: Iterable[int]) -> list[Node]:
        wanted = set(threads)
        return [one for raw, (one, _) in sorted(self.stored.items()) if self.home.get(raw) in wanted]

    def homes(self, keys: Iterable[str]) -> dict[str, int]:
        wanted = set(keys)
        found: dict[str, int] = {}
        for raw, (one, _) in self.stored.items():
            if raw in self.home:
                found.update((key, self.home[raw]) for key in hard_keys(one) if key in wanted)
        return found

    def before(self, node: Node, waiting: bool, since: str, limit: int) -> list[Node]:
        rows = self._bucket(node.subject_key)
        end = bisect_left(rows, (node.date or "", waiting, node.raw), key=_place)
        start = max(end - limit, bisect_left(rows, since, key=lambda row: row[0]))
        return [row[3] for row in reversed(rows[start:end])]

    def last_waiting(self, subject_keys: Iterable[str]) -> dict[str, str]:
        dates = {key: [row[0] for row in self._bucket(key) if row[1]] for key in subject_keys}
        return {key: max(found) for key, found in dates.items() if found}

    def waiting_after(self, node: Node, waiting: bool, until: str, limit: int) -> list[Node]:
        rows = self._bucket(node.subject_key)
        start = bisect_right(rows, (node.date or "", waiting, node.raw), key=_place)
        return [row[3] for row in rows[start : start + limit] if row[1] and row[0] <= until]

    def _bucket(self, subject_key: str) -> list[Row]:
        if not self.buckets:
            for one, wait in self.stored.values():
                if has_bucket(one):
                    self.buckets.setdefault(one.subject_key, []).append((one.date or "", wait, one.raw, one))
            for rows in self.buckets.values():
                rows.sort(key=_place)
        return self.buckets.get(subject_key, [])

    def soft_edges(self, raws: Iterable[str]) -> list[SoftEdge]:
        wanted = set(raws)
        return [edge for _, edge in sorted(self.edges.items()) if {edge.child, edge.parent} & wanted]

    def put_soft(self, edges: Sequence[SoftEdge]) -> None:
        self.edges.update((edge.child, edge) for edge in edges)

    def remove_soft(self, children: Iterable[str]) -> None:
        for child in children:
            self.edges.pop(child, None)

    def threads(self, raws: Iterable[str]) -> dict[str, int]:
        return {raw: self.home[raw] for raw in raws if raw in self.home}

    def new_threads(self, count: int) -> list[int]:
        self.last += count
        return list(range(self.last - count + 1, self.last + 1))

    def assign(self, homes: Mapping[str, int]) -> None:
        self.home.update(homes)

    def merge(self, surrogates: Iterable[int], into: int) -> None:
        gone = set(surrogates)
        self.home.update((raw, into) for raw, surrogate in self.home.items() if surrogate in gone)

    def touch(self, surrogates: Iterable[int]) -> None: ...


# ---- what must come of a set of messages --------------------------------------------------------------

Outcome = dict[str, Any]


def outcome_of(nodes: Sequence[Node], policy: ThreadPolicy, dates: Mapping[str, str]) -> Outcome:
    """Return partition, guesses and conversations of a set of messages, worked out without an index."""
    edges = [edge for one in nodes if is_waiting(one) and (edge := _guess(one, nodes, policy))]
    groups = [{one.raw} for one in nodes]
    links = [(edge.child, edge.parent) for edge in edges]
    links += [(a.raw, b.raw) for a in nodes for b in nodes if set(hard_keys(a)) & set(hard_keys(b))]
    for one, other in links:
        joined = [group for group in groups if {one, other} & group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return _outcome({one.raw: one for one in nodes}, groups, edges, dates)


def _guess(child: Node, nodes: Sequence[Node], policy: ThreadPolicy) -> SoftEdge | None:
    def place(one: Node) -> tuple[str, bool, str]:
        return (one.date or "", is_waiting(one), one.raw)

    since = earliest(child, policy)
    bucket = [one for one in nodes if has_bucket(one) and one.subject_key == child.subject_key]
    seen = sorted(
        (one for one in bucket if since <= (one.date or "") and place(one) < place(child)), key=place
    )
    return choose_parent(child, seen[-policy.bucket_limit :], policy)


def outcome_in(index: ThreadIndex, raws: Iterable[str], dates: Mapping[str, str]) -> Outcome:
    """Return partition, guesses and conversations as they stand in an index."""
    nodes = {one.raw: one for one in index.nodes(sorted(raws))}
    groups: dict[int, set[str]] = {}
    for raw, surrogate in index.threads(sorted(nodes)).items():
        groups.setdefault(surrogate, set()).add(raw)
    assert sum(map(len, groups.values())) == len(nodes), "a message without a thread"
    return _outcome(nodes, groups.values(), index.soft_edges(sorted(nodes)), dates)


def _outcome(
    nodes: Mapping[str, Node], groups: Iterable[set[str]], edges: Sequence[SoftEdge], dates: Mapping[str, str]
) -> Outcome:
    conversations = []
    for group in groups:
        inside = [edge for edge in edges if edge.child in group]
        conversations.append(settle([nodes[raw] for raw in sorted(group)], inside, dates))
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
    return Node(
        raw=raw,
        msg_id=msg_id,
        identity=chance.choice(["1" * 32, "2" * 32, "1" * 8 + "3" * 24]),
        content_hash=raw,
        date=chance.choice(DATES),
        received_count=chance.randrange(3),
        own_ids=[msg_id],
        refs=refs,
        parent_ref=chance.choice([None, *refs]),
        group_key=chance.choice([None] * 9 + ["group"]),
        subject=chance.choice("AB"),
        subject_key=chance.choice(["a"] * 7 + ["b", ""]),
        people=sorted(people),
        sender=chance.choice([*people, *people, *people, ""]),
        reply_sign=chance.random() < 0.75,
        joins_by_subject=chance.random() < 0.85,
        tokens=sorted(chance.sample("uvw", chance.randrange(4))),
    )


policies = st.builds(
    ThreadPolicy,
    window_hours=st.sampled_from([1, 2, 168]),
    bucket_limit=st.sampled_from([1, 2, 3, 64]),
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
