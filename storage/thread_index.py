"""The thread index: nodes, ids, guesses and thread surrogates, looked up by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Boolean, Column, Connection, bindparam, delete, func, insert, select, tuple_, update

from models.base import pack
from models.thread import Node, SoftEdge, hard_keys
from storage.ledger import chunks, upsert
from storage.schema import node, node_id, record, redirect, soft_edge, stored_key, thread

_decoder = msgspec.msgpack.Decoder(Node)
_settled = (
    update(thread)
    .where(thread.c.id == bindparam("surrogate"))
    .values(settled=bindparam("shown"), public_id=bindparam("name"))
)
_assign = update(node).where(node.c.raw == bindparam("moved")).values(thread=bindparam("home"))
# statements that run once for each message are built once: building them costs more than running them
_order = (node.c.date, node.c.waiting, node.c.raw)  # of a bucket: originals before replies of one second
_place = tuple_(bindparam("date"), bindparam("waiting", type_=Boolean), bindparam("raw"))
_before = (
    select(node.c.body)
    .where(node.c.subject_key == bindparam("key"), node.c.date >= bindparam("edge"), _place > tuple_(*_order))
    .order_by(*(column.desc() for column in _order))
    .limit(bindparam("most"))
)
_after = (
    select(node.c.raw, node.c.waiting)
    .where(node.c.subject_key == bindparam("key"), node.c.date <= bindparam("edge"), _place < tuple_(*_order))
    .order_by(*_order)
    .limit(bindparam("most"))
)


def _place_of(place: Node, waiting: bool) -> dict[str, object]:
    return {"date": place.date, "waiting": waiting, "raw": place.raw}


class LedgerThreadIndex:
    """The thread stage's view of the ledger, inside one write transaction of the caller."""

    def __init__(self, connection: Connection, run_id: str | None = None) -> None:
        self.connection = connection
        self.run_id = run_id

    def put(self, nodes: Sequence[Node], waiting: Sequence[bool]) -> None:
        """Insert or replace nodes with their keys; the thread of a known node is kept."""
        raws = [n.raw for n in nodes]
        for part in chunks(raws):
            self.connection.execute(delete(node_id).where(node_id.c.raw.in_(part)))
        rows = [
            {
                "raw": n.raw,
                "msg_id": n.msg_id,
                "subject_key": n.subject_key if n.joins_by_subject else "",
                "date": n.date,
                "waiting": wait,
                "thread": None,
                "record": None,
                "body": pack(n),
            }
            for n, wait in zip(nodes, waiting, strict=True)
        ]
        upsert(self.connection, node, rows, keep=("thread", "record"))
        keys = [{"id": key, "raw": n.raw} for n in nodes for key in hard_keys(n)]
        if keys:
            self.connection.execute(insert(node_id), keys)

    def drop(self, raws: Iterable[str]) -> None:
        """Remove nodes, their ids and the guesses that they made."""
        for part in chunks(raws):
            self.connection.execute(delete(node).where(node.c.raw.in_(part)))
            self.connection.execute(delete(node_id).where(node_id.c.raw.in_(part)))
            self.connection.execute(delete(soft_edge).where(soft_edge.c.child.in_(part)))

    def nodes(self, raws: Iterable[str]) -> list[Node]:
        """Return those of `raws` that are in the index, sorted by hash."""
        return self._nodes(raws, node.c.raw)

    def of_threads(self, threads: Iterable[int]) -> list[Node]:
        """Return the members of threads (surrogates), sorted by hash."""
        return self._nodes(threads, node.c.thread)

    def _nodes(self, values: Iterable[object], column: Column[Any]) -> list[Node]:
        found: list[Node] = []
        for part in chunks(values):
            rows = self.connection.execute(select(node.c.body).where(column.in_(part)))
            found.extend(_decoder.decode(body) for (body,) in rows)
        return sorted(found, key=lambda n: n.raw)

    def homes(self, keys: Iterable[str]) -> dict[str, int]:
        """Return, for each key that a stored node owns or names, the thread of one such node."""
        asked = {stored_key(key): key for key in keys}
        found: dict[str, str] = {}
        table = node_id.c
        for part in chunks(asked.values()):
            query = select(table.id, func.min(table.raw)).where(table.id.in_(part)).group_by(table.id)
            found.update((asked[stored], raw) for stored, raw in self.connection.execute(query))
        threads = self.threads(sorted(set(found.values())))
        return {key: threads[raw] for key, raw in found.items() if raw in threads}

    def before(self, place: Node, waiting: bool, since: str, limit: int) -> list[Node]:
        """Return the bucket of `place` before it (date, waiting, hash), newest first: at most `limit` nodes that
        are not older than `since`."""
        bound = {"key": place.subject_key, "edge": since, "most": limit}
        rows = self.connection.execute(_before, {**bound, **_place_of(place, waiting)})
        return [_decoder.decode(body) for (body,) in rows]

    def last_waiting(self, subject_keys: Iterable[str]) -> dict[str, str]:
        """Return the date of the latest reply without headers in each of these buckets that has one."""
        asked = {stored_key(key): key for key in subject_keys}
        found: dict[str, str] = {}
        table = node.c
        for part in chunks(asked):
            query = select(table.subject_key, func.max(table.date)).where(
                table.waiting, table.subject_key.in_(part)
            )
            rows = self.connection.execute(query.group_by(table.subject_key))
            found.update((asked[key], date) for key, date in rows)
        return found

    def waiting_after(self, place: Node, waiting: bool, until: str, limit: int) -> list[Node]:
        """Return the replies without headers among the `limit` nodes that follow `place` in its bucket, up to
        the date `until`."""
        bound = {"key": place.subject_key, "edge": until, "most": limit}
        rows = self.connection.execute(_after, {**bound, **_place_of(place, waiting)})
        return self.nodes(raw for raw, waits in rows if waits)

    def soft_edges(self, raws: Iterable[str]) -> list[SoftEdge]:
        """Return the guesses that touch any of `raws`, as child or as parent."""
        found: dict[str, SoftEdge] = {}
        table = soft_edge.c
        for part in chunks(raws):
            for column in (table.child, table.parent):
                for row in self.connection.execute(select(soft_edge).where(column.in_(part))):
                    found[row.child] = SoftEdge(
                        child=row.child, parent=row.parent, tier=row.tier, score=row.score, reason=row.reason
                    )
        return [found[child] for child in sorted(found)]

    def put_soft(self, edges: Sequence[SoftEdge]) -> None:
        """Store guesses; a child's earlier guess is replaced."""
        upsert(self.connection, soft_edge, [msgspec.to_builtins(edge) for edge in edges])

    def remove_soft(self, children: Iterable[str]) -> None:
        """Remove the guesses that these children made."""
        for part in chunks(children):
            self.connection.execute(delete(soft_edge).where(soft_edge.c.child.in_(part)))

    def threads(self, raws: Iterable[str]) -> dict[str, int]:
        """Return the surrogate of each node's thread, for nodes that have one."""
        found: dict[str, int] = {}
        for part in chunks(raws):
            query = select(node.c.raw, node.c.thread).where(node.c.raw.in_(part), node.c.thread.is_not(None))
            found.update((raw, surrogate) for raw, surrogate in self.connection.execute(query))
        return found

    def new_threads(self, count: int) -> list[int]:
        """Return the surrogates of new, empty threads, which this run began."""
        if not count:
            return []
        row = {"revision": 0, "settled": 0, "public_id": None, "created_by": self.run_id}
        query = insert(thread).returning(thread.c.id)
        return sorted(self.connection.scalars(query, [dict(row) for _ in range(count)]))

    def assign(self, homes: Mapping[str, int]) -> None:
        """Put nodes into threads: raw hash → surrogate."""
        rows = [{"moved": raw, "home": surrogate} for raw, surrogate in sorted(homes.items())]
        if rows:
            self.connection.execute(_assign, rows)

    def merge(self, surrogates: Iterable[int], into: int) -> None:
        """Put all members of some threads into another one."""
        for part in chunks(surrogates):
            self.connection.execute(update(node).where(node.c.thread.in_(part)).values(thread=into))

    def touch(self, surrogates: Iterable[int]) -> None:
        """Note that these threads changed: their files have to be settled again."""
        for part in chunks(sorted(surrogates)):
            self.connection.execute(
                update(thread).where(thread.c.id.in_(part)).values(revision=thread.c.revision + 1)
            )


def unsettled(connection: Connection) -> list[tuple[int, int]]:
    """Return surrogate and revision of the threads whose files do not show their last revision."""
    query = select(thread.c.id, thread.c.revision).where(thread.c.revision != thread.c.settled)
    return sorted((surrogate, revision) for surrogate, revision in connection.execute(query))


class ThreadRow(NamedTuple):
    """A thread as the ledger knows it; `public_id` is None until it was settled."""

    revision: int
    public_id: str | None


def read_threads(connection: Connection, surrogates: Iterable[int]) -> dict[int, ThreadRow]:
    """Return the threads of these surrogates that there are."""
    found: dict[int, ThreadRow] = {}
    for part in chunks(surrogates):
        query = select(thread.c.id, thread.c.revision, thread.c.public_id).where(thread.c.id.in_(part))
        for surrogate, revision, public_id in connection.execute(query):
            found[surrogate] = ThreadRow(revision, public_id)
    return found


def mark_settled(connection: Connection, threads: Mapping[int, ThreadRow]) -> None:
    """Note that the wanted files show these revisions of threads; without members one has no public id."""
    rows = [
        {"surrogate": surrogate, "shown": row.revision, "name": row.public_id}
        for surrogate, row in sorted(threads.items())
    ]
    if rows:
        connection.execute(_settled, rows)


class Renaming(NamedTuple):
    """What a settled thread is called: its `old` public id, its `new` one, the keys of its records."""

    old: str | None
    new: str
    keys: Sequence[str]


def keep_old_ids(connection: Connection, threads: Mapping[int, Renaming], at: str) -> None:
    """Redirect the ids that threads had, and those of threads that were merged into them, to the new ones.

    To be called before the threads' records and their new public ids are stored.
    """
    for surrogate, row in sorted(threads.items()):
        if row.old and row.old != row.new:
            elsewhere = select(thread.c.id).where(thread.c.public_id == row.old, thread.c.id != surrogate)
            if connection.execute(elsewhere).first() is None:
                rename_thread(connection, row.old, row.new, "rekeyed", at)
    for surrogate, merged in _merged(connection, threads):
        if merged != threads[surrogate].new:
            rename_thread(connection, merged, threads[surrogate].new, "merged", at)
    for part in chunks(row.new for row in threads.values()):  # an id in use leads nowhere
        connection.execute(delete(redirect).where(redirect.c.old.in_(part)))


def leave_old_id(connection: Connection, surrogate: int, old: str, at: str) -> None:
    """Redirect the id of a thread that has no member left to the thread that has its records now.

    That thread may be settled earlier or later than this one, or in another process: each of the two leaves
    the redirect. To be called before the records of the empty thread are removed.
    """
    query = (
        select(thread.c.public_id)
        .join(node, node.c.thread == thread.c.id)
        .join(record, record.c.raw == node.c.raw)
        .where(record.c.thread == surrogate, thread.c.public_id.is_not(None))
        .order_by(node.c.date.is_(None), node.c.date, node.c.raw)
    )
    new = connection.execute(query.limit(1)).scalar()
    if new is not None and new != old:
        rename_thread(connection, old, new, "merged", at)


def _merged(connection: Connection, threads: Mapping[int, Renaming]) -> list[tuple[int, str]]:
    """Return (thread, public id) of the threads without members that held records which one of `threads` has."""
    homes = {key: surrogate for surrogate, row in threads.items() for key in row.keys}
    former: set[tuple[int, int]] = set()
    for part in chunks(homes):
        for key, held in connection.execute(
            select(record.c.key, record.c.thread).where(record.c.key.in_(part))
        ):
            if held != homes[key]:
                former.add((homes[key], held))
    found = []
    for surrogate, other in sorted(former):
        if connection.execute(select(node.c.raw).where(node.c.thread == other).limit(1)).first() is None:
            public = connection.execute(select(thread.c.public_id).where(thread.c.id == other)).scalar()
            if public:
                found.append((surrogate, public))
    return found


def rename_thread(connection: Connection, old: str, new: str, reason: str, at: str) -> None:
    """Keep `old` resolvable: it leads to `new`, and no id that is in use leads away."""
    connection.execute(delete(redirect).where(redirect.c.old == new))
    upsert(connection, redirect, [{"old": old, "new": new, "reason": reason, "at": at}])


def resolve_thread(connection: Connection, public_id: str) -> str:
    """Return the id that `public_id` leads to in the end (itself, if nothing was renamed)."""
    seen = {public_id}
    while True:
        new = connection.execute(select(redirect.c.new).where(redirect.c.old == public_id)).scalar()
        if new is None or new in seen:
            return public_id
        seen.add(new)
        public_id = new
