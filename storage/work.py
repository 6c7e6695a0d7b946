"""The work queue: which raw messages were stored, and what is still to do for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from sqlalchemy import Connection, and_, case, delete, insert, or_, select, update

from storage.ledger import chunks, upsert
from storage.schema import cursor, inflight, location, node, quarantine, suspect, work

Status = Literal["pending", "done", "held", "refresh"]


class Known:
    """A location as the ledger knows it."""

    __slots__ = ("id", "raw", "stamp")

    def __init__(self, id: int, raw: str, stamp: str) -> None:
        self.id = id
        self.raw = raw
        self.stamp = stamp


def known_locations(
    connection: Connection, account: str, places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Known]:
    """Return what is known of `(folder, uid)` places of an account."""
    by_folder: dict[str, list[str]] = {}
    for folder, uid in places:
        by_folder.setdefault(folder, []).append(uid)
    found: dict[tuple[str, str], Known] = {}
    table = location.c
    for folder, uids in by_folder.items():
        for part in chunks(uids):
            query = select(table.id, table.uid, table.raw, table.stamp).where(
                table.account == account, table.folder == folder, table.uid.in_(part)
            )
            for id_, uid, raw, stamp in connection.execute(query):
                found[(folder, uid)] = Known(id_, raw, stamp)
    return found


def members_of(connection: Connection, account: str, folder: str) -> list[tuple[str, str, str]]:
    """Return `(uid, locator, stamp)` of the places of a container's last complete listing, as first listed."""
    table = location.c
    query = select(table.uid, table.locator, table.stamp).where(
        table.account == account, table.folder == folder, ~table.gone
    )
    return [(row[0], row[1], row[2]) for row in connection.execute(query.order_by(table.id))]


def note_members(connection: Connection, account: str, folder: str, present: set[int]) -> None:
    """Note after a complete listing of a container which of its known places are still in it (location ids)."""
    table = location.c
    query = select(table.id, table.gone).where(table.account == account, table.folder == folder)
    rows = connection.execute(query)
    changed = [(number, number not in present) for number, gone in rows if gone == (number in present)]
    for part in chunks(changed):
        for gone in (True, False):
            ids = [number for number, now in part if now is gone]
            connection.execute(update(location).where(table.id.in_(ids)).values(gone=gone))


def store_locations(connection: Connection, account: str, rows: Sequence[dict[str, str | None]]) -> None:
    """Note where messages were found and request work for each that is new there.

    A row has folder, uid, raw, stamp, locator, internal_date. A place that held other bytes before is
    re-pointed, and both messages are worked on again.
    """
    known = known_locations(connection, account, [(str(r["folder"]), str(r["uid"])) for r in rows])
    new: dict[tuple[str, str], dict[str, str | None]] = {}
    again: set[str] = set()
    for row in rows:
        place, raw = (str(row["folder"]), str(row["uid"])), str(row["raw"])
        before = known.get(place)
        if before is None:
            if place in new:  # named twice in one batch: the later one counts
                again.add(str(new[place]["raw"]))
            new[place] = {"account": account, **row}
            again.add(raw)
            continue
        connection.execute(update(location).where(location.c.id == before.id).values(**row))
        if before.raw != raw:
            again |= {before.raw, raw}
            before.raw = raw
    if new:
        connection.execute(insert(location), list(new.values()))
    request(connection, sorted(again))


def dates_of(connection: Connection, ids: Iterable[int]) -> dict[int, str | None]:
    """Return location id → the sortable UTC time of the message there, None where it has none yet."""
    found: dict[int, str | None] = {}
    for part in chunks(ids):
        query = (
            select(location.c.id, node.c.date)
            .select_from(location.outerjoin(node, location.c.raw == node.c.raw))
            .where(location.c.id.in_(part))
        )
        found.update((number, date) for number, date in connection.execute(query))
    return found


def cursor_of(connection: Connection, account: str, folder: str) -> str | None:
    """Return what was received of a folder (for an mbox: its stamp), None before it was received completely."""
    query = select(cursor.c.value).where(cursor.c.account == account, cursor.c.folder == folder)
    return connection.execute(query).scalar()


def store_cursors(connection: Connection, account: str, values: Mapping[str, str]) -> None:
    """Note folder → cursor, in the transaction that stores what the cursors say was received."""
    rows = [{"account": account, "folder": folder, "value": value} for folder, value in values.items()]
    upsert(connection, cursor, rows)


def request(connection: Connection, raws: Sequence[str]) -> None:
    """Ask for work on raw messages: new ones become pending, known ones get a new generation.

    A held (quarantined) message stays held; its quarantine file is refreshed by the next run.
    """
    known: set[str] = set()
    for part in chunks(raws):
        known.update(connection.scalars(select(work.c.raw).where(work.c.raw.in_(part))))
        connection.execute(
            update(work)
            .where(work.c.raw.in_(part))
            .values(
                generation=work.c.generation + 1,
                status=case(
                    (work.c.status == "held", "refresh"),
                    (work.c.status == "refresh", "refresh"),
                    else_="pending",
                ),
            )
        )
    fresh = [
        {"raw": raw, "status": "pending", "generation": 1, "signature": None}
        for raw in raws
        if raw not in known
    ]
    if fresh:
        connection.execute(insert(work), fresh)


def retry(connection: Connection, raws: Iterable[str]) -> int:
    """Make held messages pending again; returns how many."""
    count = 0
    for part in chunks(raws):
        done = connection.execute(
            update(work)
            .where(work.c.raw.in_(part))
            .values(status="pending", generation=work.c.generation + 1)
        )
        count += done.rowcount
    return count


def retry_changed(connection: Connection, signatures: dict[str, str]) -> int:
    """Make held messages pending whose failing stage has another signature now; returns how many."""
    rows = connection.execute(
        select(quarantine.c.raw, quarantine.c.stage, quarantine.c.signature).where(~quarantine.c.dismissed)
    )
    stale = [raw for raw, stage, signature in rows if signatures.get(stage, signature) != signature]
    return retry(connection, stale)


def pending(connection: Connection, signature: str) -> list[str]:
    """Return raw hashes that want work: pending ones, and done ones whose versions or policies changed."""
    query = select(work.c.raw).where(
        or_(
            work.c.status == "pending",
            and_(work.c.status == "done", or_(work.c.signature.is_(None), work.c.signature != signature)),
        )
    )
    return sorted(connection.scalars(query))


def still_open(connection: Connection, raws: Iterable[str]) -> list[str]:
    """Return those of `raws` that are pending."""
    found: list[str] = []
    for part in chunks(raws):
        found += connection.scalars(
            select(work.c.raw).where(work.c.raw.in_(part), work.c.status == "pending")
        )
    return found


def to_refresh(connection: Connection) -> list[str]:
    """Return held messages whose locations changed, so that their quarantine file does too."""
    return sorted(connection.scalars(select(work.c.raw).where(work.c.status == "refresh")))


def generations(connection: Connection, raws: Iterable[str]) -> dict[str, int]:
    """Return raw hash → how often work on it was asked for."""
    found: dict[str, int] = {}
    for part in chunks(raws):
        for raw, generation in connection.execute(
            select(work.c.raw, work.c.generation).where(work.c.raw.in_(part))
        ):
            found[raw] = generation
    return found


def finish(connection: Connection, seen: dict[str, int], signature: str) -> None:
    """Mark messages done that nobody asked for again since `seen` (raw → generation) was read."""
    table = work.c
    for part in chunks(sorted(seen)):
        current = generations(connection, part)
        unchanged = [raw for raw in part if current.get(raw) == seen[raw]]
        if unchanged:
            connection.execute(
                update(work).where(table.raw.in_(unchanged)).values(status="done", signature=signature)
            )


def set_status(connection: Connection, raws: Iterable[str], status: Status) -> None:
    """Set the status of raw messages, whatever it was."""
    for part in chunks(raws):
        connection.execute(update(work).where(work.c.raw.in_(part)).values(status=status))


def note_inflight(
    connection: Connection, run_id: str, batch_id: str, stage: str, keys: Sequence[str]
) -> None:
    """Note the keys of a batch before it runs, so that a crash names its suspects."""
    row = {"run_id": run_id, "batch_id": batch_id, "stage": stage, "keys": json.dumps(list(keys))}
    upsert(connection, inflight, [row])


def clear_inflight(connection: Connection, run_id: str, batch_id: str) -> None:
    """Forget a batch that came to its end."""
    connection.execute(delete(inflight).where(inflight.c.run_id == run_id, inflight.c.batch_id == batch_id))


def collect_suspects(connection: Connection, dead_runs: Iterable[str]) -> None:
    """Turn what dead runs left in flight into suspects, which are worked on one by one."""
    column = inflight.c["keys"]  # `inflight.c.keys` is a method
    for run_id in dead_runs:
        for keys in connection.scalars(select(column).where(inflight.c.run_id == run_id)).all():
            upsert(connection, suspect, [{"raw": raw} for raw in json.loads(keys)])
        connection.execute(delete(inflight).where(inflight.c.run_id == run_id))


def suspects(connection: Connection) -> set[str]:
    """Return the messages that were in flight when a run died."""
    return set(connection.scalars(select(suspect.c.raw)))


def acquit(connection: Connection, raws: Iterable[str]) -> None:
    """Take messages that got through off the list of suspects."""
    for part in chunks(raws):
        connection.execute(delete(suspect).where(suspect.c.raw.in_(part)))
