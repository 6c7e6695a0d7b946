"""Choosing guesses again after the stored set changed: for every reply that the change may concern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from models.base import Record, shift_key
from models.thread import Node, SoftEdge, bucket_key, is_loose, is_seeking, quoted_index, said_index
from stages.thread.config import ThreadPolicy
from stages.thread.index import ThreadIndex
from stages.thread.soft import (
    SKEW_HOURS,
    SKEW_LIMIT,
    choose_later,
    choose_parent,
    choose_quoted,
    earliest,
    latest,
)

Twins = dict[str, tuple[str, str]]


class Change(Record):
    """One change of the stored set: rows as they were, rows as they are, what was filed (changed or not), the
    twin keys (first, last) under each id that they own, before and after, and the date of the last reply that
    sought a parent in each bucket of theirs, before."""

    before: list[Node]
    fresh: list[Node]
    filed: list[Node]
    was: Twins
    now: Twins
    sought: dict[str, str]

    def newly_reused(self) -> list[str]:
        """Return the ids that unlike messages carry now and did not before."""
        return sorted(one for one in self.now if _reused(self.now, one) and not _reused(self.was, one))

    def no_longer_reused(self) -> list[str]:
        """Return the ids that unlike messages carried before and no longer do."""
        return sorted(one for one in self.was if _reused(self.was, one) and not _reused(self.now, one))

    def renamed_ids(self) -> list[str]:
        """Return the ids whose first message is another one now while unlike messages carry them."""
        ids = self.was.keys() | self.now.keys()
        either = [one for one in ids if _reused(self.was, one) or _reused(self.now, one)]
        return sorted(one for one in either if _first(self.was, one) != _first(self.now, one))

    def answerable(self) -> list[str]:
        """Return the ids that can be answered now and could not before, or the other way round."""
        ids = self.was.keys() | self.now.keys()
        return sorted(one for one in ids if _answerable(self.was, one) != _answerable(self.now, one))


def _reused(twins: Twins, own: str) -> bool:
    return own in twins and twins[own][0] != twins[own][1]


def _first(twins: Twins, own: str) -> str | None:
    return twins[own][0] if own in twins else None


def _answerable(twins: Twins, own: str) -> bool:
    return own in twins and twins[own][0] == twins[own][1]


def guess_again(
    change: Change, index: ThreadIndex, policy: ThreadPolicy
) -> tuple[list[SoftEdge], list[SoftEdge]]:
    """Choose again for the replies that were filed, and for every one that the change could win or lose;
    returns the edges that came (or changed) and those that went."""
    changed = [*change.before, *change.fresh]
    children = {node.raw: node for node in change.filed if is_loose(node)}
    for node in _reached(changed, change.sought, index, policy):
        children[node.raw] = node
    named = index.holders(change.answerable())
    own = {node.raw for node in (*changed, *change.filed)}
    # an edge of another policy may reach further than this one looks
    edges = index.soft_edges(sorted({*own, *children, *named}))
    strays = {edge.child for edge in edges if edge.parent in own}
    more = sorted(({*named} | strays) - own - children.keys())
    children.update((node.raw, node) for node in index.nodes(more) if is_loose(node))
    old = {edge.child: edge for edge in edges if edge.child in own or edge.child in children}
    new = {edge.child: edge for edge in _choose(list(children.values()), index, policy)}
    gained = [edge for raw, edge in new.items() if old.get(raw) != edge]
    lost = [edge for raw, edge in old.items() if raw not in new or new[raw].parent != edge.parent]
    index.remove_soft(sorted(old.keys() - new.keys()))
    index.put_soft(gained)
    return gained, lost


def _reached(
    changed: Sequence[Node], sought: Mapping[str, str], index: ThreadIndex, policy: ThreadPolicy
) -> list[Node]:
    """Return the replies stored before that one of `changed` (rows as they were or are) could win or lose."""
    found: dict[str, Node] = {}
    for node in changed:
        if not bucket_key(node) or node.date is None:
            continue
        last = sought.get(bucket_key(node), "")
        if node.date <= last:
            after = index.seeking_after(node, latest(node, policy), policy.bucket_limit)
            found.update((child.raw, child) for child in after)
        since = shift_key(node.date, -SKEW_HOURS)
        if since <= last:
            earlier = index.before(node, since, SKEW_LIMIT)
            found.update((child.raw, child) for child in earlier if is_seeking(child))
    quoting = _quoting(changed, index, policy)
    found.update((node.raw, node) for node in index.nodes(sorted(quoting - found.keys())) if is_loose(node))
    return list(found.values())


def _quoting(changed: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> set[str]:
    """Return the replies that quote what one of `changed` wrote, where that may tell its author."""
    dated = [node for node in changed if node.date is not None]
    last = index.last_quoting(sorted({piece for node in dated for piece in said_index(node)}))
    told = [(node, piece) for node in dated for piece in said_index(node)]
    told = [(node, piece) for node, piece in told if last.get(piece, "") >= (node.date or "")]
    if not told:
        return set()
    wrote = index.authors([(piece, "~") for _, piece in told], policy.line_limit + 1)
    others = [[raw for raw in raws if raw != node.raw] for (node, _), raws in zip(told, wrote, strict=True)]
    movers = {node.raw for node in changed}
    dates = {node.raw: node.date or "" for node in index.nodes(_flat(others))}
    asked = []
    for (node, piece), raws in zip(told, others, strict=True):
        # after that many who were there before, one more tells nothing
        first = raws[: policy.line_limit]
        full = len(first) == policy.line_limit and movers.isdisjoint(first)
        until = max(dates[raw] for raw in first) if full else "~"
        asked.append((piece, node.date or "", until))
    return set(index.quoting(asked))


def _choose(children: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> list[SoftEdge]:
    """Return the guesses for `children` as the stored set is now."""
    named = sorted({ref for child in children for ref in child.refs})
    answerable = {ref for ref, (first, last) in index.twins(named).items() if first == last}
    found, quoting = [], []
    for child in sorted(children, key=lambda child: child.raw):
        if answerable.intersection(child.refs):
            continue
        edge = _by_subject(child, index, policy) if is_seeking(child) else None
        if edge is not None and not child.refs:
            found.append(edge)
        else:
            quoting.append((child, edge))
    return found + _choose_quoted(quoting, index, policy)


def _by_subject(child: Node, index: ThreadIndex, policy: ThreadPolicy) -> SoftEdge | None:
    edge = choose_parent(child, index.before(child, earliest(child, policy), policy.bucket_limit), policy)
    if edge is None and child.date is not None:
        edge = choose_later(child, index.after(child, shift_key(child.date, SKEW_HOURS), SKEW_LIMIT), policy)
    return edge


def _choose_quoted(
    children: Sequence[tuple[Node, SoftEdge | None]], index: ThreadIndex, policy: ThreadPolicy
) -> list[SoftEdge]:
    """Return the guesses for `children` by the first messages before them that wrote what they quote or repeat;
    where there is none, the one that they have by their subject."""
    pieces = {
        child.raw: [(piece, child.date or "") for piece in quoted_index(child)] for child, _ in children
    }
    asked = sorted({one for some in pieces.values() for one in some})
    asked = [one for one, raws in zip(asked, index.authors(asked, 1), strict=True) if raws] if asked else []
    wrote = dict(zip(asked, index.authors(asked, policy.line_limit), strict=True)) if asked else {}
    nodes = {node.raw: node for node in index.nodes(_flat(wrote.values()))} if wrote else {}
    found = []
    for child, by_subject in children:
        authors = [(one[0], [nodes[raw] for raw in wrote[one]]) for one in pieces[child.raw] if one in wrote]
        edge = choose_quoted(child, authors, policy) if authors else None
        if edge or by_subject:
            found.append(edge or by_subject)
    return [edge for edge in found if edge is not None]


def _flat(lists: Iterable[Iterable[str]]) -> list[str]:
    return sorted({raw for one in lists for raw in one})
