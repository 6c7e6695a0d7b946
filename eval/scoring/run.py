"""An evaluation run: ask the product, score every set, compare with a baseline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import stages as stage_table
from eval.scoring import sample
from eval.scoring.intervals import change_of, scores_of
from eval.scoring.probe import ask_stage
from eval.scoring.records import EvalReport, Group, LabelledSet, Measure, Row, SetReport, Unit
from eval.scoring.sets import own_sets, read_set
from eval.scoring.shapes import CLEAN, THREADS, THREADS_LOST, ZONES, Shape
from models.email import Email
from models.report import QuarantineFile

Answered = tuple[LabelledSet, Shape, Mapping[str, Row], float]
"""A set, the way to score it, the answers by id, and the seconds that they took."""

MAX_MISSES = 40  # worst misses that a report keeps per set


def evaluate(
    stages: Sequence[str] = (),
    sets: Sequence[str] = (),
    baseline: EvalReport | None = None,
    config: str | None = None,
) -> EvalReport:
    """Return the report over `sets` (files or folders), or without any over the sets of the repository.

    `stages` limits it to some stages. With `baseline` every score has its change. `config` is handed to the
    stage probes; the sample mailbox always runs with its own. Raises UsageError for a set that cannot be read.
    """
    wanted = list(stages) or list(stage_table.NAMES)
    report = _reported(_answered(wanted, sets, config), baseline)
    if not sets and not sample.sample_is_here():
        report.notes.append("the sample mailbox is not here: it comes with a checkout, not with the package")
    return report


def evaluate_sample(emails: Sequence[Email], held: Sequence[QuarantineFile]) -> EvalReport:
    """Return the report over the sample mailbox alone, from the records of a run that was made before."""
    return _reported((*one, 0.0) for one in sample.pair_up(stage_table.NAMES, emails, held))


def _reported(answered: Iterable[Answered], baseline: EvalReport | None = None) -> EvalReport:
    started, began = datetime.now(UTC), time.perf_counter()
    extraction = stage_table.extraction_version()
    report = EvalReport(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{extraction.rpartition('.')[2]}",
        started_at=started.isoformat(timespec="seconds"),
        seconds=0.0,
        versions={name: stage_table.version(name) for name in stage_table.NAMES},
        extraction_version=extraction,
        sets=[],
        baseline=baseline.run_id if baseline else None,
    )
    before = {(one.stage, one.set, one.shape): one for one in baseline.sets} if baseline else {}
    for labelled, shape, answers, seconds in answered:
        scored = _score(labelled, shape, answers)
        scored.seconds = round(seconds, 2)
        old = before.get((scored.stage, scored.set, scored.shape))
        if old is not None:
            _compare(scored, old, shape.measures)
        report.sets.append(scored)
    order = {name: place for place, name in enumerate(stage_table.NAMES)}
    report.sets.sort(key=lambda one: order[one.stage])
    report.seconds = round(time.perf_counter() - began, 2)
    return report


def _answered(stages: Sequence[str], sets: Sequence[str], config: str | None) -> Iterator[Answered]:
    began = time.perf_counter()
    if sets:
        chosen = [read_set(Path(path)) for path in sets]
    else:
        if sample.sample_is_here():
            for labelled, shape, answers in sample.run_and_pair(stages):
                yield labelled, shape, answers, time.perf_counter() - began
                began = time.perf_counter()
        chosen = list(own_sets(stages))
    for labelled, shape in chosen:
        if shape.stage not in stages:
            continue
        for part, way in _ways(labelled, shape):
            began = time.perf_counter()
            answers = ask_stage(way.stage, way.ask(part.rows), config)
            yield part, way, answers, time.perf_counter() - began


def _ways(labelled: LabelledSet, shape: Shape) -> Iterator[tuple[LabelledSet, Shape]]:
    """Yield the ways in which a set is scored: as it is, and what else the labels of its rows allow."""
    yield labelled, shape
    if shape is THREADS:
        yield labelled, THREADS_LOST
    if shape is CLEAN:
        # zones over the source of HTML have no lines
        rows = [row for row in labelled.rows if row.get("zones") and row.get("kind") == "text"]
        if rows:
            yield msgspec.structs.replace(labelled, rows=rows), ZONES


def _score(labelled: LabelledSet, shape: Shape, answers: Mapping[str, Row]) -> SetReport:
    outcome = shape.score(labelled.rows, answers)
    times = sorted(float(answer["ms"]) for answer in answers.values() if "ms" in answer)
    misses = sorted(outcome.misses, key=lambda miss: (-miss.weight, miss.id))
    return SetReport(
        stage=labelled.stage,
        set=labelled.name,
        shape=shape.name,
        digest=labelled.digest,
        rows=len(labelled.rows),
        seconds=0.0,
        milliseconds=(times[len(times) // 2], times[int(len(times) * 0.99)]) if times else None,
        scores=[score for score in scores_of(outcome.units, shape.measures) if score.value is not None],
        groups=list(_groups(outcome.units, [measure for measure in shape.measures if measure.shown])),
        misses=misses[:MAX_MISSES],
        missed=len(misses),
        confusions=outcome.confusions,
        calibration=outcome.calibration,
        notes=outcome.notes,
        units=outcome.units,
    )


def _groups(units: Sequence[Unit], measures: Sequence[Measure]) -> Iterator[Group]:
    """Yield the scores by language and by suite, largest first, where there is more than one."""
    for by in ("language", "suite"):
        members: dict[str, list[Unit]] = {}
        for unit in units:
            name = unit.language if by == "language" else unit.suite
            members.setdefault(name or "none", []).append(unit)
        if len(members) < 2:
            continue
        for name, group in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
            scores = [score for score in scores_of(group, measures) if score.value is not None]
            yield Group(
                by="language" if by == "language" else "suite", name=name, units=len(group), scores=scores
            )


def _compare(scored: SetReport, old: SetReport, measures: Sequence[Measure]) -> None:
    by_name = {measure.name: measure for measure in measures}
    for score in scored.scores:
        score.change = change_of(old.units, scored.units, by_name[score.name])
    if old.digest != scored.digest:
        known = {unit.id for unit in old.units}
        common = sum(1 for unit in scored.units if unit.id in known)
        scored.notes.append(
            f"the set has changed since the baseline: {common} of {len(scored.units)} compared"
        )
