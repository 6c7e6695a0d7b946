"""The command `atlas-extract eval`: evaluate, keep the report, show it."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

import stages as stage_table
from eval.scoring import evaluate
from eval.scoring.floors import check_floors
from eval.scoring.kept import keep, read_baseline
from eval.scoring.records import EvalReport
from eval.scoring.table import WIDTH, report_text
from flows.terminal import say
from models.config import load_settings
from models.errors import UsageError


def evaluate_and_keep(
    stages: Sequence[str] = (),
    sets: Sequence[str] = (),
    baseline: str | None = None,
    *,
    state: str | None = None,
    config: str | None = None,
    html: str | None = None,
    floors: bool = False,
) -> tuple[EvalReport, Path]:
    """Return the report of an evaluation and the file under `<state>/eval/` that keeps it.

    `sets` are files or folders of labelled rows, none of them: those of the checkout. `baseline` names a kept
    run, `html` a file for the page. Raises UsageError for what cannot be used as it is, Defect where the product
    gives no answers.
    """
    if unknown := [name for name in stages if name not in stage_table.NAMES]:
        raise UsageError(f"{unknown[0]} is no stage", remedy=f"the stages are {', '.join(stage_table.NAMES)}")
    home = Path(load_settings(config, state=state).state)
    report = evaluate(stages, sets, read_baseline(baseline, home) if baseline else None, config)
    if floors:
        report.floors = check_floors(report)
    if html:
        _write_page(report, Path(html))
    return report, keep(report, home)


def _write_page(report: EvalReport, file: Path) -> None:
    from eval.scoring.page import render_page

    try:
        file.write_text(render_page(report), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def run_eval(options: argparse.Namespace) -> int:
    """Evaluate and print the tables (or JSON); returns 1 where a floor does not hold."""
    report, file = evaluate_and_keep(
        options.stages,
        options.sets,
        options.baseline,
        state=options.state,
        config=options.config,
        html=options.html,
        floors=options.floors,
    )
    if options.json:
        say(msgspec.json.encode(_without_units(report)).decode())
    else:
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        say(report_text(report, options.misses, max(WIDTH, width)))
        say(f"kept as {file}" + (f"; page: {options.html}" if options.html else ""), sys.stderr)
    return 1 if any(not floor.held for floor in report.floors) else 0


def _without_units(report: EvalReport) -> EvalReport:
    """Return the report as it is printed: without the counts of every unit, which the kept file has."""
    return msgspec.structs.replace(
        report, sets=[msgspec.structs.replace(one, units=[]) for one in report.sets]
    )
