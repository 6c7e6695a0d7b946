"""Fetch and normalize on the sample mailbox: is each mail seen, and does it end where it should?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.scoring.records import Measure, Miss, Outcome, Row, Unit, ratio

FETCH_MEASURES = (Measure("seen", "mails seen", ratio("right", "mails"), share=("right", "mails")),)
NORMALIZE_MEASURES = (Measure("outcome", "outcome", ratio("right", "mails"), share=("right", "mails")),)


def score_fetch(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return whether each mail is known to the run at all, as a record, a copy or in quarantine."""
    return _score(rows, {name: {"outcome": "seen"} for name in answers}, {row["id"]: "seen" for row in rows})


def score_normalize(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return whether each mail is written, a duplicate, or held for the reason that its label names."""
    return _score(rows, answers, {row["id"]: str(row["outcome"]) for row in rows})


def _score(rows: Sequence[Row], answers: Mapping[str, Row], expected: Mapping[str, str]) -> Outcome:
    units, misses = [], []
    for row in rows:
        name = row["id"]
        found = str(answers.get(name, {}).get("outcome", "nowhere"))
        right = found == expected[name]
        units.append(
            Unit(id=name, counts={"mails": 1.0, "right": float(right)}, language=row.get("language"))
        )
        if not right:
            misses.append(
                Miss(
                    id=name,
                    what=f"{expected[name]}, found {found}",
                    weight=1.0,
                    difference=[("-", expected[name]), ("+", found)],
                    language=row.get("language"),
                )
            )
    return Outcome(units=units, misses=misses)
