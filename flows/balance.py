"""The balance: every location that was listed stands in exactly one outcome."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, func, select

from models.report import FolderCounts, Report
from storage.ledger import chunks
from storage.schema import location, node, quarantine, record, wanted, work


def count_outcomes(connection: Connection, report: Report, listed: Iterable[int], first_change: int) -> None:
    """Count each listed location by where its message stands now, and what else was rewritten.

    Quarantined: its bytes are held. Duplicate: another place, or another copy, stands for the message.
    Written: its file changed after `first_change` (counter of the ledger). Pending: not finished.
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
                wanted.c.change,
                work.c.status,
            )
            .select_from(
                location.outerjoin(work, work.c.raw == location.c.raw)
                .outerjoin(quarantine, quarantine.c.raw == location.c.raw)
                .outerjoin(node, node.c.raw == location.c.raw)
                .outerjoin(record, record.c.key == node.c.record)
                .outerjoin(wanted, wanted.c.path == record.c.path)
            )
            .where(location.c.id.in_(part))
        )
        for row in connection.execute(query):
            outcome = _outcome(row, first_change)
            report.seen += 1
            setattr(report, outcome, getattr(report, outcome) + 1)
            counts = report.accounts.setdefault(row.account, {}).setdefault(row.folder, FolderCounts())
            counts.seen += 1
            setattr(counts, outcome, getattr(counts, outcome) + 1)
            if outcome == "quarantined":
                report.quarantine_kinds[row.kind] = report.quarantine_kinds.get(row.kind, 0) + 1
                report.dismissed += 1 if row.dismissed else 0
            if outcome == "written":
                owned.add(row.key)
    changed = (
        select(func.count())
        .select_from(record.join(wanted, wanted.c.path == record.c.path))
        .where(wanted.c.change > first_change)
    )
    report.rewritten = connection.execute(changed).scalar_one() - len(owned)


def _outcome(row, first_change: int) -> str:  # type: ignore[no-untyped-def]
    if row.kind is not None and row.status in ("held", "refresh"):
        return "quarantined"
    if row.key is None or row.change is None:
        return "pending"
    if row.location != row.id:
        return "duplicate"
    return "written" if row.change > first_change else "unchanged"
