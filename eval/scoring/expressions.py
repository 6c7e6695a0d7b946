"""Single dates and amounts in short texts, labelled by the conventions of public test suites.

Those conventions are not ours: a period may carry its start and its exclusive end, cents may be counted as
such. What can be compared is: is there an answer at that place (overlap of half or more), is its first moment
an accepted one (`value`), is its end right too (`full`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from eval.scoring.records import Measure, Miss, Outcome, Row, Unit, f1, ratio
from eval.scoring.text import clipped
from models.base import parse_time

_TIMED = frozenset(("datetime", "datetimerange", "time", "timerange", "opendatetime"))
_RANGES = frozenset(("daterange",))
_LANGUAGES = {"zh": "zh-CN"}
_OFFSETS = {"duckling": "-02:00"}  # its test corpus lives two hours west of Greenwich
_SMALL_UNITS = frozenset(("Cent", "Centimes", "Pence", "Penny"))
_OVERLAP = 0.5

Item = Mapping[str, Any]


def probe_row(row: Row) -> Row:
    """Return what the entities stage is given: the text, and the reference time as its sending time."""
    given = {"id": row["id"], "subject": "", "body_text_clean": row["text"], "headers": {}}
    language = row.get("variant") or row.get("lang")
    if language:
        given["lang"] = _LANGUAGES.get(language, language)
    if row.get("ref_time"):
        given["sent"] = row["ref_time"] + _OFFSETS.get(_suite(row) or "", "+00:00")
    return given


DATE_MEASURES: tuple[Measure, ...] = (
    Measure("value_recall", "value R", ratio("value", "expected")),
    Measure("full_recall", "value and end R", ratio("full", "expected")),
    Measure("value_precision", "value P", ratio("value", "found")),
    Measure("value_f1", "value F1", f1("value", "expected", "found")),
    Measure("spurious", "spurious", ratio("spurious", "found"), better="lower"),
)

AMOUNT_MEASURES: tuple[Measure, ...] = (
    Measure("value_recall", "value R", ratio("value", "expected")),
    Measure("full_recall", "value and currency R", ratio("full", "expected")),
    Measure("value_precision", "value P", ratio("value", "found")),
    Measure("value_f1", "value F1", f1("value", "expected", "found")),
    Measure("spurious", "spurious", ratio("spurious", "found"), better="lower"),
)


def score_dates(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome over dates; holidays, repeated times and durations are neither right nor wrong."""
    return _score(rows, answers, "dates")


def score_amounts(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome over amounts of money."""
    return _score(rows, answers, "amounts")


def _score(rows: Sequence[Row], answers: Mapping[str, Row], field: str) -> Outcome:
    units, misses = [], []
    for row in rows:
        found: list[Item] = answers.get(row["id"], {}).get(field) or []
        counts, wrong = _compare(row, found, field)
        language, suite = row.get("lang"), _suite(row)
        units.append(Unit(id=row["id"], counts=counts, language=language, suite=suite))
        if wrong:
            expected = [(mark, text) for mark, text in wrong if mark == "-"]
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{len(expected)} not found, {len(wrong) - len(expected)} wrong",
                    weight=float(len(wrong)),
                    difference=[*wrong, ("=", clipped(row["text"], 200))],
                    language=language,
                    suite=suite,
                )
            )
    return Outcome(units=units, misses=misses)


def _compare(row: Row, found: list[Item], field: str) -> tuple[dict[str, float], list[tuple[str, str]]]:
    wanted = [item for item in row["expected"] if field == "amounts" or _is_date(item)]
    counts = {"expected": float(len(wanted)), "value": 0.0, "full": 0.0}
    wrong: list[tuple[str, str]] = []
    free = list(found)
    for item in wanted:
        at = [one for one in free if _overlap(item, one) >= _OVERLAP]
        right = next((one for one in at if _value_right(item, one, row, field)), None)
        if right is not None:
            free.remove(right)
            full = _full_right(item, right, field)
            counts["value"] += 1
            counts["full"] += full
        else:
            wrong.append(("-", f"{item['text']} = {_words(item, field)}\n"))
            wrong.extend(("+", f"{one['text']} = {_answer_words(one, field)}\n") for one in at[:1])
    spare = [one for one in free if not any(_overlap(one, item) for item in row["expected"])]
    unscored = [
        one for one in free if any(_overlap(one, item) for item in row["expected"] if item not in wanted)
    ]
    counts["found"] = float(len(found) - len(unscored))
    counts["spurious"] = float(len(spare))
    wrong.extend(("+", f"{one['text']} = {_answer_words(one, field)}\n") for one in spare)
    return counts, wrong


def _is_date(item: Item) -> bool:
    if item.get("holiday") or item["kind"] in ("set", "duration"):
        return False
    return any(value[:1].isdigit() for value in item["iso"])


def _value_right(item: Item, found: Item, row: Row, field: str) -> bool:
    if field == "amounts":
        return any((found["value"], found.get("value_max")) == pair for pair in _accepted_amounts(item))
    first = found.get("iso_start") or found["iso"]
    if item["kind"] in _TIMED:
        day = str(row["ref_time"])[:10]
        values = {
            (f"{day}T{value}" if "T" not in value and ":" in value else value)[:16] for value in item["iso"]
        }
        return "T" in first and _local(first, row) in values
    return first[:10] in {value[:10] for value in item["iso"]}


def _local(moment: str, row: Row) -> str:
    """Return a found moment to the minute, in the offset in which the row's answers are written."""
    zone = parse_time(probe_row(row)["sent"]).tzinfo
    return parse_time(moment).astimezone(zone).isoformat()[:16]


def _accepted_amounts(item: Item) -> list[tuple[float, float | None]]:
    value, most = float(item["value"]), item.get("value_max")
    pairs: list[tuple[float, float | None]] = [(value, most)]
    if item.get("unit") in _SMALL_UNITS:
        pairs.append((round(value / 100, 4), None if most is None else round(most / 100, 4)))
    return pairs


def _full_right(item: Item, found: Item, field: str) -> bool:
    if field == "amounts":
        return item.get("currency") in (None, found.get("currency"))
    if item["kind"] not in _RANGES or not item["iso_end"]:
        return True
    ends = {value[:10] for value in item["iso_end"]}
    return found["iso"][:10] in ends | {_day_before(value) for value in ends}


def _day_before(day: str) -> str:
    try:
        return (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return day


def _overlap(one: Item, other: Item) -> float:
    """Return the shared part of two spans by what they cover together."""
    shared = min(one["end"], other["end"]) - max(one["start"], other["start"])
    together = max(one["end"], other["end"]) - min(one["start"], other["start"])
    return max(0.0, shared / together) if together else 0.0


def _suite(row: Row) -> str | None:
    return row.get("suite") or str(row.get("source") or "").partition("/")[0] or None


def _words(item: Item, field: str) -> str:
    if field == "amounts":
        return _answer_words(item, field)
    end = f" until {' or '.join(item['iso_end'])}" if item["iso_end"] else ""
    return " or ".join(item["iso"]) + end


def _answer_words(item: Item, field: str) -> str:
    if field == "amounts":
        top = f" to {item['value_max']:g}" if item.get("value_max") is not None else ""
        return f"{item['value']:.10g}{top} {item.get('currency')}"
    return (f"{item['iso_start']} to " if item.get("iso_start") else "") + str(item["iso"])
