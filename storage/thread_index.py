"""The thread index: nodes, ids, guesses and thread surrogates, looked up by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from models.base import pack
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
from storage.ledger import chunks, upsert
from storage.schema import line, node, node_id, node_twin, record, redirect, soft_edge, stored_key, thread

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
_following = (
    select(node.c.body)
    .where(node.c.subject_key == bindparam("key"), node.c.date <= bindparam("edge"), _place < tuple_(*_order))
    .order_by(*_order)
    .limit(bindparam("most"))
)
_after = (
    select(node.c.raw, node.c.waiting)
    .where(node.c.subject_key == bindparam("key"), node.c.date <= bindparam("edge"), _place < tuple_(*_order))
    .order_by(*_order)
    .limit(bindparam("most"))
)


# a list of values as a table, so that one statement asks for each by its index
_asked: dict[str, Any] = {
    "sqlite": func.json_each(bindparam("asked")),
    "postgresql": func.jsonb_array_elements_text(cast(bindparam("asked"), JSONB)),
}


def _of_each(
    dialect: str, kind: TypeEngine[Any], *answers: Callable[[ColumnElement[Any]], Any]
) -> Select[Any]:
    """Return a query that gives for each value of the JSON list `asked` itself and what `answers` say of it."""
    value = cast(_asked[dialect].table_valued("value").c.value, kind)
    return select(value, *(answer(value).scalar_subquery() for answer in answers))


_twins = {
    dialect: _of_each(
        dialect,
        Text(),
        lambda one: select(func.min(node_twin.c.twin)).where(node_twin.c.msg_id == type_coerce(one, Text)),
        lambda one: select(func.max(node_twin.c.twin)).where(node_twin.c.msg_id == type_coerce(one, Text)),
    )
    for dialect in _asked
}
_last_quoting = {
    dialect: _of_each(
        dialect,
        BigInteger(),
        lambda one: select(func.max(line.c.date)).where(line.c.piece == one, line.c.quoted),
    )
    for dialect in _asked
}


def _members(dialect: str, count: int) -> list[ColumnElement[Any]]:
    """Return the whole numbers that each member, a list, of the JSON list `asked` holds."""
    row: ColumnElement[Any] = _asked[dialect].table_valued("value").c.value
    if dialect == "sqlite":
        return [func.json_extract(row, f"$[{place}]") for place in range(count)]
    return [cast(cast(row, JSONB)[place].astext, BigInteger) for place in range(count)]


@cache
def _authors(dialect: str, limit: int) -> Select[Any]:
    """Return a query that gives for each [piece, date] of the JSON list `asked` both, and the numbers of the first
    `limit` authors before it."""
    piece, before = _members(dialect, 2)
    wrote = (
        select(line.c.number)
        .where(line.c.piece == piece, ~line.c.quoted, line.c.date < before)
        .order_by(line.c.date, line.c.number)
        .limit(1)
    )
    return select(piece, before, *(wrote.offset(rank).scalar_subquery() for rank in range(limit)))


@cache
def _quoting(dialect: str) -> Select[Any]:
    """Return a query that gives the replies that quote a piece, of the JSON list `asked` of [piece, since, until]."""
    piece, since, until = _members(dialect, 3)
    quotes = (line.c.piece == piece, line.c.quoted, line.c.date >= since, line.c.date <= until)
    return select(node_twin.c.raw).where(*quotes, line.c.number == node_twin.c.number)


_forget_lines = delete(line).where(
    line.c.piece == bindparam("digest"),
    line.c.quoted == bindparam("which", type_=Boolean),
    line.c.date == bindparam("at"),
    line.c.number == bindparam("of"),
)
_NEVER = 10**14  # after every date


def _place_of(place: Node) -> dict[str, object]:
    return {"date": place.date, "waiting": is_seeking(place), "raw": place.raw}


def _digits(date: str) -> int:
    """Return a sortable UTC time as a number that sorts alike; a mark after all dates stays there."""
    return int("".join(filter(str.isdigit, date))) if date[:1].isdigit() else _NEVER


def _lines(place: Node) -> list[dict[str, Any]]:
    at, of = _digits(place.date or "~"), node_number(place.raw)
    sides = ((False, said_index(place)), (True, quoted_index(place)))
    return [
        {"piece": piece, "quoted": side, "date": at, "number": of} for side, found in sides for piece in found
    ]


class LedgerThreadIndex:
    """The thread stage's view of the ledger, inside one write transaction of the caller."""

    def __init__(self, connection: Connection, run_id: str | None = None) -> None:
        self.connection = connection
        self.run_id = run_id

    def put(self, nodes: Sequence[Node]) -> None:
        """Insert or replace nodes with their keys; the thread of a known node is kept."""
        self._forget([n.raw for n in nodes])
        rows = [
            {
                "raw": n.raw,
                "msg_id": n.msg_id,
                "subject_key": bucket_key(n),
                "date": n.date,
                "waiting": is_seeking(n),
                "thread": None,
                "record": None,
                "body": pack(n),
            }
            for n in nodes
        ]
        upsert(self.connection, node, rows, keep=("thread", "record"))
        keys = [{"id": key, "raw": n.raw} for n in nodes for key in hard_keys(n)]
        twins = [
            {"raw": n.raw, "number": node_number(n.raw), "msg_id": n.msg_id, "twin": n.twin_key}
            for n in nodes
        ]
        for table, found in (
            (node_id, keys),
            (node_twin, twins),
            (line, [row for n in nodes for row in _lines(n)]),
        ):
            if found:
                self.connection.execute(insert(table), found)

    def drop(self, raws: Iterable[str]) -> None:
        """Remove nodes, their ids and lines, and the guesses that they made."""
        dropped = sorted(raws)
        self._forget(dropped)
        for part in chunks(dropped):
            self.connection.execute(delete(node).where(node.c.raw.in_(part)))
            self.connection.execute(delete(soft_edge).where(soft_edge.c.child.in_(part)))

    def _forget(self, raws: Sequence[str]) -> None:
        """Remove what nodes are found by."""
        known = self.nodes(raws)
        lines = [
            {"digest": row["piece"], "which": row["quoted"], "at": row["date"], "of": row["number"]}
            for one in known
            for row in _lines(one)
        ]
        if lines:
            self.connection.execute(_forget_lines, lines)
        for part in chunks(one.raw for one in known):
            self.connection.execute(delete(node_id).where(node_id.c.raw.in_(part)))
            self.connection.execute(delete(node_twin).where(node_twin.c.raw.in_(part)))

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

    def holders(self, keys: Iterable[str]) -> list[str]:
        """Return the nodes that own or name one of `keys`, sorted."""
        found: set[str] = set()
        for part in chunks(keys):
            found.update(self.connection.scalars(select(node_id.c.raw).where(node_id.c.id.in_(part))))
        return sorted(found)

    def twins(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the first and the last twin key under each of `ids` that a stored node owns."""
        asked = {stored_key(own): own for own in ids}
        rows = self._ask(_twins, list(asked))
        return {asked[own]: (first, last) for own, first, last in rows if first is not None}

    def _ask(self, queries: Mapping[str, Select[Any]], values: Sequence[object]) -> Sequence[Any]:
        if not values:
            return []
        query = queries[self.connection.dialect.name]
        return self.connection.execute(query, {"asked": json.dumps(values)}).all()

    def before(self, place: Node, since: str, limit: int) -> list[Node]:
        """Return the bucket of `place` before it (date, seeking, hash), newest first: at most `limit` nodes that
        are not older than `since`."""
        bound = {"key": bucket_key(place), "edge": since, "most": limit}
        rows = self.connection.execute(_before, {**bound, **_place_of(place)})
        return [_decoder.decode(body) for (body,) in rows]

    def after(self, place: Node, until: str, limit: int) -> list[Node]:
        """Return the `limit` nodes that follow `place` in its bucket, up to the date `until`, oldest first."""
        bound = {"key": bucket_key(place), "edge": until, "most": limit}
        rows = self.connection.execute(_following, {**bound, **_place_of(place)})
        return [_decoder.decode(body) for (body,) in rows]

    def last_seeking(self, bucket_keys: Iterable[str]) -> dict[str, str]:
        """Return the date of the latest reply that may seek a parent, in each of these buckets that has one."""
        asked = {stored_key(key): key for key in bucket_keys}
        found: dict[str, str] = {}
        table = node.c
        for part in chunks(asked):
            query = select(table.subject_key, func.max(table.date)).where(
                table.waiting, table.subject_key.in_(part)
            )
            rows = self.connection.execute(query.group_by(table.subject_key))
            found.update((asked[key], date) for key, date in rows)
        return found

    def seeking_after(self, place: Node, until: str, limit: int) -> list[Node]:
        """Return the replies that may seek a parent among the `limit` nodes that follow `place` in its bucket, up
        to the date `until`."""
        bound = {"key": bucket_key(place), "edge": until, "most": limit}
        rows = self.connection.execute(_after, {**bound, **_place_of(place)})
        return self.nodes(raw for raw, waits in rows if waits)

    def last_quoting(self, pieces: Iterable[int]) -> dict[int, str]:
        """Return the date of the latest reply that quotes each of `pieces` which one quotes."""
        rows = self._ask(_last_quoting, list(pieces))
        return {piece: _date_of(last) for piece, last in rows if last is not None}

    def quoting(self, asked: Sequence[tuple[int, str, str]]) -> list[str]:
        """Return the replies that quote a piece within its two dates, for any of (piece, since, until), sorted."""
        query = _quoting(self.connection.dialect.name)
        found: set[str] = set()
        for part in chunks([[piece, _digits(since), _digits(until)] for piece, since, until in asked]):
            found.update(self.connection.scalars(query, {"asked": json.dumps(part)}))
        return sorted(found)

    def authors(self, asked: Sequence[tuple[int, str]], limit: int) -> list[list[str]]:
        """Return for each (piece, date) the first `limit` messages, all older than the date, that wrote it."""
        query = _authors(self.connection.dialect.name, limit)
        found: list[list[int]] = []
        for part in chunks([[piece, _digits(before)] for piece, before in asked]):
            rows = {
                (row[0], row[1]): row[2:]
                for row in self.connection.execute(query, {"asked": json.dumps(part)})
            }
            found += [[number for number in rows[piece, at] if number is not None] for piece, at in part]
        raws: dict[int, list[str]] = {}
        for some in chunks(sorted({number for numbers in found for number in numbers})):
            table = node_twin.c
            for number, raw in self.connection.execute(
                select(table.number, table.raw).where(table.number.in_(some)).order_by(table.raw)
            ):
                raws.setdefault(number, []).append(raw)
        return [[raw for number in numbers for raw in raws[number]][:limit] for numbers in found]

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


def _date_of(digits: int) -> str:
    text = f"{digits:014}"
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[8:10]}:{text[10:12]}:{text[12:]}Z"


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
