"""How sure a figure is: 95 % intervals, and whether a difference to a baseline is more than chance.

Figures that are a share of units get Wilson's interval and McNemar's exact test. All others are drawn anew
(clusters of units, with replacement) from a seeded generator: the same units give the same interval.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from eval.scoring.records import Change, Counts, Measure, Score, Unit

DRAWS = 500
SEED = 20260301
_Z = 1.959964


def wilson(right: float, count: float) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927); the whole range where nothing was counted."""
    if not count:
        return 0.0, 1.0
    share, square = right / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar(worse: int, better: int) -> float:
    """Return the two-sided p of `worse` against `better` changed units under a fair coin (exact)."""
    changed, fewer = worse + better, min(worse, better)
    tail = sum(math.comb(changed, k) for k in range(fewer + 1))
    return min(1.0, 2.0 * tail / float(2**changed))


def summed(units: Sequence[Unit]) -> dict[str, float]:
    """Return the sums of all counts."""
    return _sum(unit.counts for unit in units)


def scores_of(units: Sequence[Unit], measures: Sequence[Measure]) -> list[Score]:
    """Return every measure over `units` with its interval."""
    totals = summed(units)
    alone = len({unit.cluster or unit.id for unit in units}) == len(units)
    drawn = [measure for measure in measures if not (measure.share and alone)]
    clusters = _clustered(units)
    draws = _drawn_values([unit.counts for unit in clusters], drawn) if drawn else {}
    scores = []
    for measure in measures:
        value = measure.value(totals)
        low = high = None
        if value is not None:
            if measure.name in draws:
                low, high = _middle(draws[measure.name], value)
                if (
                    low == high and 0.0 <= value <= 1.0
                ):  # all draws alike: as sure as so many clusters make it
                    low, high = wilson(value * len(clusters), len(clusters))
            elif measure.share:
                low, high = wilson(totals[measure.share[0]], totals[measure.share[1]])
        scores.append(
            Score(
                name=measure.name,
                label=measure.label,
                better=measure.better,
                percent=measure.percent,
                shown=measure.shown,
                value=value,
                low=low,
                high=high,
                n=_counted(units, measure),
            )
        )
    return scores


def _counted(units: Sequence[Unit], measure: Measure) -> int:
    """Return how many units have something that the measure looks at."""
    return sum(1 for unit in units if measure.value(unit.counts) is not None)


def _clustered(units: Sequence[Unit]) -> list[Unit]:
    """Return one unit per cluster, with the counts of its members summed."""
    members: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        members[unit.cluster or unit.id].append(unit)
    return [Unit(id=name, counts=summed(group)) for name, group in members.items()]


def _drawn_values(rows: Sequence[Counts], measures: Sequence[Measure]) -> dict[str, list[float]]:
    """Return name → the figure in each draw of len(rows) rows (draws without a value left out)."""
    keys = sorted({key for row in rows for key in row})
    columns = {key: [row.get(key, 0.0) for row in rows] for key in keys}
    chance = random.Random(SEED)
    found: dict[str, list[float]] = {measure.name: [] for measure in measures}
    everyone = range(len(rows))
    for _ in range(DRAWS):
        picked = chance.choices(everyone, k=len(rows))
        totals = {key: sum(map(columns[key].__getitem__, picked)) for key in keys}
        for measure in measures:
            if (value := measure.value(totals)) is not None:
                found[measure.name].append(value)
    return found


def _middle(values: list[float], fallback: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % points of drawn values."""
    if not values:
        return fallback, fallback
    ordered = sorted(values)
    cut = round(0.025 * (len(ordered) - 1))
    return ordered[cut], ordered[-1 - cut]


def change_of(before: Sequence[Unit], after: Sequence[Unit], measure: Measure) -> Change | None:
    """Return the difference over the units that both runs have; None where they share none."""
    old = {unit.id: unit.counts for unit in before}
    pairs = [(unit, old[unit.id]) for unit in after if unit.id in old]
    if not pairs:
        return None
    was = measure.value(_sum(counts for _, counts in pairs))
    now = measure.value(_sum(unit.counts for unit, _ in pairs))
    if was is None or now is None:
        return None
    p = 1.0 if was == now else _tested(pairs, measure)
    return Change(before=was, after=now, units=len(pairs), p=p)


def _tested(pairs: Sequence[tuple[Unit, Counts]], measure: Measure) -> float:
    clusters = {unit.cluster or unit.id for unit, _ in pairs}
    if measure.share and len(clusters) == len(pairs):
        key = measure.share[0]
        gains = sum(1 for unit, counts in pairs if unit.counts.get(key, 0.0) > counts.get(key, 0.0))
        falls = sum(1 for unit, counts in pairs if unit.counts.get(key, 0.0) < counts.get(key, 0.0))
        return mcnemar(falls, gains)
    return _drawn_p(pairs, measure.value)


def _drawn_p(pairs: Sequence[tuple[Unit, Counts]], value: Callable[[Counts], float | None]) -> float:
    """Return how often drawn differences lie on the other side of nought, twice (paired bootstrap)."""
    members: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for unit, counts in pairs:
        row = members[unit.cluster or unit.id]
        for key, number in unit.counts.items():
            row["+" + key] += number
        for key, number in counts.items():
            row["-" + key] += number
    rows = list(members.values())
    keys = sorted({key for row in rows for key in row})
    columns = {key: [row.get(key, 0.0) for row in rows] for key in keys}
    chance = random.Random(SEED)
    above = below = 0
    for _ in range(DRAWS):
        picked = chance.choices(range(len(rows)), k=len(rows))
        totals = {key: sum(map(columns[key].__getitem__, picked)) for key in keys}
        now = value({key[1:]: total for key, total in totals.items() if key[0] == "+"})
        was = value({key[1:]: total for key, total in totals.items() if key[0] == "-"})
        above += now is None or was is None or now >= was
        below += now is None or was is None or now <= was
    return min(1.0, 2 * (min(above, below) + 1) / (DRAWS + 1))


def _sum(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for row in rows:
        for key, value in row.items():
            totals[key] += value
    return totals
