"""A thread index without a database: for probes, benchmarks and tests of the stage."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence

from models.thread import (
    Node,
    SoftEdge,
    bucket_key,
    hard_keys,
    is_seeking,
    node_number,
    quoted_index,
    said_index,
)

Place = tuple[str, bool, str]  # in a bucket: date, seeking, hash
Line = tuple[str, int, str]  # of a piece: date, number, hash


class MemoryThreadIndex:
    """The stage's view of a store (`stages.thread.index.ThreadIndex`), held in dictionaries.

    It answers as the ledger does, look-ups cost what they find. Nothing is kept when it goes.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._keys: dict[str, set[str]] = {}  # hard key → nodes that own or name it
        self._twins: dict[str, list[str]] = {}  # id → twin keys of its owners, in order
        self._buckets: dict[str, list[Place]] = {}  # bucket key → its mail, in order
        self._said: dict[int, list[Line]] = {}  # piece → its authors, in order
        self._quoted: dict[int, list[Line]] = {}  # piece → replies that quote it
        self._edges: dict[str, SoftEdge] = {}  # by child
        self._children: dict[str, set[str]] = {}  # parent → children of guesses
        self._homes: dict[str, int] = {}
        self._members: dict[int, set[str]] = {}
        self._last = 0

    def put(self, nodes: Sequence[Node]) -> None:
        """Insert or replace nodes with their keys; the thread of a known node is kept."""
        for node in nodes:
            self._forget(node.raw)
            self._nodes[node.raw] = node
            for key in hard_keys(node):
                self._keys.setdefault(key, set()).add(node.raw)
            for own in node.own_ids:
                insort(self._twins.setdefault(own, []), node.twin_key)
            if bucket := bucket_key(node):
                insort(self._buckets.setdefault(bucket, []), _place(node))
            for table, pieces in ((self._said, said_index(node)), (self._quoted, quoted_index(node))):
                for piece in pieces:
                    insort(table.setdefault(piece, []), _line(node))

    def drop(self, raws: Iterable[str]) -> None:
        """Remove nodes, their ids and the guesses that they made."""
        dropped = sorted(raws)
        for raw in dropped:
            self._forget(raw)
            self._move(raw, None)
        self.remove_soft(dropped)

    def _forget(self, raw: str) -> None:
        node = self._nodes.pop(raw, None)
        if node is None:
            return
        for key in hard_keys(node):
            self._keys[key].discard(raw)
        for own in node.own_ids:
            self._twins[own].remove(node.twin_key)
        if bucket := bucket_key(node):
            self._buckets[bucket].remove(_place(node))
        for table, pieces in ((self._said, said_index(node)), (self._quoted, quoted_index(node))):
            for piece in pieces:
                table[piece].remove(_line(node))

    def nodes(self, raws: Iterable[str]) -> list[Node]:
        """Return those of `raws` that are in the index, sorted by hash."""
        return [self._nodes[raw] for raw in sorted(set(raws)) if raw in self._nodes]

    def of_threads(self, threads: Iterable[int]) -> list[Node]:
        """Return the members of threads (surrogates), sorted by hash."""
        return self.nodes(raw for surrogate in threads for raw in self._members.get(surrogate, ()))

    def homes(self, keys: Iterable[str]) -> dict[str, int]:
        """Return, for each key that a stored node owns or names, the thread of one such node."""
        found = {}
        for key in keys:
            if holders := self._keys.get(key):
                home = self._homes.get(min(holders))
                if home is not None:
                    found[key] = home
        return found

    def holders(self, keys: Iterable[str]) -> list[str]:
        """Return the nodes that own or name one of `keys`, sorted."""
        return sorted({raw for key in keys for raw in self._keys.get(key, ())})

    def twins(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the first and the last twin key under each of `ids` that a stored node owns."""
        return {own: (found[0], found[-1]) for own in ids if (found := self._twins.get(own))}

    def before(self, node: Node, since: str, limit: int) -> list[Node]:
        """Return the bucket of `node` before it, newest first: at most `limit` not older than `since`."""
        bucket = self._buckets.get(bucket_key(node), [])
        end = bisect_left(bucket, _place(node))
        start = max(end - limit, bisect_left(bucket, (since,)))
        return [self._nodes[raw] for _, _, raw in reversed(bucket[start:end])]

    def last_seeking(self, bucket_keys: Iterable[str]) -> dict[str, str]:
        """Return the date of the latest reply that may seek a parent, in each of these buckets that has one."""
        found = {}
        for key in bucket_keys:
            for date, waits, _ in reversed(self._buckets.get(key, [])):
                if waits:
                    found[key] = date
                    break
        return found

    def after(self, node: Node, until: str, limit: int) -> list[Node]:
        """Return the `limit` nodes that follow `node` in its bucket, up to the date `until`, oldest first."""
        bucket = self._buckets.get(bucket_key(node), [])
        start = bisect_right(bucket, _place(node))
        return [self._nodes[raw] for date, _, raw in bucket[start : start + limit] if date <= until]

    def seeking_after(self, node: Node, until: str, limit: int) -> list[Node]:
        """Return the replies that may seek a parent among the `limit` nodes that follow `node` in its bucket, up
        to the date `until`."""
        return [one for one in self.after(node, until, limit) if is_seeking(one)]

    def last_quoting(self, pieces: Iterable[int]) -> dict[int, str]:
        """Return the date of the latest reply that quotes each of `pieces` which one quotes."""
        return {piece: found[-1][0] for piece in pieces if (found := self._quoted.get(piece))}

    def quoting(self, asked: Sequence[tuple[int, str, str]]) -> list[str]:
        """Return the replies that quote a piece within its two dates, for any of (piece, since, until), sorted."""
        found: set[str] = set()
        for piece, since, until in asked:
            quotes = self._quoted.get(piece, [])
            found.update(raw for date, _, raw in quotes[bisect_left(quotes, (since,)) :] if date <= until)
        return sorted(found)

    def authors(self, asked: Sequence[tuple[int, str]], limit: int) -> list[list[str]]:
        """Return for each (piece, date) the first `limit` messages, all older than the date, that wrote it."""
        found = []
        for piece, before in asked:
            wrote = self._said.get(piece, [])
            found.append([raw for _, _, raw in wrote[: min(limit, bisect_left(wrote, (before,)))]])
        return found

    def soft_edges(self, raws: Iterable[str]) -> list[SoftEdge]:
        """Return the guesses that touch any of `raws`, as child or as parent."""
        asked = set(raws)
        children = {child for raw in asked for child in self._children.get(raw, ())}
        children.update(raw for raw in asked if raw in self._edges)
        return [self._edges[child] for child in sorted(children)]

    def put_soft(self, edges: Sequence[SoftEdge]) -> None:
        """Store guesses; a child's earlier guess is replaced."""
        self.remove_soft([edge.child for edge in edges])
        for edge in edges:
            self._edges[edge.child] = edge
            self._children.setdefault(edge.parent, set()).add(edge.child)

    def remove_soft(self, children: Iterable[str]) -> None:
        """Remove the guesses that these children made."""
        for child in children:
            if edge := self._edges.pop(child, None):
                self._children[edge.parent].discard(child)

    def threads(self, raws: Iterable[str]) -> dict[str, int]:
        """Return the surrogate of each node's thread, for nodes that have one."""
        return {raw: self._homes[raw] for raw in raws if raw in self._homes}

    def new_threads(self, count: int) -> list[int]:
        """Return the surrogates of new, empty threads."""
        self._last += count
        return list(range(self._last - count + 1, self._last + 1))

    def assign(self, homes: Mapping[str, int]) -> None:
        """Put nodes into threads: raw hash → surrogate."""
        for raw, surrogate in homes.items():
            self._move(raw, surrogate)

    def merge(self, surrogates: Iterable[int], into: int) -> None:
        """Put all members of some threads into another one."""
        for surrogate in surrogates:
            for raw in sorted(self._members.get(surrogate, ())):
                self._move(raw, into)

    def _move(self, raw: str, surrogate: int | None) -> None:
        old = self._homes.pop(raw, None)
        if old is not None:
            self._members[old].discard(raw)
        if surrogate is not None:
            self._homes[raw] = surrogate
            self._members.setdefault(surrogate, set()).add(raw)

    def touch(self, surrogates: Iterable[int]) -> None:
        """Do nothing: what is held in memory has no files to renew."""


def _place(node: Node) -> Place:
    return (node.date or "", is_seeking(node), node.raw)


def _line(node: Node) -> Line:
    return (node.date or "", node_number(node.raw), node.raw)
