"""Asks the product: one stage over many rows, by its command, as any user could."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from eval.scoring.records import Row
from models.errors import Defect

ROOT = Path(__file__).resolve().parents[2]


def ask_stage(stage: str, rows: Iterable[Row], config: str | None = None) -> dict[str, Row]:
    """Return id → answer of `atlas-extract stage <stage> --timing`, rows fed in their order.

    The user's own ATLAS_… settings do not apply; `config` names a configuration file that does. Raises
    Defect where the command fails or does not answer each row.
    """
    # -P: a file of the folder where the user stands never hides a package of ours
    command = [sys.executable, "-P", "-m", "flows.cli", "stage", stage, "--timing"]
    command += ["--config", config] if config else []
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    count = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        for row in rows:
            given.write(json.dumps(row) + "\n")
            count += 1
        given.seek(0)
        done = subprocess.run(command, stdin=given, capture_output=True, env=environment, check=False)
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Defect(f"the {stage} probe ended with exit code {done.returncode}: {' '.join(told[-2:])}")
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    if len(answers) != count:
        raise Defect(f"the {stage} probe gave {len(answers)} answers to {count} rows")
    return {str(answer["id"]): answer for answer in answers}
