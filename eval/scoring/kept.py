"""Kept evaluation runs: `eval/<run id>.json` in the state folder, and how a baseline is named."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from eval.scoring.records import SCHEMA, EvalReport
from models.errors import UsageError

LAST = "last"
_FOLDER = "eval"


def keep(report: EvalReport, state: Path) -> Path:
    """Write the report under the state folder (readable by its owner alone: it quotes mail); return the file."""
    folder = state / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{report.run_id}.json"
    partial = file.with_suffix(".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as out:
        out.write(msgspec.json.encode(report))
    partial.replace(file)
    return file


def read_baseline(name: str, state: Path) -> EvalReport:
    """Return a kept report: by file, by run id or the start of one, or `last`.

    Raises UsageError where there is none, more than one, or it was kept in another form.
    """
    file = Path(name)
    if not file.is_file():
        runs = sorted((state / _FOLDER).glob("*.json"))
        fitting = runs[-1:] if name == LAST else [run for run in runs if run.stem.startswith(name)]
        if len(fitting) != 1:
            told = ", ".join(run.stem for run in (fitting or runs)[-5:]) or "none is kept yet"
            raise UsageError(
                f"{name} is no kept evaluation run"
                if not fitting
                else f"{name} names {len(fitting)} kept evaluation runs",
                remedy=f"name a file, `{LAST}` or a run id ({told})",
            )
        file = fitting[0]
    try:
        report = msgspec.json.decode(file.read_bytes(), type=EvalReport)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{file} is no evaluation report: {error}") from error
    if report.schema != SCHEMA:
        raise UsageError(f"{file} was kept by another version", remedy="run that version's evaluation anew")
    return report
