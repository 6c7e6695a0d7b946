"""Filing messages in the thread index, so that any order of arrival ends in the same threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from models.thread import Node, SoftEdge, hard_keys
from stages.thread.config import ThreadPolicy
from stages.thread.soft import choose_parent, earliest, has_bucket, is_waiting, latest


class ThreadIndex(Protocol):
    """What the stage asks of the store, inside one write transaction.

    A bucket is the mail of one subject that takes part in guesses, in the total order of (date, waiting, hash).
    """

    def put(self, nodes: Sequence[Node], waiting: Sequence[bool]) -> None: ...
    def drop(self, raws: Iterable[str]) -> None: ...
    def nodes(self, raws: Iterable[str]) -> list[Node]: ...
    def of_threads(self, threads: Iterable[int]) -> list[Node]: ...
    def homes(self, keys: Iterable[str]) -> dict[str, int]: ...
    def before(self, node: Node, waiting: bool, since: str, limit: int) -> list[Node]: ...
    def last_waiting(self, subject_keys: Iterable[str]) -> dict[str, str]: ...
    def waiting_after(self, node: Node, waiting: bool, until: str, limit: int) -> list[Node]: ...
    def soft_edges(self, raws: Iterable[str]) -> list[SoftEdge]: ...
    def put_soft(self, edges: Sequence[SoftEdge]) -> None: ...
    def remove_soft(self, children: Iterable[str]) -> None: ...
    def threads(self, raws: Iterable[str]) -> dict[str, int]: ...
    def new_threads(self, count: int) -> list[int]: ...
    def assign(self, homes: Mapping[str, int]) -> None: ...
    def merge(self, surrogates: Iterable[int], into: int) -> None: ...
    def touch(self, surrogates: Iterable[int]) -> None: ...


def place(nodes: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """File `nodes` (new ones, or known ones whose row may have changed); returns the threads that changed."""
    arriving = {node.raw: node for node in nodes}
    known = {node.raw: node for node in index.nodes(arriving)}
    fresh = [node for raw, node in sorted(arriving.items()) if known.get(raw) != node]
    before = [known[node.raw] for node in fresh if node.raw in known]
    homes = index.homes(sorted({key for node in fresh for key in hard_keys(node)}))
    if fresh:
        index.put(fresh, [is_waiting(node) for node in fresh])
    gained, lost = _guess_again([*before, *fresh], [*arriving.values()], index, policy)
    touched = _join(fresh, homes, gained, index)
    loose = {raw for edge in lost for raw in (edge.child, edge.parent)}
    loose.update(node.raw for node in before if set(hard_keys(node)) - set(hard_keys(arriving[node.raw])))
    torn = set(index.threads(sorted(loose)).values())
    filed = index.threads(sorted({*arriving, *(edge.child for edge in gained)}))
    touched |= torn | _split(torn, index) | set(filed.values())
    index.touch(touched)
    return sorted(touched)


def withdraw(raws: Iterable[str], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """Take messages out again (quarantined ones); returns the threads that changed."""
    gone = index.nodes(raws)
    if not gone:
        return []
    touched = set(index.threads(node.raw for node in gone).values())
    index.drop(node.raw for node in gone)
    gained, lost = _guess_again(gone, [], index, policy)
    touched |= _join([], {}, gained, index)
    ends = {edge.child for edge in gained} | {raw for edge in lost for raw in (edge.child, edge.parent)}
    touched |= set(index.threads(sorted(ends)).values())
    touched |= _split(touched, index)
    index.touch(touched)
    return sorted(touched)


def _guess_again(
    changed: Sequence[Node], present: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy
) -> tuple[list[SoftEdge], list[SoftEdge]]:
    """Choose again for `present` ones that wait, and for every waiting reply that one of `changed` (rows as
    they were or are) could win or lose; returns the edges that came and those that went."""
    children = {node.raw: node for node in present if is_waiting(node)}
    movers = [node for node in changed if has_bucket(node)]
    last = index.last_waiting(sorted({node.subject_key for node in movers}))
    for node in movers:
        if (node.date or "") <= last.get(node.subject_key, ""):
            reached = index.waiting_after(node, is_waiting(node), latest(node, policy), policy.bucket_limit)
            children.update((child.raw, child) for child in reached)
    own = {node.raw for node in (*changed, *present)}
    # an edge of another policy may reach further than this one looks
    edges = index.soft_edges(sorted(own | children.keys()))
    strays = {edge.child for edge in edges if edge.parent in own} - own - children.keys()
    children.update((node.raw, node) for node in index.nodes(sorted(strays)) if is_waiting(node))
    old = {edge.child: edge for edge in edges if edge.child in own or edge.child in children}
    new: dict[str, SoftEdge] = {}
    for raw, child in sorted(children.items()):
        candidates = index.before(child, True, earliest(child, policy), policy.bucket_limit)
        if edge := choose_parent(child, candidates, policy):
            new[raw] = edge
    gained = [edge for raw, edge in new.items() if old.get(raw) != edge]
    lost = [edge for raw, edge in old.items() if raw not in new or new[raw].parent != edge.parent]
    index.remove_soft(sorted(old.keys() - new.keys()))
    index.put_soft(gained)
    return gained, lost


def _join(
    fresh: Sequence[Node], homes: Mapping[str, int], gained: Sequence[SoftEdge], index: ThreadIndex
) -> set[int]:
    """Give `fresh` ones a thread and make one of the threads that they and the new guesses connect; returns the
    threads that changed. `homes` are the threads of what was stored before, by key."""
    ends = {raw for edge in gained for raw in (edge.child, edge.parent)}
    current = index.threads(sorted(ends | {node.raw for node in fresh}))
    forest = _Forest()
    for raw in sorted(ends | {node.raw for node in fresh}):
        forest.unite(raw, current.get(raw, raw))
    for node in fresh:
        for key in hard_keys(node):
            forest.unite(node.raw, ("key", key))
            if key in homes:
                forest.unite(node.raw, homes[key])
    for edge in gained:
        forest.unite(edge.child, edge.parent)
    changed: set[int] = set()
    moves: dict[str, int] = {}
    founders: list[list[str]] = []
    for group in forest.groups():
        joined = sorted(one for one in group if isinstance(one, int))
        homeless = [one for one in group if isinstance(one, str) and one not in current]
        if not joined:
            founders.append(homeless)
        elif homeless or len(joined) > 1:
            index.merge(joined[1:], joined[0])
            moves.update(dict.fromkeys(homeless, joined[0]))
            changed.update(joined)
    return changed | _found(founders, moves, index)


def _found(groups: Sequence[Sequence[str]], moves: Mapping[str, int], index: ThreadIndex) -> set[int]:
    """Give each of `groups` a new thread, make `moves` beside; returns the new threads."""
    surrogates = index.new_threads(len(groups))
    found = {raw: home for group, home in zip(groups, surrogates, strict=True) for raw in group}
    index.assign({**moves, **found})
    return set(surrogates)


def _split(threads: Iterable[int], index: ThreadIndex) -> set[int]:
    """Walk `threads`, which may have lost a link, and give each connected group its own; returns those that
    changed. The group that holds the oldest member keeps the thread."""
    members = {node.raw: node for node in index.of_threads(sorted(threads))}
    forest = _Forest()
    for raw, node in members.items():
        for key in hard_keys(node):
            forest.unite(raw, ("key", key))
    for edge in index.soft_edges(sorted(members)):
        if edge.child in members and edge.parent in members:
            forest.unite(edge.child, edge.parent)
    current = index.threads(sorted(members))
    groups = [[one for one in group if isinstance(one, str)] for group in forest.groups()]
    kept: set[int] = set()
    parted: list[list[str]] = []
    for group in sorted(groups, key=lambda raws: min(_age(members[raw]) for raw in raws)):
        home = current[group[0]]
        if home in kept:
            parted.append(group)
        kept.add(home)
    return {current[group[0]] for group in parted} | _found(parted, {}, index)


Member = str | int | tuple[str, str]  # a hash, a thread's surrogate, a hard key


class _Forest:
    """Disjoint sets of members, joined one pair at a time."""

    def __init__(self) -> None:
        self._up: dict[Member, Member] = {}

    def unite(self, one: Member, other: Member) -> None:
        self._up[self._root(one)] = self._root(other)

    def groups(self) -> list[list[Member]]:
        found: dict[Member, list[Member]] = {}
        for one in list(self._up):
            found.setdefault(self._root(one), []).append(one)
        return list(found.values())

    def _root(self, one: Member) -> Member:
        path = []
        while (above := self._up.setdefault(one, one)) != one:
            path.append(one)
            one = above
        for below in path:
            self._up[below] = one
        return one


def _age(node: Node) -> tuple[str, str, str]:
    return (node.date or "~", node.msg_id, node.raw)
