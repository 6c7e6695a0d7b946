"""Guesses: the one parent of a reply that lost its headers, chosen from the stored set."""

from __future__ import annotations

from datetime import timedelta

from models.base import parse_time, utc_key
from models.thread import Node, SoftEdge
from stages.thread.config import ThreadPolicy


def is_waiting(node: Node) -> bool:
    """Return whether `node` is a reply that names no other message, so that a guess may place it."""
    return (
        not node.refs
        and node.group_key is None
        and node.reply_sign
        and node.joins_by_subject
        and bool(node.subject_key)
        and node.date is not None
    )


def window(child: Node, policy: ThreadPolicy) -> tuple[str, str]:
    """Return the first and last sortable time at which a parent of `child` may have been written."""
    assert child.date is not None
    earliest = parse_time(child.date) - timedelta(hours=policy.window_hours)
    return utc_key(earliest.isoformat()) or "", child.date


def reach(node: Node, policy: ThreadPolicy) -> tuple[str, str]:
    """Return the first and last sortable time of children that `node` could win."""
    assert node.date is not None
    latest = parse_time(node.date) + timedelta(hours=policy.window_hours)
    return node.date, utc_key(latest.isoformat()) or ""


def choose_parent(child: Node, candidates: list[Node], policy: ThreadPolicy) -> SoftEdge | None:
    """Return the guess for `child` among earlier messages of its subject, or None.

    Sender and addressee must meet: the child's sender took part in the parent, or its sender is addressed.
    The best score wins, then the later date, then the larger hash; arrival plays no part.
    """
    best: tuple[float, str, str] | None = None
    for node in candidates:
        if node.date is None or not node.joins_by_subject or node.msg_id == child.msg_id:
            continue
        if (node.date, node.msg_id) >= (child.date or "", child.msg_id):
            continue
        if not (
            (child.sender and child.sender in node.people) or (node.sender and node.sender in child.people)
        ):
            continue
        if node.sender == child.sender and not set(child.people) - {child.sender} & set(node.people):
            continue
        rank = (_score(child, node, policy), node.date, node.raw)
        if best is None or rank > best:
            best = rank
    if best is None:
        return None
    hours = (parse_time(child.date or "") - parse_time(best[1])).total_seconds() / 3600
    return SoftEdge(
        child=child.raw,
        parent=best[2],
        tier="subject",
        score=round(best[0], 3),
        reason=f"same subject, shared people, {hours:.0f} h later",
    )


def _score(child: Node, node: Node, policy: ThreadPolicy) -> float:
    """Return 0.5-1: nearness in time, plus overlap of people and words."""
    hours = (parse_time(child.date or "") - parse_time(node.date or "")).total_seconds() / 3600
    near = 1 - hours / max(policy.window_hours, 1)
    people = _overlap(set(child.people), set(node.people))
    words = _overlap(set(child.tokens), set(node.tokens))
    return 0.5 + 0.25 * near + 0.15 * people + 0.1 * words


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
