"""What an evaluation hands on: labelled sets, units of counting, scores with intervals, the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from models.base import Record

Counts = Mapping[str, float]
Row = dict[str, Any]
SCHEMA = 1  # of the kept report; a report of another schema is no baseline


class LabelledSet(Record):
    """Rows with answers: `shape` names the format (`eval/scoring/sets.py`), `digest` the content."""

    stage: str
    name: str
    shape: str
    path: str
    digest: str
    rows: list[Row]


class Unit(Record):
    """What is counted together and drawn together: one mail, or one labelled conversation.

    Every figure is a function of the summed counts of some units. Units of one `cluster` (a fixture used
    several times, a sender) are drawn together when intervals are made.
    """

    id: str
    counts: dict[str, float]
    language: str | None = None
    suite: str | None = None
    cluster: str | None = None


class Measure(NamedTuple):
    """A figure: `value` of summed counts (None: nothing to measure).

    `share` names the two counts of a yes/no figure (0 or 1 of 1 per unit), whose interval and test are exact;
    `shown` figures stand in the tables by language and suite.
    """

    name: str
    label: str
    value: Callable[[Counts], float | None]
    better: Literal["higher", "lower"] = "higher"
    share: tuple[str, str] | None = None
    shown: bool = True
    percent: bool = True


class Change(Record):
    """The difference to the baseline over the units that both have; `p` is two-sided."""

    before: float
    after: float
    units: int
    p: float

    @property
    def significant(self) -> bool:
        return self.p < 0.05 and self.before != self.after


class Score(Record):
    """One figure with its 95 % interval (None where nothing is measured); `n` units count in it."""

    name: str
    label: str
    better: Literal["higher", "lower"]
    percent: bool
    value: float | None
    low: float | None
    high: float | None
    n: int
    shown: bool = True
    change: Change | None = None


class Group(Record):
    """The scores of the units of one language or suite."""

    by: Literal["language", "suite"]
    name: str
    units: int
    scores: list[Score]


class Miss(Record):
    """One unit that is wrong. `difference` are (mark, text) pieces: "=" both, "-" expected, "+" found."""

    id: str
    what: str
    weight: float
    difference: list[tuple[str, str]]
    language: str | None = None
    suite: str | None = None


class Confusion(Record):
    """How often label `labels[i]` was answered with `labels[j]`: `rows[i][j]`."""

    title: str
    labels: list[str]
    rows: list[list[int]]


class CalibrationBin(Record):
    """Answers whose confidence is in (low, high]: how many, how sure they were, how often right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


class Outcome(Record):
    """What a scorer makes of a set: units for the figures, the misses and what is drawn."""

    units: list[Unit]
    misses: list[Miss]
    confusions: list[Confusion] = []
    calibration: list[CalibrationBin] = []
    notes: list[str] = []


class SetReport(Record):
    """One set scored. `milliseconds` are the median and the 99th percentile inside the stage."""

    stage: str
    set: str
    shape: str
    digest: str
    rows: int
    seconds: float
    milliseconds: tuple[float, float] | None
    scores: list[Score]
    groups: list[Group]
    misses: list[Miss]
    missed: int
    confusions: list[Confusion]
    calibration: list[CalibrationBin]
    notes: list[str]
    units: list[Unit]


class Floor(Record):
    """A bound of `floors.toml` and what was measured."""

    stage: str
    set: str
    measure: str
    bound: float
    better: Literal["higher", "lower"]
    value: float | None
    held: bool


class EvalReport(Record):
    """One evaluation run, as it is kept and handed on."""

    run_id: str
    started_at: str
    seconds: float
    versions: dict[str, str]
    extraction_version: str
    sets: list[SetReport]
    baseline: str | None = None
    floors: list[Floor] = []
    schema: int = SCHEMA
    notes: list[str] = msgspec.field(default_factory=list)


def ratio(top: str, bottom: str) -> Callable[[Counts], float | None]:
    """Return the function `top` by `bottom` of summed counts."""

    def value(counts: Counts) -> float | None:
        below = counts.get(bottom, 0.0)
        return counts.get(top, 0.0) / below if below else None

    return value


def f1(right: str, expected: str, found: str) -> Callable[[Counts], float | None]:
    """Return the function F1 of summed counts; None where nothing was expected or found."""

    def value(counts: Counts) -> float | None:
        both = counts.get(expected, 0.0) + counts.get(found, 0.0)
        return 2 * counts.get(right, 0.0) / both if both else None

    return value
