"""Guesses: the one parent of a reply that lost its headers, chosen from the stored set."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from models.base import parse_time, shift_key
from models.thread import Node, SoftEdge, piece_of
from stages.thread.config import ThreadPolicy
from stages.thread.lines import is_long
from stages.thread.people import Meeting, meet

_SPECIFIC = (
    16  # letters of a subject that hardly two exchanges share by chance; a Han character is two and a half
)
_PLAIN_QUOTES = 2  # pieces that one earlier message alone wrote, for a guess across subjects
SKEW_HOURS = 1  # how far the clock of an answer may run behind that of what it answers
SKEW_LIMIT = 8  # messages of the subject that are looked at for it
_RESENT_HOURS = 6  # between a mail and the same one sent again, with what was missing
_REPEATED_SHARE = 0.5  # of a message that stands again, unmarked, in the answer to it
_RESENT_SHARE = 0.6  # and in the same mail sent again
_PLAIN_SHARE = 0.3  # of what is quoted that this message wrote


def is_specific(subject_key: str) -> bool:
    """Return whether a subject says enough to be known again after months."""
    return _weight(subject_key) >= _SPECIFIC


@lru_cache(maxsize=4096)
def _weight(text: str) -> float:
    return sum(2.5 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text[:200])


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


def choose_later(child: Node, candidates: Iterable[Node], policy: ThreadPolicy) -> SoftEdge | None:
    """Return the guess for a reply whose clock runs behind: what it answers seems to be written a little later.

    Only the beginning of an exchange, by the people on both sides, and if it is quoted or its subject specific.
    """
    found = [
        node
        for node in candidates
        if not node.reply_sign and node.msg_id != child.msg_id and meet(child, node, policy) is Meeting.DIRECT
    ]
    alone = _alone(child, found)
    for node in found:
        if alone[node.msg_id] or is_specific(child.subject_key):
            reason = "same subject, answers its sender by a clock that runs behind"
            return SoftEdge(child=child.raw, parent=node.raw, tier="subject", score=0.5, reason=reason)
    return None


def choose_quoted(
    child: Node, authors: Sequence[tuple[int, Sequence[Node]]], policy: ThreadPolicy
) -> SoftEdge | None:
    """Return the guess for `child` by what it quotes, whatever the subjects say, or None.

    `authors` gives, for pieces that it quotes (or repeats, where it shows no sign of a reply), the earlier
    messages that wrote them, at most `policy.line_limit`: as many wrote a form, no one's own words. Two or more
    pieces must be of one message, or a long one of a message whose sender the reply answers; the subject that
    was renamed counts for two. A reply that names an id of many is placed by that id and its subject.
    """
    if child.refs:
        return _by_named_id(child, authors, policy)
    alone: Counter[str] = Counter()
    nodes: dict[str, Node] = {}
    former = piece_of("subject", child.former) if child.former else None
    long: set[str] = set()
    renamed = ""
    for piece, found in authors:
        ids = {node.msg_id for node in found}
        if len(ids) == 1 and len(found) < policy.line_limit:
            node = min(found, key=lambda node: (node.date or "", node.raw))
            alone[node.msg_id] += 2 if piece == former else 1
            renamed = node.msg_id if piece == former else renamed
            nodes[node.msg_id] = node
            if is_long(piece):
                long.add(node.msg_id)
    best: tuple[int, str, str] | None = None
    for msg_id, count in alone.items():
        node = nodes[msg_id]
        fit = meet(child, node, policy)
        if msg_id == child.msg_id or not fit:
            continue
        if count < _PLAIN_QUOTES and not (msg_id in long and fit is Meeting.DIRECT):
            continue
        plain = _is_plainly_quoted if child.reply_sign else _is_repeated
        if msg_id == renamed or plain(child, node, policy):
            rank = (count, node.date or "", node.raw)
            best = rank if best is None else max(best, rank)
    if best is None:
        return None
    count, _, parent = best
    score = min(0.9, 0.5 + 0.05 * count)
    said = "repeats" if not child.reply_sign else "quotes"
    reason = (
        "its subject was renamed"
        if renamed and nodes[renamed].raw == parent
        else f"{said} {count} pieces that only it says"
    )
    return SoftEdge(child=child.raw, parent=parent, tier="quote", score=round(score, 3), reason=reason)


def _is_plainly_quoted(child: Node, node: Node, policy: ThreadPolicy) -> bool:
    return len(set(child.quoted) & set(node.said)) >= _PLAIN_SHARE * len(child.quoted)


def _is_repeated(child: Node, node: Node, policy: ThreadPolicy) -> bool:
    """Return whether a mail without a sign of a reply holds another one: as an answer, or because it was sent again."""
    share = len(set(child.said) & set(node.said)) / len(node.said) if node.said else 0.0
    if child.sender != node.sender:
        return share >= _REPEATED_SHARE and meet(child, node, policy) is Meeting.DIRECT
    again = child.subject_key == node.subject_key and set(node.people) <= set(child.people)
    return again and share >= _RESENT_SHARE and _hours(child.date or "", node.date or "") <= _RESENT_HOURS


def _by_named_id(
    child: Node, authors: Sequence[tuple[int, Sequence[Node]]], policy: ThreadPolicy
) -> SoftEdge | None:
    """Return the guess for a reply that names an id which unlike messages carry: the latest under its subject."""
    found = [node for _, nodes in authors for node in nodes if len(nodes) < policy.line_limit]
    met = [
        node for node in found if child.sender in node.people or (node.sender and node.sender in child.people)
    ]
    if not met:
        return None
    parent = max(met, key=lambda node: (node.date or "", node.raw)).raw
    reason = "names its id, which others carry too, under the same subject"
    return SoftEdge(child=child.raw, parent=parent, tier="subject", score=0.8, reason=reason)


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
