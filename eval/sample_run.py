"""One run of the product's command over the sample mailbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from models.base import Record
from models.report import QuarantineFile, Report

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = Path(__file__).resolve().parent / "sample"
MAILBOX = SAMPLE / "mailbox"


class Ran(Record):
    """One run over the sample: exit code, balance sheet, report (None: there was no run), quarantine."""

    exit_code: int
    sheet: str
    report: Report | None
    held: list[QuarantineFile]


def copy_curated(source: Path, state: Path) -> None:
    """Copy the files that people edit into the state folder, those that are not there yet."""
    for path in sorted(source.rglob("*")):
        target = state / path.relative_to(source)
        if path.is_dir() or target.exists():
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o600)


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `atlas-extract`, free of the user's own ATLAS_… settings; its progress goes to standard error."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
    environment["PYTHONIOENCODING"] = "utf-8"
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )


def run_sample(state: Path) -> Ran:
    """Run the pipeline over the sample mailbox into `state`."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "report.json"
        done = run_command(
            *("--config", str(SAMPLE / "atlas.toml"), "--source", str(MAILBOX)),
            *("--state", str(state), "--report", str(file)),
        )
        report = msgspec.json.decode(file.read_bytes(), type=Report) if file.exists() else None
    held = []
    if report is not None:
        listing = run_command("quarantine", "list", "--json", "--state", str(state)).stdout
        held = msgspec.json.decode(listing, type=list[QuarantineFile])
    return Ran(exit_code=done.returncode, sheet=done.stdout.rstrip(), report=report, held=held)
