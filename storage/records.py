"""Records of the ledger: a row for each Email, the location that it stands for, and the people sighted in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, select, update

from storage.ledger import chunks, upsert
from storage.schema import location, node, record, sighting


class RecordRow(NamedTuple):
    """One Email: its key (msg_id), its thread's surrogate, its file, and the raw hashes of all its copies.

    `raw` is the copy that the text was taken from.
    """

    key: str
    thread: int
    raw: str
    path: str
    method: str
    unclustered: bool
    copies: tuple[str, ...]


class SightingRow(NamedTuple):
    """A header person of one record; `domain` is set where it is a customer candidate, `date` is sortable UTC."""

    record: str
    email: str
    name: str
    thread: int
    internal: bool
    domain: str | None
    date: str | None
    subject: str


def replace_records(
    connection: Connection,
    threads: Iterable[int],
    records: Sequence[RecordRow],
    sightings: Sequence[SightingRow],
) -> None:
    """Make `records` and `sightings` all that `threads` (surrogates) have; their nodes learn their records."""
    for part in chunks(threads):
        connection.execute(delete(record).where(record.c.thread.in_(part)))
        connection.execute(delete(sighting).where(sighting.c.thread.in_(part)))
    places = _first_locations(connection, [row.raw for row in records])
    upsert(
        connection,
        record,
        [
            {
                "key": row.key,
                "thread": row.thread,
                "raw": row.raw,
                "path": row.path,
                "location": places.get(row.raw),
                "method": row.method,
                "unclustered": row.unclustered,
            }
            for row in records
        ],
    )
    upsert(connection, sighting, [row._asdict() for row in sightings])
    owners = {raw: row.key for row in records for raw in row.copies}
    if owners:
        connection.execute(
            update(node).where(node.c.raw == bindparam("copy")).values(record=bindparam("of")),
            [{"copy": raw, "of": key} for raw, key in sorted(owners.items())],
        )


def _first_locations(connection: Connection, raws: Iterable[str]) -> dict[str, int]:
    """Return for each raw hash the location that counts as the message: the first by account, folder, uid."""
    table = location.c
    first: dict[str, tuple[tuple[str, str, str], int]] = {}
    for part in chunks(raws):
        query = select(table.raw, table.account, table.folder, table.uid, table.id).where(table.raw.in_(part))
        for raw, account, folder, uid, number in connection.execute(query):
            rank = ((account, folder, uid), number)
            if raw not in first or rank < first[raw]:
                first[raw] = rank
    return {raw: number for raw, (_, number) in first.items()}


def all_sightings(connection: Connection) -> list[SightingRow]:
    """Return every sighting in the ledger, in no order."""
    columns = [sighting.c[name] for name in SightingRow._fields]
    return [SightingRow(*row) for row in connection.execute(select(*columns))]
