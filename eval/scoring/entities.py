"""Entities of whole mails: dates, amounts, people, keywords, actions and the customer, against labels.

A labelled row scores only what it labels: a row without `amounts` says nothing about amounts. Labels are
matched one to one; a date or amount by its value where the texts overlap, a person by address.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eval.scoring.records import Measure, Miss, Outcome, Row, Unit, f1, ratio
from models.base import parse_time

_HANDED = ("subject", "body_text_clean", "headers", "sent", "lang")

Item = Mapping[str, Any]
Same = Callable[[Item, Item], bool]


def probe_row(row: Row) -> Row:
    """Return what the stage is given of a labelled mail."""
    return {"id": row["id"], **{key: row[key] for key in _HANDED if row.get(key) is not None}}


def _listed(key: str, label: str) -> tuple[Measure, ...]:
    right, expected, found = f"{key}_right", f"{key}_expected", f"{key}_found"
    return (
        Measure(f"{key}_f1", f"{label} F1", f1(right, expected, found)),
        Measure(f"{key}_precision", f"{label} P", ratio(right, found), shown=False),
        Measure(f"{key}_recall", f"{label} R", ratio(right, expected), shown=False),
    )


MEASURES: tuple[Measure, ...] = (
    *_listed("people", "people"),
    *_listed("dates", "dates"),
    *_listed("amounts", "amounts"),
    Measure("keywords", "keywords found", ratio("keywords_right", "keywords_expected")),
    *_listed("actions", "actions"),
    Measure(
        "customer",
        "customer",
        ratio("customer_right", "customer_mails"),
        share=("customer_right", "customer_mails"),
    ),
    Measure("mention_recall", "people in text R", ratio("mention_right", "mention_expected"), shown=False),
    Measure("mention_precision", "people in text P", ratio("mention_right", "mention_found"), shown=False),
    Measure("dates_periods", "dates with start", ratio("dates_full", "dates_expected"), shown=False),
)


def score_entities(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome over mails labelled by the conventions of the stage."""
    units, misses = [], []
    for row in rows:
        counts, wrong = compare_entities(row, answers.get(row["id"], {}))
        language, suite = row.get("lang"), row.get("suite") or row.get("kind")
        units.append(Unit(id=row["id"], counts=counts, language=language, suite=suite))
        if wrong:
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{sum(mark == '-' for mark, _ in wrong)} not found, "
                    f"{sum(mark == '+' for mark, _ in wrong)} too many",
                    weight=float(len(wrong)),
                    difference=wrong,
                    language=language,
                    suite=suite,
                )
            )
    return Outcome(units=units, misses=misses)


def compare_entities(row: Row, answer: Row) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """Return the counts of one mail, and what is missing ("-") and too much ("+") as lines."""
    counts: dict[str, float] = {}
    wrong: list[tuple[str, str]] = []

    def tally(
        key: str, missing: list[Item], spare: list[Item], expected: int, words: Callable[[Item], str]
    ) -> None:
        counts[f"{key}_expected"] = float(expected)
        counts[f"{key}_right"] = float(expected - len(missing))
        counts[f"{key}_found"] = float(expected - len(missing) + len(spare))
        kind = "person" if key in ("header", "mention") else key.rstrip("s")
        wrong.extend(("-", f"{kind}: {words(item)}\n") for item in missing)
        wrong.extend(("+", f"{kind}: {words(item)}\n") for item in spare)

    if "dates" in row:
        missing, spare = unmatched(row["dates"], answer.get("dates") or [], same_date)
        _, spare = unmatched(row.get("dates_optional") or [], spare, overlapping)
        tally("dates", missing, spare, len(row["dates"]), _date_words)
        period_missing, _ = unmatched(row["dates"], answer.get("dates") or [], _same_period)
        counts["dates_full"] = float(len(row["dates"]) - len(period_missing))
    if "amounts" in row:
        missing, spare = unmatched(row["amounts"], answer.get("amounts") or [], same_amount)
        _, spare = unmatched(row.get("amounts_optional") or [], spare, overlapping)
        tally("amounts", missing, spare, len(row["amounts"]), _amount_words)
    if "people" in row:
        _compare_people(row, answer, tally)
        for part in ("expected", "right", "found"):
            counts[f"people_{part}"] = counts[f"header_{part}"] + counts[f"mention_{part}"]
    if "actions" in row:
        fine = {*row["actions"], *(row.get("actions_also_ok") or [])}
        found = set(answer.get("actions") or [])
        lost = [{"text": verb} for verb in row["actions"] if verb not in found]
        more: list[Item] = [{"text": verb} for verb in sorted(found - fine)]
        tally("actions", list(lost), more, len(row["actions"]), lambda item: str(item["text"]))
    if "keywords" in row:
        found_words = [folded(phrase) for phrase in answer.get("project_keywords") or []]
        lost_words = [word for word in row["keywords"] if not any(folded(word) in one for one in found_words)]
        counts["keywords_expected"] = float(len(row["keywords"]))
        counts["keywords_right"] = float(len(row["keywords"]) - len(lost_words))
        wrong.extend(("-", f"keyword: {word}\n") for word in lost_words)
    key = "customer_id_candidate" if "customer_id_candidate" in row else "customer"
    if key in row:
        named = answer.get("customer_id_candidate")
        counts |= {"customer_mails": 1.0, "customer_right": float(bool(answer) and named == row[key])}
        if named != row[key]:
            wrong += [("-", f"customer: {row[key]}\n"), ("+", f"customer: {named}\n")]
    return counts, wrong


def _compare_people(row: Row, answer: Row, tally: Callable[..., None]) -> None:
    people: list[Item] = answer.get("people") or []
    header = [one for one in row["people"] if one["role"] != "mention"]
    known = {one["email"] for one in header}
    found = [one for one in people if one["role"] in ("from", "to", "cc")]
    missing, spare = unmatched(header, found, _same_header)
    tally("header", missing, spare, len(header), _person_words)
    mentions = _once(one for one in row["people"] if one["role"] == "mention")
    stated = [{**one, "elsewhere": one["email"] not in known} for one in mentions]
    named = _once(one for one in people if one["role"] == "mention")
    missing, spare = unmatched(stated, named, _same_mention)
    tally("mention", missing, spare, len(stated), _person_words)


def unmatched(expected: Iterable[Item], found: Iterable[Item], same: Same) -> tuple[list[Item], list[Item]]:
    """Return the expected items without a found one, and the found ones left over; each serves once."""
    missing, spare = [], list(found)
    for item in expected:
        place = next((number for number, other in enumerate(spare) if same(item, other)), None)
        if place is None:
            missing.append(item)
        else:
            del spare[place]
    return missing, spare


def same_date(expected: Item, found: Item) -> bool:
    """Return whether a found date has an accepted value (`iso`, `also_iso`) at that place."""
    values = [expected["iso"], *(expected.get("also_iso") or [])]
    return overlapping(expected, found) and any(same_moment(one, found["iso"]) for one in values)


def _same_period(expected: Item, found: Item) -> bool:
    return same_date(expected, found) and same_moment(expected.get("iso_start"), found.get("iso_start"))


def same_moment(one: str | None, other: str | None) -> bool:
    """Return whether two ISO values are one day, or one moment where both have a clock."""
    if one and other and "T" in one and "T" in other:
        return parse_time(one) == parse_time(other)
    return one == other


def same_amount(expected: Item, found: Item) -> bool:
    """Return whether value, upper value and currency agree; an inferred currency may be left out."""
    currencies = {expected.get("currency")}
    if expected.get("currency_inferred") or expected.get("inferred"):
        currencies.add(None)
    return (
        overlapping(expected, found)
        and expected["value"] == found["value"]
        and expected.get("value_max") == found.get("value_max")
        and found.get("currency") in currencies
        and expected.get("approx", found.get("approx")) == found.get("approx")
    )


def overlapping(expected: Item, found: Item) -> bool:
    """Return whether two mentions overlap: by their spans, or by their words where the label has no span."""
    if expected.get("start") is not None and found.get("start") is not None:
        return bool(expected["start"] < found["end"] and found["start"] < expected["end"])
    texts = [folded(text) for text in (expected["text"], *(expected.get("also_text") or []))]
    words = folded(found["text"])
    return any(text in words or words in text for text in texts)


def _same_header(expected: Item, found: Item) -> bool:
    return all(expected[key] == found.get(key) for key in ("role", "email", "internal") if key in expected)


def _same_mention(expected: Item, found: Item) -> bool:
    """Return whether two mentions are one person; of somebody from elsewhere the address may be missing."""
    if found.get("email") or (expected.get("email") and not expected["elsewhere"]):
        return bool(expected.get("email") == found.get("email"))
    one, other = folded(expected.get("name") or ""), folded(found.get("name") or "")
    return one in other or other in one


def _once(people: Iterable[Item]) -> list[Item]:
    """Return the people once each, however often the text names them."""
    return list({one.get("email") or folded(one.get("name") or ""): one for one in people}.values())


def folded(text: str) -> str:
    """Return `text` for comparing names and phrases: NFKC, no spaces, no case."""
    return "".join(unicodedata.normalize("NFKC", text).split()).casefold()


def _date_words(item: Item) -> str:
    start = f"{item['iso_start']} to " if item.get("iso_start") else ""
    return f"{item['text']} = {start}{item['iso']}"


def _amount_words(item: Item) -> str:
    top = f" to {item['value_max']:g}" if item.get("value_max") is not None else ""
    return f"{item['text']} = {item['value']:.10g}{top} {item.get('currency')}"


def _person_words(item: Item) -> str:
    return f"{item['role']} {item.get('name') or ''} <{item.get('email') or 'unknown'}>"
