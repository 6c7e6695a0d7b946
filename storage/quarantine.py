"""Quarantine: messages that could not be taken, why, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, select, update

from models.base import digest
from models.batch import Quarantined
from models.email import Location
from models.report import QuarantineFile
from storage.files import WantedFile, want_all
from storage.ledger import chunks, upsert
from storage.names import failed_path
from storage.schema import location, quarantine
from storage.work import set_status


def hold(connection: Connection, failures: Sequence[Quarantined], signatures: dict[str, str]) -> list[str]:
    """Put messages into quarantine; returns the changed paths. `signatures` are the stages' present ones."""
    if not failures:
        return []
    raws = [failure.key for failure in failures]
    known = {row.raw: row for part in chunks(raws) for row in _rows(connection, part)}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = []
    for failure in failures:
        old = known.get(failure.key)
        rows.append(
            {
                "raw": failure.key,
                "stage": failure.stage,
                "signature": signatures.get(failure.stage, ""),
                "kind": failure.kind,
                "detail": _storable(failure.detail),
                "remedy": failure.remedy,
                "traceback": _storable(failure.traceback) if failure.traceback else None,
                "first_seen": old.first_seen if old else now,
                "tries": old.tries + 1 if old else 1,
                "dismissed": False,
            }
        )
    upsert(connection, quarantine, rows)
    set_status(connection, raws, "held")
    return refresh(connection, raws)


def refresh(connection: Connection, raws: Iterable[str]) -> list[str]:
    """Write the quarantine files of held messages anew (their locations may have changed).

    A dismissed message has none.
    """
    files: dict[str, Sequence[WantedFile]] = {}
    raws = sorted(set(raws))
    places = locations_of(connection, raws)
    for part in chunks(raws):
        for row in _rows(connection, part):
            if row.dismissed:
                files[row.raw] = []
                continue
            content = _file_of(row, places)
            data = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
            files[row.raw] = [WantedFile(failed_path(row.raw), digest(content), data)]
    return want_all(connection, files)


def _storable(text: str) -> str:
    """Return `text` without what no database or JSON file takes: NUL and lone surrogates, out of the mail."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def release(connection: Connection, raws: Iterable[str]) -> list[str]:
    """Forget the quarantine rows of messages that got through; returns the paths that go."""
    held: list[str] = []
    for part in chunks(raws):
        held += connection.scalars(select(quarantine.c.raw).where(quarantine.c.raw.in_(part)))
    for part in chunks(held):
        connection.execute(delete(quarantine).where(quarantine.c.raw.in_(part)))
    return want_all(connection, {raw: [] for raw in held})


def dismiss(connection: Connection, raws: Iterable[str], dismissed: bool = True) -> int:
    """Mark held messages as seen by the user: they stay out and no longer make a run end with 1."""
    count = 0
    for part in chunks(raws):
        done = connection.execute(
            update(quarantine).where(quarantine.c.raw.in_(part)).values(dismissed=dismissed)
        )
        count += done.rowcount
    return count


def listing(connection: Connection) -> list[tuple[QuarantineFile, bool]]:
    """Return all held messages with whether the user dismissed them, oldest first."""
    rows = connection.execute(select(quarantine).order_by(quarantine.c.first_seen, quarantine.c.raw)).all()
    places = locations_of(connection, [row.raw for row in rows])
    return [(_file_of(row, places), bool(row.dismissed)) for row in rows]


def locations_of(connection: Connection, raws: Iterable[str]) -> dict[str, list[Location]]:
    """Return the locations of raw messages, sorted by account, folder, uid."""
    found: dict[str, list[Location]] = {}
    table = location.c
    for part in chunks(raws):
        query = select(table.raw, table.account, table.folder, table.uid, table.internal_date)
        for raw, account, folder, uid, date in connection.execute(query.where(table.raw.in_(part))):
            found.setdefault(raw, []).append(
                Location(account=account, folder=folder, uid=uid, internal_date=date)
            )
    for places in found.values():
        places.sort(key=lambda place: (place.account, place.folder, place.uid))
    return found


def _rows(connection: Connection, raws: list[str]) -> Sequence[Row[Any]]:
    return connection.execute(select(quarantine).where(quarantine.c.raw.in_(raws))).all()


def _file_of(row: Row[Any], places: Mapping[str, list[Location]]) -> QuarantineFile:
    return QuarantineFile(
        kind=row.kind,
        stage=row.stage,
        detail=row.detail,
        remedy=row.remedy,
        raw=row.raw,
        locations=places.get(row.raw, []),
        first_seen=row.first_seen,
        tries=row.tries,
        traceback=row.traceback,
    )
