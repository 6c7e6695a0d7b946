"""The balance: every location that was listed stands in exactly one outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from models.base import parse_time
from models.report import FolderCounts, Report, ThreadCounts
from models.thread import GUESSES
from storage.files import differences
from storage.ledger import chunks, last_change
from storage.schema import location, node, published, quarantine, record, redirect, thread, wanted, work


class Before(NamedTuple):
    """Where the files stood when a run began: the ledger's counter of changes, and what was still to be made."""

    change: int
    unmade: frozenset[str]


def look_before(connection: Connection) -> Before:
    """Return where the files stand now."""
    return Before(last_change(connection), frozenset(differences(connection)[0]))


def count_outcomes(connection: Connection, report: Report, listed: Iterable[int], before: Before) -> None:
    """Count each listed location by where its message stands now, and what else was rewritten.

    Quarantined: its bytes are held. Duplicate: another place, or another copy, stands for the message.
    Written: its file was made or changed since `before`. Pending: not finished; of a run that came to its end
    only what has no record yet (the rest is in the hands of another process).
    """
    ids = sorted(set(listed))
    owned: set[str] = set()
    for part in chunks(ids):
        query = (
            select(
                location.c.id,
                location.c.account,
                location.c.folder,
                quarantine.c.kind,
                quarantine.c.dismissed,
                record.c.key,
                record.c.location,
                wanted.c.path,
                wanted.c.change,
                (published.c.digest == wanted.c.digest).label("made"),
                work.c.status,
            )
            .select_from(
                location.outerjoin(work, work.c.raw == location.c.raw)
                .outerjoin(quarantine, quarantine.c.raw == location.c.raw)
                .outerjoin(node, node.c.raw == location.c.raw)
                .outerjoin(record, record.c.key == node.c.record)
                .outerjoin(wanted, wanted.c.path == record.c.path)
                .outerjoin(published, published.c.path == wanted.c.path)
            )
            .where(location.c.id.in_(part))
        )
        for row in connection.execute(query):
            outcome = _outcome(row, before, stopped=report.stopped is not None)
            report.seen += 1
            setattr(report, outcome, getattr(report, outcome) + 1)
            counts = report.accounts.setdefault(row.account, {}).setdefault(row.folder, FolderCounts())
            counts.seen += 1
            setattr(counts, outcome, getattr(counts, outcome) + 1)
            if outcome == "quarantined":
                report.quarantine_kinds[row.kind] = report.quarantine_kinds.get(row.kind, 0) + 1
                report.dismissed += 1 if row.dismissed else 0
            if row.location == row.id and row.change is not None and row.change > before.change:
                owned.add(row.key)
    changed = (
        select(func.count())
        .select_from(record.join(wanted, wanted.c.path == record.c.path))
        .where(wanted.c.change > before.change)
    )
    report.rewritten = connection.execute(changed).scalar_one() - len(owned)


def _outcome(row: Row[Any], before: Before, *, stopped: bool) -> str:
    if row.kind is not None and row.status in ("held", "refresh"):
        return "quarantined"
    if row.key is None or row.change is None:
        return "pending"
    if row.location != row.id:
        return "duplicate"
    if stopped and (row.status == "pending" or not row.made):
        return "pending"
    return "written" if row.change > before.change or row.path in before.unmade else "unchanged"


def count_threads(connection: Connection, report: Report) -> ThreadCounts:
    """Return what became of threads since the run of `report` began; guesses are counted over the whole state."""
    since = parse_time(report.started_at).isoformat(timespec="microseconds")
    renamed = {
        reason: count
        for reason, count in connection.execute(
            select(redirect.c.reason, func.count()).where(redirect.c.at >= since).group_by(redirect.c.reason)
        )
    }
    new = select(func.count()).where(thread.c.created_by == report.run_id, thread.c.public_id.is_not(None))
    guessed = select(func.count()).where(record.c.method.in_(sorted(GUESSES)))
    return ThreadCounts(
        new=connection.execute(new).scalar_one(),
        merged=renamed.get("merged", 0),
        rekeyed=renamed.get("rekeyed", 0),
        guessed_links=connection.execute(guessed).scalar_one(),
    )
