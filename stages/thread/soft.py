"""Guesses: the one parent of a reply that lost its headers, chosen from the stored set."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from models.base import parse_time, shift_key
from models.thread import Node, SoftEdge
from stages.thread.config import ThreadPolicy
from stages.thread.people import Meeting, meet

_SPECIFIC = 16  # columns of a subject that hardly two exchanges share by chance; a Han character is two
_PLAIN_QUOTES = 2  # pieces that one earlier message alone wrote, for a guess across subjects
_PLAIN_SHARE = 0.3  # of what is quoted that this message wrote


def is_specific(subject_key: str) -> bool:
    """Return whether a subject says enough to be known again after months."""
    return _columns(subject_key) >= _SPECIFIC


@lru_cache(maxsize=4096)
def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text[:200])


def reach(node: Node, policy: ThreadPolicy) -> int:
    """Return how many hours a guess by the subject of `node` reaches."""
    return policy.long_hours if is_specific(node.subject_key) else policy.window_hours


def earliest(child: Node, policy: ThreadPolicy) -> str:
    """Return the first sortable time at which a parent of `child` may have been written."""
    assert child.date is not None
    return shift_key(child.date, -reach(child, policy))


def latest(node: Node, policy: ThreadPolicy) -> str:
    """Return the last sortable time of children that `node` could win."""
    assert node.date is not None
    return shift_key(node.date, reach(node, policy))


def choose_parent(child: Node, candidates: Iterable[Node], policy: ThreadPolicy) -> SoftEdge | None:
    """Return the guess for `child` among earlier messages of its subject and window, or None.

    A message that alone wrote what is quoted wins, then the better meeting of people, then the score, then the
    later date, then the larger hash; arrival plays no part.
    """
    found = [
        (node, fit)
        for node in candidates
        if node.msg_id != child.msg_id and (fit := meet(child, node, policy))
    ]
    alone = _alone(child, [node for node, _ in found])
    best: tuple[bool, int, float, str, str] | None = None
    for node, fit in found:
        quotes = alone[node.msg_id]
        if fit is Meeting.LOOSE and not quotes:
            continue
        rank = (quotes > 0, int(fit), _score(child, node, fit, quotes, policy), node.date or "", node.raw)
        if best is None or rank > best:
            best = rank
    if best is None:
        return None
    quoting, people, score, date, parent = best
    why = ["same subject", _PEOPLE[Meeting(people)], f"{_hours(child.date or '', date):.0f} h later"]
    if quoting:
        why.insert(1, "quotes what only it says")
    return SoftEdge(
        child=child.raw, parent=parent, tier="subject", score=round(score, 3), reason=", ".join(why)
    )


_PEOPLE = {
    Meeting.DIRECT: "answers its sender",
    Meeting.SHARED: "shared people",
    Meeting.LOOSE: "one person in both",
}


def _alone(child: Node, nodes: Sequence[Node]) -> Counter[str]:
    """Return, by message id, how many pieces that `child` quotes one message alone of `nodes` wrote."""
    quoted = set(child.quoted)
    writers: dict[int, set[str]] = {}
    if quoted:
        for node in nodes:
            for piece in quoted.intersection(node.said):
                writers.setdefault(piece, set()).add(node.msg_id)
    return Counter(next(iter(ids)) for ids in writers.values() if len(ids) == 1)


def choose_quoted(
    child: Node, authors: Sequence[tuple[int, Sequence[Node]]], policy: ThreadPolicy
) -> SoftEdge | None:
    """Return the guess for `child` by what it quotes, whatever the subjects say, or None.

    `authors` gives, for pieces that it quotes, the earlier messages that wrote them, at most
    `policy.line_limit`: as many wrote a form, no one's own words. Two or more pieces must be of one message.
    """
    alone: Counter[str] = Counter()
    nodes: dict[str, Node] = {}
    for _, found in authors:
        ids = {node.msg_id for node in found}
        if len(ids) == 1 and len(found) < policy.line_limit:
            node = min(found, key=lambda node: (node.date or "", node.raw))
            alone[node.msg_id] += 1
            nodes[node.msg_id] = node
    best: tuple[int, str, str] | None = None
    for msg_id, count in alone.items():
        node = nodes[msg_id]
        share = len(set(child.quoted) & set(node.said)) / len(child.quoted)
        if count < _PLAIN_QUOTES or share < _PLAIN_SHARE:
            continue
        if msg_id == child.msg_id or not meet(child, node, policy):
            continue
        rank = (count, node.date or "", node.raw)
        best = rank if best is None else max(best, rank)
    if best is None:
        return None
    count, _, parent = best
    score = min(0.9, 0.5 + 0.05 * count)
    reason = f"quotes {count} pieces that only it says"
    return SoftEdge(child=child.raw, parent=parent, tier="quote", score=round(score, 3), reason=reason)


def _score(child: Node, node: Node, fit: Meeting, quotes: int, policy: ThreadPolicy) -> float:
    """Return 0.3-1: how people meet, what is quoted, nearness in time, overlap of people and words."""
    near = 1 - min(1.0, _hours(child.date or "", node.date or "") / max(reach(child, policy), 1))
    people = _overlap(set(child.people), set(node.people))
    words = _overlap(set(child.tokens), set(node.tokens))
    sure = 0.2 * (int(fit) - 1) / 2 + 0.2 * min(quotes, 2) / 2
    return 0.3 + sure + 0.15 * near + 0.1 * people + 0.05 * words


def _hours(later: str, earlier: str) -> float:
    return (parse_time(later) - parse_time(earlier)).total_seconds() / 3600


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
