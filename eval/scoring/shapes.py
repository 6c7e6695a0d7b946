"""The shapes of labelled rows: how each is known, asked and scored. A new kind of set is one row here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from eval.scoring import decode, dequote, entities, expressions, intent, outcomes, thread, zones
from eval.scoring.records import Measure, Outcome, Row


class Shape(NamedTuple):
    """One format: the stage it tests, the keys that tell it, the rows for the probe, measures, scorer."""

    name: str
    stage: str
    keys: tuple[str, ...]
    ask: Callable[[Sequence[Row]], Iterable[Row]]
    measures: Sequence[Measure]
    score: Callable[[Sequence[Row], Mapping[str, Row]], Outcome]


def _each(probe_row: Callable[[Row], Row]) -> Callable[[Sequence[Row]], Iterable[Row]]:
    return lambda rows: map(probe_row, rows)


def _by_arrival(rows: Sequence[Row]) -> Iterable[Row]:
    return map(thread.probe_row, thread.arrival_order(rows))


def _without_headers(rows: Sequence[Row]) -> Iterable[Row]:
    return map(thread.probe_row, thread.without_headers(thread.arrival_order(rows)))


def _never(rows: Sequence[Row]) -> Iterable[Row]:
    raise NotImplementedError("fetch and normalize are scored on a whole run alone")


ZONES = Shape(
    "zones", "dequote", ("zones", "text"), _each(zones.probe_row), zones.MEASURES, zones.score_zones
)
CLEAN = Shape(
    "clean", "dequote", ("expected_clean",), _each(dequote.probe_row), dequote.MEASURES, dequote.score_dequote
)
THREADS = Shape("threads", "thread", ("gold_thread",), _by_arrival, thread.MEASURES, thread.score_thread)
THREADS_LOST = Shape("threads_lost", "thread", (), _without_headers, thread.MEASURES, thread.score_thread)
MAILS = Shape("mails", "decode", ("file",), decode.probe_rows, decode.MEASURES, decode.score_decode)
DATES = Shape(
    "date_expressions",
    "entities",
    ("expected", "text", "ref_time"),
    _each(expressions.probe_row),
    expressions.DATE_MEASURES,
    expressions.score_dates,
)
AMOUNTS = Shape(
    "amount_expressions",
    "entities",
    ("expected", "text"),
    _each(expressions.probe_row),
    expressions.AMOUNT_MEASURES,
    expressions.score_amounts,
)
INTENTS = Shape(
    "intents", "intent", ("primary",), _each(intent.probe_row), intent.MEASURES, intent.score_intent
)
ASKING = Shape(
    "asking",
    "intent",
    ("actionable", "text"),
    _each(intent.probe_row),
    intent.ASKING_MEASURES,
    intent.score_asking,
)
ENTITIES = Shape(
    "entities",
    "entities",
    ("body_text_clean",),
    _each(entities.probe_row),
    entities.MEASURES,
    entities.score_entities,
)
FETCHED = Shape("seen", "fetch", (), _never, outcomes.FETCH_MEASURES, outcomes.score_fetch)
OUTCOMES = Shape("outcome", "normalize", (), _never, outcomes.NORMALIZE_MEASURES, outcomes.score_normalize)

BY_KEYS = (ZONES, CLEAN, THREADS, MAILS, DATES, AMOUNTS, INTENTS, ASKING, ENTITIES)
"""In the order in which a row is tried: the first whose keys are all there."""


def shape_of(row: Row) -> Shape | None:
    """Return the shape of a labelled row, None where it is none of ours."""
    return next((shape for shape in BY_KEYS if all(key in row for key in shape.keys)), None)
