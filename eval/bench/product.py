"""The product under the clock: one cold run into a fresh state folder, one warm run that finds nothing new."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import msgspec

from eval.bench.measure import folder_bytes, run_measured
from eval.bench.records import ProductRun
from models.errors import Defect
from models.report import Report

ROOT = Path(__file__).resolve().parents[2]


def run_product(maildir: Path, work: Path, processes: int) -> tuple[ProductRun, ProductRun]:
    """Return the cold and the warm run over `maildir`; the state folder `work`/state is made anew and removed.

    `processes` 0 leaves the number to the product. Raises Defect where a run gives no report.
    """
    state = work / "state"
    shutil.rmtree(state, ignore_errors=True)
    try:
        cold = _run(maildir, state, work, processes)
        cold.state_bytes = folder_bytes(state)
        return cold, _run(maildir, state, work, processes)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def _run(maildir: Path, state: Path, work: Path, processes: int) -> ProductRun:
    report_file, log = work / "report.json", work / "product.log"
    report_file.unlink(missing_ok=True)
    command = [sys.executable, "-P", "-m", "flows.cli", "--source", str(maildir), "--account", "bench"]
    command += ["--state", str(state), "--report", str(report_file), "--quiet"]
    cost = run_measured(command, env=_environment(processes), log=log)
    if not report_file.exists():
        told = log.read_text("utf-8", "replace").strip().splitlines()[-3:]
        raise Defect(f"the run ended with exit code {cost.exit_code} and no report: {' '.join(told)}")
    report = msgspec.json.decode(report_file.read_bytes(), type=Report)
    names = ("written", "unchanged", "duplicate", "quarantined", "pending")
    return ProductRun(
        mails=report.seen,
        cpu=cost.cpu,
        wall=cost.wall,
        peak_memory=cost.peak_memory,
        processes=cost.processes,
        written=cost.written,
        exit_code=cost.exit_code,
        balanced=report.balanced,
        outcomes={name: count for name in names if (count := getattr(report, name))},
        stages=report.stages,
    )


def _environment(processes: int) -> dict[str, str]:
    """Return the environment without the user's own settings."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
    environment["PYTHONPATH"] = str(ROOT)
    if processes:
        environment["ATLAS_PIPELINE__PROCESSES"] = str(processes)
    return environment
