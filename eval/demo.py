"""The demo: `python -m eval.demo` runs the product's command on the sample mailbox and shows what came out.

The run inside ends with exit code 1, because two mails of the sample are broken on purpose. The demo itself
ends with 0 only if exactly that happened: every mail stands in the outcome that is written beside it. With
`--check` it prints, instead of the tour, how far the records agree with the hand-written values of each mail.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.sample_answers import Expected, read_emails, read_expected
from eval.sample_run import MAILBOX, ROOT, SAMPLE, Ran, copy_curated, run_command, run_sample
from eval.tour import show_tour, shown_command, shown_path

_SHOWN = 12  # differences that are named
_LOOK = 1  # the exit code of a run that quarantined something


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; returns 0 if what came out is what should."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.demo", description="atlas-extract on its sample mailbox"
    )
    parser.add_argument(
        "--state",
        default=str(ROOT / "state" / "demo"),
        metavar="DIR",
        help="state folder (default: state/demo)",
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the hand-written values of every mail"
    )
    wish = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Chinese
    if not MAILBOX.is_dir():
        print("demo: the sample mailbox is not here; the demo runs from a checkout", file=sys.stderr)
        return 1
    state = Path(wish.state).absolute()
    copy_curated(SAMPLE / "state", state)
    ran = run_sample(state)
    if ran.report is None:
        print(f"demo: the run ended with exit code {ran.exit_code} and without a report", file=sys.stderr)
        return 1
    if wish.check:
        print(check_text(state, ran))
    else:
        held = run_command("quarantine", "show", "--state", str(state)).stdout
        tree = run_command("thread", "show", "INBOX/029-complaint.eml", "--state", str(state)).stdout
        print(show_tour(state, MAILBOX, read_emails(state), {"sheet": ran.sheet, "tree": tree, "held": held}))
    wrong = differences(ran, read_expected(MAILBOX))
    for line in wrong[:_SHOWN]:
        print(f"demo: {line}", file=sys.stderr)
    if len(wrong) > _SHOWN:
        print(f"demo: … and {len(wrong) - _SHOWN} more differences", file=sys.stderr)
    if wrong:
        print(
            f"demo: {shown_command()} quarantine list --state {shown_path(state)} says more", file=sys.stderr
        )
        print(f"demo: to start afresh, remove {shown_path(state)}", file=sys.stderr)
    return 1 if wrong else 0


def check_text(state: Path, ran: Ran) -> str:
    """Return how far the records of `state` agree with the hand-written values, and the worst misses."""
    from eval.scoring.run import evaluate_sample
    from eval.scoring.table import report_text

    return report_text(evaluate_sample(read_emails(state), ran.held), _SHOWN)


def differences(ran: Ran, expected: Mapping[str, Expected]) -> list[str]:
    """Return a sentence for everything that is not as the files beside the mails say."""
    report = ran.report
    assert report is not None
    wanted = Counter(answer.outcome for answer in expected.values())
    counted = {
        "seen": (report.seen, len(expected)),
        "written or unchanged": (report.written + report.unchanged, wanted["written"]),
        "duplicate": (report.duplicate, wanted["duplicate"]),
        "quarantined": (report.quarantined, wanted["quarantined"]),
        "pending": (report.pending, 0),
    }
    wrong = [
        f"{found} {name}, expected {should}" for name, (found, should) in counted.items() if found != should
    ]
    should_hold = {
        name: answer.quarantine_kind for name, answer in expected.items() if answer.quarantine_kind
    }
    holds = {place.uid: row.kind for row in ran.held for place in row.locations}
    for name in sorted(should_hold.keys() | holds.keys()):
        kind, should = holds.get(name), should_hold.get(name)
        if kind != should:
            wrong.append(f"{name} is {_held(kind)}, expected {_held(should)}")
    if not report.balanced:
        wrong.append("the report does not balance")
    should_exit = _LOOK if should_hold else 0
    if ran.exit_code != should_exit:
        wrong.append(f"the run ended with exit code {ran.exit_code}, expected {should_exit}")
    return wrong


def _held(kind: str | None) -> str:
    return f"quarantined as {kind}" if kind else "not in quarantine"


if __name__ == "__main__":
    try:
        code = main()
    except BrokenPipeError:  # piped into a pager that was left early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
