"""The thread index: nodes, ids, guesses and thread surrogates, looked up by batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from models.base import pack
from models.thread import Node, SoftEdge
from storage.ledger import chunks, upsert
from storage.schema import node, node_id, redirect, soft_edge, thread

_decoder = msgspec.msgpack.Decoder(Node)


class LedgerThreadIndex:
    """The thread stage's view of the ledger, inside one write transaction of the caller."""

    def __init__(self, connection: Connection, run_id: str | None = None) -> None:
        self.connection = connection
        self.run_id = run_id

    def put(self, nodes: Sequence[Node], waiting: Sequence[bool]) -> None:
        """Insert or replace nodes with their ids; the thread of a known node is kept."""
        raws = [n.raw for n in nodes]
        for part in chunks(raws):
            self.connection.execute(delete(node_id).where(node_id.c.raw.in_(part)))
        rows = [
            {
                "raw": n.raw,
                "msg_id": n.msg_id,
                "subject_key": n.subject_key,
                "date": n.date,
                "waiting": wait,
                "thread": None,
                "record": None,
                "body": pack(n),
            }
            for n, wait in zip(nodes, waiting, strict=True)
        ]
        upsert(self.connection, node, rows, keep=("thread", "record"))
        ids = [{"id": i, "raw": n.raw} for n in nodes for i in dict.fromkeys([*n.own_ids, *n.refs])]
        if ids:
            self.connection.execute(insert(node_id), ids)

    def drop(self, raws: Iterable[str]) -> None:
        """Remove nodes, their ids and the guesses that they made."""
        for part in chunks(raws):
            self.connection.execute(delete(node).where(node.c.raw.in_(part)))
            self.connection.execute(delete(node_id).where(node_id.c.raw.in_(part)))
            self.connection.execute(delete(soft_edge).where(soft_edge.c.child.in_(part)))

    def nodes(self, raws: Iterable[str]) -> list[Node]:
        return self._nodes(raws, node.c.raw)

    def of_threads(self, threads: Iterable[int]) -> list[Node]:
        return self._nodes(threads, node.c.thread)

    def _nodes(self, values: Iterable[object], column: object) -> list[Node]:
        found: list[Node] = []
        for part in chunks(values):
            rows = self.connection.execute(select(node.c.body).where(column.in_(part)))  # type: ignore[attr-defined]
            found.extend(_decoder.decode(body) for (body,) in rows)
        return sorted(found, key=lambda n: n.raw)

    def naming(self, ids: Iterable[str]) -> list[Node]:
        """Return the nodes that own or name any of `ids`."""
        raws: set[str] = set()
        for part in chunks(ids):
            raws.update(self.connection.scalars(select(node_id.c.raw).where(node_id.c.id.in_(part))))
        return self.nodes(sorted(raws))

    def bucket(self, subject_key: str, since: str, until: str, limit: int) -> list[Node]:
        """Return nodes of one subject with `since <= date <= until`, newest first, at most `limit`."""
        table = node.c
        query = (
            select(table.body)
            .where(table.subject_key == subject_key, table.date >= since, table.date <= until)
            .order_by(table.date.desc(), table.raw.desc())
            .limit(limit)
        )
        return [_decoder.decode(body) for (body,) in self.connection.execute(query)]

    def waiting(self, subject_keys: Iterable[str]) -> list[Node]:
        """Return the replies without headers under these subjects."""
        found: list[Node] = []
        for part in chunks(sorted(subject_keys)):
            query = select(node.c.body).where(node.c.subject_key.in_(part), node.c.waiting)
            found.extend(_decoder.decode(body) for (body,) in self.connection.execute(query))
        return sorted(found, key=lambda n: n.raw)

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
        upsert(self.connection, soft_edge, [msgspec.to_builtins(edge) for edge in edges])

    def remove_soft(self, children: Iterable[str]) -> None:
        for part in chunks(children):
            self.connection.execute(delete(soft_edge).where(soft_edge.c.child.in_(part)))

    def threads(self, raws: Iterable[str]) -> dict[str, int]:
        """Return the surrogate of each node's thread, for nodes that have one."""
        found: dict[str, int] = {}
        for part in chunks(raws):
            query = select(node.c.raw, node.c.thread).where(node.c.raw.in_(part), node.c.thread.is_not(None))
            found.update((raw, surrogate) for raw, surrogate in self.connection.execute(query))
        return found

    def new_thread(self) -> int:
        row = {"revision": 0, "settled": 0, "public_id": None, "created_by": self.run_id}
        key = self.connection.execute(insert(thread), row).inserted_primary_key
        assert key is not None
        return int(key[0])

    def assign(self, raws: Iterable[str], surrogate: int) -> None:
        for part in chunks(raws):
            self.connection.execute(update(node).where(node.c.raw.in_(part)).values(thread=surrogate))

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
