"""The balance sheet of a run, for a person."""

from __future__ import annotations

import argparse
import shlex

from models.report import QuarantineFile, Report

_OUTCOMES = ("written", "unchanged", "duplicate", "quarantined", "pending")
_LONGEST_PATH = 200  # characters of one line; the report names it whole


def balance_sheet(report: Report, options: argparse.Namespace) -> str:
    """Return the balance as text: the equation, what changed, what is a guess, what to look at.

    `options` are those of the command, so that the next command named is one that finds the same state.
    """
    lines = [f"run {report.run_id}: {report.seen} seen in {report.seconds:.1f} s"]
    width = max(len(name) for name in _OUTCOMES)
    for name in _OUTCOMES:
        count = getattr(report, name)
        note = _note(report, name)
        lines.append(f"  {name:<{width}}  {count:>7}{note}")
    lines.append(f"  {'':<{width}}  {'-' * 7}")
    sign = "balanced" if report.balanced else "NOT BALANCED: please report this as a bug"
    total = sum(getattr(report, name) for name in _OUTCOMES)
    lines.append(f"  {'':<{width}}  {total:>7}  {sign}")
    threads = report.threads
    lines.append(
        f"  threads: {threads.new} new, {threads.merged} merged, {threads.rekeyed} with a new id; "
        f"{threads.guessed_links} links are guesses; {report.rewritten} older messages rewritten"
    )
    for one in report.unreadable[:10]:
        lines.append(f"  unreadable: {_short(one.path)}: {one.reason}")
    if len(report.unreadable) > 10:
        lines.append(f"  … and {len(report.unreadable) - 10} more unreadable (see the report)")
    if not report.seen and not report.unreadable and not report.stopped:
        lines.append("  no mail was found: check --source, --since and --until")
    if report.stopped:
        lines.append(f"  stopped: {report.stopped}")
        lines.append("  nothing is lost: run the same command again to go on")
    elif report.dry_run:
        lines.append("  dry run: nothing was written; a run would take up the pending ones")
    elif report.pending:
        lines.append("  some mail is stored but not finished: run the same command again to go on")
    if report.quarantined > report.dismissed:
        given = [
            f"--{name} {shlex.quote(value)}"
            for name in ("state", "config")
            if (value := getattr(options, name))
        ]
        lines.append(f"  see why: {' '.join(['atlas-extract quarantine list', *given])}")
    return "\n".join(lines)


def _short(path: str) -> str:
    return (
        path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH // 2]}…{path[-_LONGEST_PATH // 2 :]}"
    )


def _note(report: Report, name: str) -> str:
    if name == "quarantined" and report.quarantine_kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.quarantine_kinds.items()))
        dismissed = f", {report.dismissed} dismissed" if report.dismissed else ""
        return f"  ({kinds}{dismissed})"
    if name == "duplicate" and report.duplicate:
        return "  (copies of a message that is there once)"
    return ""


def quarantine_sentence(row: QuarantineFile) -> str:
    """Return in plain words why a message is held and what to do."""
    places = ", ".join(f"{place.account}: {place.uid}" for place in row.locations) or "no known place"
    times = "once" if row.tries == 1 else f"{row.tries} times"
    lines = [
        f"{row.raw}",
        f"  found as   {places}",
        f"  held since {row.first_seen}, tried {times}",
        f"  why        {row.detail} ({row.kind}, in {row.stage})",
    ]
    if row.remedy:
        lines.append(f"  remedy     {row.remedy}")
    if row.traceback:
        lines.append("  traceback")
        lines += [f"    {line}" for line in row.traceback.splitlines()]
    return "\n".join(lines)
