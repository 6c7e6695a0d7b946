"""Starting a run from the command line: settings, sources, executor, report."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from flows.progress import open_progress
from flows.request import RunRequest, name_sources
from flows.summary import balance_sheet
from flows.terminal import say
from models.config import Settings, load_settings
from models.errors import Transient, UsageError
from models.report import Report


def start_run(options: argparse.Namespace) -> int:
    """Run the pipeline as asked; returns the exit code of the report."""
    settings = load_settings(options.config, state=options.state)
    if settings.intent.llm != "off":
        raise UsageError(
            "model endpoints are not supported by this version yet",
            remedy='leave `intent.llm` at "off": the classifier on this machine needs none',
        )
    request = _request(options, settings)
    if options.dry_run:
        from flows.dryrun import count_only

        report = count_only(settings, request)
    else:
        report = _run(settings, request, quiet=options.quiet or bool(options.json))
    data = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if options.report:
        try:
            Path(options.report).write_bytes(data + b"\n")
        except OSError as error:
            detail = f"the report {options.report} could not be written: {error.strerror}"
            say(f"atlas-extract: {detail}", sys.stderr)
            say(data.decode(), sys.stderr)
    if options.json:
        say(data.decode())
    elif not options.quiet:
        say(balance_sheet(report, options))
    elif report.stopped:
        say(f"atlas-extract: {report.stopped}", sys.stderr)
    return report.exit_code


def _request(options: argparse.Namespace, settings: Settings) -> RunRequest:
    if not options.source:
        if settings.accounts:
            raise UsageError(
                "accounts on mail servers are not supported by this version yet",
                remedy="name an archive with --source PATH",
            )
        raise UsageError("nothing to read", remedy="name a folder or file of mail with --source PATH")
    since, until = _day(options.since, "--since"), _day(options.until, "--until")
    if since and until and until < since:
        raise UsageError(f"--until {until} lies before --since {since}", remedy="exchange them")
    return RunRequest(
        sources=name_sources(options.source, options.account), since=since, until=until, limit=options.limit
    )


def _day(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text} is not a day", remedy=f"write it as {option} 2026-01-31") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _run(settings: Settings, request: RunRequest, *, quiet: bool) -> Report:
    from flows.direct import DirectExecutor
    from flows.driver import Run
    from stages.fetch import open_source
    from storage.workspace import open_workspace

    if settings.ledger_url:
        os.environ["ATLAS_LEDGER_URL"] = settings.ledger_url  # the workers' way to it
    for account, path in sorted(request.sources.items()):
        open_source(path, account).close()  # a source that cannot be read stops the run before it begins
    try:
        workspace = open_workspace(settings, request.sources)
    except Transient as error:  # a full disk, or a ledger that somebody holds: nothing was begun
        report = Report(run_id="not-begun", started_at=_now(), stopped=error.sentence)
        report.balance()
        return report
    progress = open_progress(quiet=quiet)
    try:
        return Run(workspace, request, DirectExecutor(workspace), progress).execute()
    finally:
        progress.close()
        workspace.close()
