"""Floors: figures that must not get worse, kept as data in `eval/floors.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.scoring.records import EvalReport, Floor
from models.errors import UsageError

FILE = Path(__file__).resolve().parents[1] / "floors.toml"


def check_floors(report: EvalReport, file: Path = FILE) -> list[Floor]:
    """Return every floor of the report's stages with what was measured; a floor of a set that is gone is broken.

    Raises UsageError for a row of the file that names no stage, set or measure as it should.
    """
    found = {
        (one.stage, one.set, one.shape, score.name): score for one in report.sets for score in one.scores
    }
    stages = {one.stage for one in report.sets}
    floors = []
    for stage, name, measure, bound, better in _rows(tomllib.loads(file.read_text(encoding="utf-8")), file):
        if stage not in stages:
            continue
        shape_measure = measure.partition(".")
        shape, plain = (shape_measure[0], shape_measure[2]) if shape_measure[2] else ("", measure)
        score = next(
            (
                one
                for (its_stage, its_set, its_shape, its_name), one in found.items()
                if (its_stage, its_set, its_name) == (stage, name, plain) and shape in ("", its_shape)
            ),
            None,
        )
        value = score.value if score else None
        held = value is not None and (value >= bound if better == "at_least" else value <= bound)
        floors.append(
            Floor(
                stage=stage,
                set=name,
                measure=measure,
                bound=bound,
                better="higher" if better == "at_least" else "lower",
                value=value,
                held=held,
            )
        )
    return floors


def _rows(tree: dict[str, Any], file: Path) -> Iterator[tuple[str, str, str, float, str]]:
    for row in tree.get("floor", []):
        bounds = [key for key in ("at_least", "at_most") if key in row]
        if not {"stage", "set", "measure"} <= row.keys() or len(bounds) != 1:
            raise UsageError(f"{file}: a floor has stage, set, measure and one of at_least, at_most: {row}")
        yield row["stage"], row["set"], row["measure"], float(row[bounds[0]]), bounds[0]
