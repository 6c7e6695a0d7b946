"""A dry run: what a run would see, written nowhere."""

from __future__ import annotations

import time
from pathlib import Path

from flows.listing import KnownInLedger, list_source
from flows.request import RunRequest
from models.config import Settings
from models.report import FolderCounts, Report
from stages.decode.config import policy_of as decode_policy
from stages.fetch import open_source
from stages.fetch.config import policy_of as fetch_policy
from storage.curated import read_curated
from storage.ledger import connect_ledger

_BATCH = 1000


def count_only(settings: Settings, request: RunRequest) -> Report:
    """Return a report in which new messages are `pending` and known ones `unchanged`; nothing is written."""
    began = time.monotonic()
    state = Path(settings.state).absolute()
    curated = read_curated(state, settings)
    report = Report(run_id="dry-run", started_at="", dry_run=True)
    stored = (state / "ledger.db").exists() or settings.ledger_url is not None
    ledger = connect_ledger(state, settings.ledger_url) if stored else None
    policy = decode_policy(settings, curated)
    for account, path in sorted(request.sources.items()):
        source = open_source(path, account, fetch_policy(settings, curated))
        known = KnownInLedger(ledger, account) if ledger else None
        for fresh, seen, unreadable, _ in list_source(source, known, request, policy, _BATCH):
            report.unreadable += unreadable
            report.seen += len(fresh) + len(seen)
            report.unchanged += len(seen)
            report.pending += len(fresh)
            folders = report.accounts.setdefault(account, {})
            for item in fresh:
                counts = folders.setdefault(item.folder, FolderCounts())
                counts.seen += 1
                counts.pending += 1
        source.close()
    report.seconds = round(time.monotonic() - began, 3)
    report.exit_code = 1 if report.unreadable else 0
    return report
