"""Filing messages in the thread index, so that any order of arrival ends in the same threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from models.thread import Node, SoftEdge
from stages.thread.config import ThreadPolicy
from stages.thread.soft import choose_parent, is_waiting, reach, window


class ThreadIndex(Protocol):
    """What the stage asks of the store, inside one write transaction."""

    def put(self, nodes: Sequence[Node], waiting: Sequence[bool]) -> None: ...
    def drop(self, raws: Iterable[str]) -> None: ...
    def nodes(self, raws: Iterable[str]) -> list[Node]: ...
    def of_threads(self, threads: Iterable[int]) -> list[Node]: ...
    def naming(self, ids: Iterable[str]) -> list[Node]: ...
    def bucket(self, subject_key: str, since: str, until: str, limit: int) -> list[Node]: ...
    def waiting(self, subject_keys: Iterable[str]) -> list[Node]: ...
    def soft_edges(self, raws: Iterable[str]) -> list[SoftEdge]: ...
    def put_soft(self, edges: Sequence[SoftEdge]) -> None: ...
    def remove_soft(self, children: Iterable[str]) -> None: ...
    def threads(self, raws: Iterable[str]) -> dict[str, int]: ...
    def new_thread(self) -> int: ...
    def assign(self, raws: Iterable[str], surrogate: int) -> None: ...
    def touch(self, surrogates: Iterable[int]) -> None: ...


def place(nodes: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """File `nodes` (new ones, or known ones whose row may have changed); returns the threads that changed."""
    before = index.nodes(node.raw for node in nodes)
    index.put(nodes, [is_waiting(node) for node in nodes])
    return _update([*before, *nodes], index, policy)


def withdraw(raws: Iterable[str], index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    """Take messages out again (quarantined ones); returns the threads that changed."""
    gone = index.nodes(raws)
    if not gone:
        return []
    touched = set(index.threads(node.raw for node in gone).values())
    index.drop(node.raw for node in gone)
    return sorted(touched | set(_update(gone, index, policy, touched)))


def _update(
    changed: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy, also: Iterable[int] = ()
) -> list[int]:
    moved = _refresh_guesses(changed, index, policy)
    seeds = {node.raw for node in changed} | moved
    threads = set(index.threads(sorted(seeds)).values()) | set(also)
    touched = _partition(sorted(seeds), sorted(threads), index)
    index.touch(touched)
    return sorted(touched)


def _refresh_guesses(changed: Sequence[Node], index: ThreadIndex, policy: ThreadPolicy) -> set[str]:
    """Choose again for every waiting reply that a changed message could win or lose; returns the ends of edges
    that came or went."""
    keys = {node.subject_key for node in changed if node.subject_key and node.date}
    spans = [(node.subject_key, *reach(node, policy)) for node in changed if node.subject_key and node.date]
    own = {node.raw for node in changed}
    children = [
        node
        for node in index.waiting(keys)
        if node.raw in own
        or any(key == node.subject_key and since <= (node.date or "") <= until for key, since, until in spans)
    ]
    present = {node.raw for node in children}
    old = {
        edge.child: edge for edge in index.soft_edges(sorted(present | own)) if edge.child in present | own
    }
    new: dict[str, SoftEdge] = {}
    for child in children:
        since, until = window(child, policy)
        candidates = index.bucket(child.subject_key, since, until, policy.bucket_limit)
        edge = choose_parent(child, candidates, policy)
        if edge is not None:
            new[child.raw] = edge
    moved: set[str] = set()
    for child_raw in old.keys() | new.keys():
        before, after = old.get(child_raw), new.get(child_raw)
        if before != after:
            moved.add(child_raw)
            moved.update(edge.parent for edge in (before, after) if edge is not None)
    index.remove_soft(sorted(old.keys() - new.keys()))
    index.put_soft([new[child] for child in sorted(new) if old.get(child) != new[child]])
    return moved


def _partition(seeds: Sequence[str], threads: Sequence[int], index: ThreadIndex) -> set[int]:
    """Walk the edges from everything that may have moved and give each connected group one thread."""
    groups, links = _components(seeds, threads, index)
    touched: set[int] = set(threads)
    current = index.threads([raw for group in groups for raw in group])
    used: set[int] = set()
    # the group that holds the oldest member of a thread keeps the thread's surrogate
    for group in sorted(groups, key=lambda members: min(_age(links[raw]) for raw in members)):
        known = sorted({current[raw] for raw in group if raw in current} - used)
        surrogate = known[0] if known else index.new_thread()
        used.add(surrogate)
        touched.add(surrogate)
        touched.update(current[raw] for raw in group if raw in current)
        index.assign(sorted(raw for raw in group if current.get(raw) != surrogate), surrogate)
    return touched


def _components(
    seeds: Sequence[str], threads: Sequence[int], index: ThreadIndex
) -> tuple[list[list[str]], dict[str, Node]]:
    """Return the connected groups that hold the seeds or a member of `threads`, breadth first by batch."""
    found = {node.raw: node for node in [*index.nodes(seeds), *index.of_threads(threads)]}
    frontier = sorted(found)
    neighbours: dict[str, set[str]] = {}
    by_id: dict[str, set[str]] = {}
    asked: set[str] = set()
    while frontier:
        ids = {key for raw in frontier for key in _keys(found[raw])} - asked
        asked |= ids
        reached = index.naming(sorted(ids))
        edges = index.soft_edges(frontier)
        ends = {raw for edge in edges for raw in (edge.child, edge.parent)}
        missing = ends - found.keys() - {node.raw for node in reached}
        reached = [*reached, *index.nodes(sorted(missing))]
        fresh = [node for node in reached if node.raw not in found]
        found.update((node.raw, node) for node in fresh)
        for edge in edges:
            if edge.child in found and edge.parent in found:
                neighbours.setdefault(edge.child, set()).add(edge.parent)
                neighbours.setdefault(edge.parent, set()).add(edge.child)
        frontier = sorted(node.raw for node in fresh)
    for raw, node in found.items():
        for key in _keys(node):
            by_id.setdefault(key, set()).add(raw)
    return _groups(found, neighbours, by_id), found


def _groups(
    found: dict[str, Node], neighbours: dict[str, set[str]], by_id: dict[str, set[str]]
) -> list[list[str]]:
    groups: list[list[str]] = []
    seen: set[str] = set()
    walked: set[str] = set()
    for start in sorted(found):
        if start in seen:
            continue
        seen.add(start)
        group, stack = [], [start]
        while stack:
            raw = stack.pop()
            group.append(raw)
            reach_ = set(neighbours.get(raw, ()))
            for key in _keys(found[raw]):
                if key not in walked:
                    walked.add(key)
                    reach_ |= by_id[key]
            fresh = reach_ - seen
            seen |= fresh
            stack.extend(fresh)
        groups.append(sorted(group))
    return groups


def _keys(node: Node) -> list[str]:
    return list(dict.fromkeys([*node.own_ids, *node.refs, *([node.group_key] if node.group_key else [])]))


def _age(node: Node) -> tuple[str, str, str]:
    return (node.date or "~", node.msg_id, node.raw)
