"""Guesses: the one parent of a reply that lost its headers, chosen from the stored set."""

from __future__ import annotations

from collections.abc import Iterable

from models.addresses import domain_of, is_under
from models.base import parse_time, shift_key
from models.thread import Node, SoftEdge
from stages.thread.config import ThreadPolicy


def has_bucket(node: Node) -> bool:
    """Return whether `node` takes part in guesses at all: as a reply that looks for a parent, or as a parent."""
    return node.joins_by_subject and bool(node.subject_key) and node.date is not None


def is_waiting(node: Node) -> bool:
    """Return whether `node` is a reply that names no other message, so that a guess may place it."""
    return has_bucket(node) and node.reply_sign and not node.refs and node.group_key is None


def earliest(child: Node, policy: ThreadPolicy) -> str:
    """Return the first sortable time at which a parent of `child` may have been written."""
    assert child.date is not None
    return shift_key(child.date, -policy.window_hours)


def latest(node: Node, policy: ThreadPolicy) -> str:
    """Return the last sortable time of children that `node` could win."""
    assert node.date is not None
    return shift_key(node.date, policy.window_hours)


def choose_parent(child: Node, candidates: Iterable[Node], policy: ThreadPolicy) -> SoftEdge | None:
    """Return the guess for `child` among earlier messages of its subject and window, or None.

    The best score wins, then the later date, then the larger hash; arrival plays no part.
    """
    met = [node for node in candidates if node.msg_id != child.msg_id and can_meet(child, node, policy)]
    if not met:
        return None
    score, date, parent = max((_score(child, node, policy), node.date or "", node.raw) for node in met)
    reason = f"same subject, shared people, {_hours(child.date or '', date):.0f} h later"
    return SoftEdge(child=child.raw, parent=parent, tier="subject", score=round(score, 3), reason=reason)


def can_meet(child: Node, node: Node, policy: ThreadPolicy) -> bool:
    """Return whether a reply and an earlier message can be of one exchange, by their people.

    One subject often goes to several customers, one by one: that the company takes part in both is not enough.
    Who wrote the reply took part in the earlier message; or (a list, another address) answers its sender among
    others who did. Somebody's second mail goes to the people of the first, some added or some left out. And
    where both have people outside the company, these share a domain.
    """
    if not child.sender or not node.sender:
        return False
    ours, theirs = set(child.people), set(node.people)
    if child.sender == node.sender:
        ours.discard(child.sender)
        theirs.discard(child.sender)
        met = bool(ours & theirs) and (ours <= theirs or theirs <= ours)
    elif child.sender in theirs:
        met = True
    else:
        met = node.sender in ours and bool(ours & theirs - {node.sender})
    if not met or not policy.company_domains:
        return met
    outside, before = _outside(child, policy), _outside(node, policy)
    return not outside or not before or bool(outside & before)


def _outside(node: Node, policy: ThreadPolicy) -> set[str]:
    """Return the domains of people outside the company."""
    domains = {domain_of(email) for email in node.people}
    return {domain for domain in domains if not is_under(domain, policy.company_domains)}


def _score(child: Node, node: Node, policy: ThreadPolicy) -> float:
    """Return 0.5-1: nearness in time, plus overlap of people and words."""
    near = 1 - _hours(child.date or "", node.date or "") / max(policy.window_hours, 1)
    people = _overlap(set(child.people), set(node.people))
    words = _overlap(set(child.tokens), set(node.tokens))
    return 0.5 + 0.25 * near + 0.15 * people + 0.1 * words


def _hours(later: str, earlier: str) -> float:
    return (parse_time(later) - parse_time(earlier)).total_seconds() / 3600


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
