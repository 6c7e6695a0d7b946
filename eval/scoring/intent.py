"""Intent: the right one first, or among the first three; how even over the eight; how honest its confidence.

Top-1 takes the primary intent as it is written, low confidence and all; top-3 and calibration look at the
ranking. Rows that only say whether a mail asks for something (`actionable`) are scored as that question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from eval.scoring.records import (
    CalibrationBin,
    Confusion,
    Counts,
    Measure,
    Miss,
    Outcome,
    Row,
    Unit,
    f1,
    ratio,
)
from eval.scoring.text import clipped
from models.message import INTENTS

BINS = 10
_ASKING = ("催办", "询问", "转交")  # intents that want the reader to do something
_NONE = "unknown"


def probe_row(row: Row) -> Row:
    """Return what the stage is given of a labelled row (`body_text_clean` or `text`)."""
    given = {
        "id": row["id"],
        "subject": row.get("subject") or "",
        "body_text_clean": row.get("body_text_clean", row.get("text")) or "",
    }
    language = row.get("language") or row.get("lang")
    return {**given, "language": language} if language else given


def _macro(counts: Counts) -> float | None:
    figures = []
    for label in INTENTS:
        expected, found = counts.get(f"expected:{label}", 0.0), counts.get(f"found:{label}", 0.0)
        if expected:
            figures.append(2 * counts.get(f"right:{label}", 0.0) / (expected + found))
    return sum(figures) / len(figures) if figures else None


def _calibration_error(counts: Counts) -> float | None:
    """Return the expected calibration error: how far confidence and rightness are apart, over ten bins."""
    if not counts.get("mails"):
        return None
    gaps = (abs(counts.get(f"sure:{place}", 0.0) - counts.get(f"hits:{place}", 0.0)) for place in range(BINS))
    return sum(gaps) / counts["mails"]


MEASURES: tuple[Measure, ...] = (
    Measure("top1", "top-1", ratio("top1", "mails"), share=("top1", "mails")),
    Measure(
        "ranked1", "first of ranking", ratio("ranked1", "mails"), share=("ranked1", "mails"), shown=False
    ),
    Measure("top3", "top-3", ratio("top3", "mails"), share=("top3", "mails")),
    Measure("macro_f1", "macro F1", _macro),
    Measure("ece", "ECE", _calibration_error, better="lower", percent=False),
    Measure("secondary_f1", "secondary F1", f1("second_right", "second_expected", "second_found")),
    Measure("sure_share", "confidence ≥ 0.6", ratio("sure", "mails"), share=("sure", "mails"), shown=False),
    Measure("sure_right", "top-1 where sure", ratio("sure_right", "sure"), shown=False),
)

ASKING_MEASURES: tuple[Measure, ...] = (
    Measure("accuracy", "accuracy", ratio("right", "mails"), share=("right", "mails")),
    Measure("asks_f1", "asks: F1", f1("asks_right", "asks_expected", "asks_found")),
    Measure("asks_precision", "asks: P", ratio("asks_right", "asks_found")),
    Measure("asks_recall", "asks: R", ratio("asks_right", "asks_expected")),
)


def score_intent(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome over rows with a `primary` (others in `also_ok`) and `secondary` intents."""
    units, misses = [], []
    confused: Counter[tuple[str, str]] = Counter()
    for row in rows:
        answer = answers.get(row["id"], {})
        primary = str(answer.get("primary") or _NONE)
        ranking = [str(one["label"]) for one in answer.get("ranking") or []]
        sure = max((float(one["p"]) for one in answer.get("ranking") or []), default=0.0)
        accepted = {row["primary"], *row.get("also_ok", [])}
        fitting = primary if primary in accepted else row["primary"]
        confused[fitting, primary] += 1
        counts = _counts(row, answer, primary, fitting, accepted)
        first = bool(ranking) and ranking[0] in accepted
        counts |= {"ranked1": float(first)}
        counts |= {"top3": float(bool(accepted & set(ranking[:3])) or primary in accepted)}
        bin_number = max(0, math.ceil(sure * BINS) - 1)
        counts |= {f"sure:{bin_number}": sure, f"hits:{bin_number}": float(first), f"bin:{bin_number}": 1.0}
        counts |= {"sure": float(sure >= 0.6), "sure_right": float(sure >= 0.6 and first)}
        language, suite = row.get("language") or row.get("lang"), row.get("suite") or row.get("kind")
        units.append(Unit(id=row["id"], counts=counts, language=language, suite=suite))
        if not counts["top1"]:
            told = f"{primary} ({answer.get('confidence', 0):.2f})"
            if answer.get("low_confidence") and ranking:
                told += f", leaned to {ranking[0]}"
            text = clipped(
                f"{row.get('subject') or ''} | {row.get('body_text_clean', row.get('text')) or ''}", 240
            )
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{' or '.join(sorted(accepted))}, found {told}",
                    weight=sure if not answer.get("low_confidence") else sure / 2,
                    difference=[("-", row["primary"]), ("+", told), ("=", text)],
                    language=language,
                    suite=suite,
                )
            )
    return Outcome(
        units=units, misses=misses, confusions=[_confusion(confused)], calibration=calibration_of(units)
    )


def _counts(row: Row, answer: Row, primary: str, fitting: str, accepted: set[str]) -> dict[str, float]:
    optional = {*row.get("secondary_optional", []), row["primary"]}
    expected = {label for label in row.get("secondary") or [] if label not in optional}
    found = {label for label in answer.get("secondary") or [] if label not in optional}
    counts = {
        "mails": 1.0,
        "top1": float(primary in accepted),
        f"expected:{fitting}": 1.0,
        f"found:{primary}": 1.0,
        "second_expected": float(len(expected)),
        "second_found": float(len(found)),
        "second_right": float(len(expected & found)),
    }
    if primary in accepted:
        counts[f"right:{primary}"] = 1.0
    return counts


def calibration_of(units: Sequence[Unit]) -> list[CalibrationBin]:
    """Return the bins of confidence that are not empty."""
    bins = []
    for place in range(BINS):
        n = sum(unit.counts.get(f"bin:{place}", 0.0) for unit in units)
        if n:
            bins.append(
                CalibrationBin(
                    low=place / BINS,
                    high=(place + 1) / BINS,
                    n=int(n),
                    confidence=sum(unit.counts.get(f"sure:{place}", 0.0) for unit in units) / n,
                    right=sum(unit.counts.get(f"hits:{place}", 0.0) for unit in units) / n,
                )
            )
    return bins


def score_asking(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome over rows that say only whether the mail asks for something (`actionable`)."""
    units, misses = [], []
    for row in rows:
        answer = answers.get(row["id"], {})
        ranking = answer.get("ranking") or []
        weight = sum(float(one["p"]) for one in ranking if one["label"] in _ASKING)
        asks, should = weight >= 0.5, bool(row["actionable"])
        counts = {
            "mails": 1.0,
            "right": float(asks == should),
            "asks_expected": float(should),
            "asks_found": float(asks),
            "asks_right": float(asks and should),
        }
        units.append(Unit(id=row["id"], counts=counts, language=row.get("lang"), suite=row.get("suite")))
        if asks != should:
            told = f"{answer.get('primary', _NONE)}, asks with p {weight:.2f}"
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{'asks' if should else 'asks nothing'}, found {told}",
                    weight=abs(weight - should),
                    difference=[
                        ("-", "asks" if should else "asks nothing"),
                        ("+", told),
                        ("=", clipped(row["text"], 240)),
                    ],
                )
            )
    return Outcome(units=units, misses=misses)


def _confusion(confused: Counter[tuple[str, str]]) -> Confusion:
    seen = {label for pair in confused for label in pair}
    labels = [*INTENTS, *sorted(seen - set(INTENTS))]
    return Confusion(
        title="intent", labels=labels, rows=[[confused[one, other] for other in labels] for one in labels]
    )
