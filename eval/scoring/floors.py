"""Floors: figures that must not get worse, kept as data in `eval/floors.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from eval.scoring.records import EvalReport, Floor, Score
from models.errors import UsageError

FILE = Path(__file__).resolve().parents[1] / "floors.toml"


def check_floors(report: EvalReport, file: Path = FILE) -> list[Floor]:
    """Return every floor of the report's stages with what was measured; one that was not measured is broken.

    Raises UsageError for a floor that does not say stage, set, measure and one bound.
    """
    stages = {one.stage for one in report.sets}
    floors = [floor for floor in _floors(file) if floor.stage in stages]
    for floor in floors:
        score = _measured(report, floor)
        floor.value = score.value if score else None
        if floor.value is not None:
            floor.held = (
                floor.value >= floor.bound if floor.better == "higher" else floor.value <= floor.bound
            )
    return floors


def _measured(report: EvalReport, floor: Floor) -> Score | None:
    """Return the score that a floor is about; without a shape before the measure, that of the set as it is."""
    shape, _, measure = floor.measure.rpartition(".")
    for scored in report.sets:
        if (scored.stage, scored.set) == (floor.stage, floor.set) and shape in ("", scored.shape):
            return next((score for score in scored.scores if score.name == measure), None)
    return None


def _floors(file: Path) -> Iterator[Floor]:
    for row in tomllib.loads(file.read_text(encoding="utf-8"))["floor"]:
        bounds = [key for key in ("at_least", "at_most") if key in row]
        if not {"stage", "set", "measure"} <= row.keys() or len(bounds) != 1:
            raise UsageError(
                f"{file}: not a floor: {row}", remedy="give stage, set, measure and at_least or at_most"
            )
        yield Floor(
            stage=row["stage"],
            set=row["set"],
            measure=row["measure"],
            bound=float(row[bounds[0]]),
            better="higher" if bounds == ["at_least"] else "lower",
            value=None,
            held=False,
        )
