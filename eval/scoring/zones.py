"""Dequote, line by line: mail in which every line has its kind.

Lines are matched by their words, so a text that was wrapped anew at its edges still counts; blank lines never
do. A line that may be kept or removed is in no content figure; `*` among its further kinds takes it out.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from eval.scoring.dequote import probe_row as dequote_row
from eval.scoring.records import Confusion, Counts, Measure, Miss, Outcome, Row, Unit, ratio

KINDS = (
    "reply",
    "attribution",
    "quote",
    "forward_header",
    "forward_body",
    "signoff",
    "signature",
    "disclaimer",
    "list_footer",
    "banner",
    "device_line",
)
_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD, 0x200E, 0x200F])
_REMOVED = {"signature_policy": "removed", "signoff_policy": "removed", "forward_policy": "removed"}
_UNSCORED = "*"
_MINORITY = 5  # a kind with a fifth of a line's characters is right for it as well
_SHOWN_LINES = 12


class Line(NamedTuple):
    """A line that is not blank: its words, the kind of most of its characters, further kinds."""

    words: str
    kind: str | None
    also: frozenset[str]


def probe_row(row: Row) -> Row:
    """Return what the stage is given: the text with every policy at `removed`."""
    return {**dequote_row({**row, "input": text_of(row)}), **_REMOVED}


def text_of(row: Row) -> str:
    """Return the text that the zones of a row point into."""
    return str(row["text"] if "text" in row else row["input"])


def _f1_of(kind: str) -> Measure:
    def value(counts: Counts) -> float | None:
        return kind_figures(counts, kind)[2]

    return Measure(f"f1_{kind}", f"F1 {kind}", value, shown=False)


def _macro(counts: Counts) -> float | None:
    found = [f1 for kind in KINDS if (f1 := kind_figures(counts, kind)[2]) is not None]
    return sum(found) / len(found) if found else None


def kind_figures(counts: Counts, kind: str) -> tuple[float | None, float | None, float | None]:
    """Return precision, recall and F1 of the lines of one kind; None where no line is of that kind."""
    lines = counts.get(f"lines:{kind}", 0.0)
    if not lines:
        return None, None, None
    said = counts.get(f"said:{kind}", 0.0)
    recall = counts.get(f"hit:{kind}", 0.0) / lines
    precision = counts.get(f"good:{kind}", 0.0) / said if said else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def _any_loss(counts: Counts) -> float | None:
    return counts.get("any_loss", 0.0) / counts["mails"] if counts.get("mails") else None


MEASURES: tuple[Measure, ...] = (
    Measure("lost", "lines lost", ratio("lost", "keep"), better="lower"),
    Measure("exact", "exact", ratio("exact", "mails"), share=("exact", "mails")),
    Measure("left", "lines left", ratio("left", "junk"), better="lower"),
    Measure("any_loss", "any loss", _any_loss, better="lower", share=("any_loss", "mails")),
    Measure("macro_f1", "macro F1", _macro),
    *(_f1_of(kind) for kind in KINDS),
)


def score_zones(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome; rows whose answer failed keep nothing and name no kinds."""
    units, misses = [], []
    confused: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts, wrong, pairs = _compare(row, answers.get(row["id"], {}))
        confused.update(pairs)
        language, suite = (
            row.get("lang"),
            next((row[key] for key in ("suite", "corpus", "layout") if row.get(key)), None),
        )
        units.append(
            Unit(id=row["id"], counts=counts, language=language, suite=suite, cluster=row.get("group"))
        )
        if wrong:
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{counts['lost']:.0f} lines lost, {counts['left']:.0f} left over",
                    weight=3 * counts["lost"] + counts["left"],
                    difference=_shown(wrong),
                    language=language,
                    suite=suite,
                )
            )
    return Outcome(units=units, misses=misses, confusions=[_confusion(confused)] if confused else [])


def _compare(
    row: Row, answer: Mapping[str, Any]
) -> tuple[dict[str, float], list[tuple[str, str]], Counter[tuple[str, str]]]:
    gold = labelled_lines(text_of(row), row["zones"])
    words = [line.words for line in gold]
    clean = [_words(line) for line in str(answer.get("clean") or "").split("\n") if line.strip()]
    kept = [place is not None for place in places_of(words, clean)]
    said = _said_kinds(words, answer)
    counts: Counter[str] = Counter(mails=1)
    wrong: list[tuple[str, str]] = []
    confused: Counter[tuple[str, str]] = Counter()
    for number, line in enumerate(gold):
        if _UNSCORED in line.also:
            continue
        accepted = line.also | {line.kind or ""}
        if "reply" not in accepted or len(accepted) == 1:
            stays = line.kind == "reply"
            counts["keep" if stays else "junk"] += 1
            if stays != kept[number]:
                counts["lost" if stays else "left"] += 1
                wrong.append(("-" if stays else "+", line.words))
        if said is not None:
            found = said[number] or "missing"
            right = found in accepted
            counts[f"lines:{line.kind}"] += 1
            counts[f"said:{found}"] += 1
            if right:
                counts[f"hit:{line.kind}"] += 1
                counts[f"good:{found}"] += 1
            confused[line.kind or "", line.kind or "" if right else found] += 1
    counts["lost"] += 0  # every figure of every unit is there
    counts["left"] += 0
    counts["exact"] = int(not wrong)
    counts["any_loss"] = int(counts["lost"] > 0)
    return {key: float(value) for key, value in counts.items()}, wrong, confused


def _said_kinds(words: list[str], answer: Mapping[str, Any]) -> list[str | None] | None:
    """Return for each gold line the kind that the answer's segments give it; None without segments."""
    if answer.get("segments") is None or answer.get("text") is None:
        return None
    lines = labelled_lines(answer["text"], answer["segments"])
    places = places_of(words, [line.words for line in lines])
    return [None if place is None else lines[place].kind for place in places]


def labelled_lines(text: str, spans: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Return the lines of `text` that are not blank, with the kinds of the spans that cover them."""
    ordered = sorted(spans, key=lambda span: int(span["start"]))
    lines: list[Line] = []
    start = first = 0
    for raw in text.split("\n"):
        end = start + len(raw)
        if raw.strip():
            while first < len(ordered) and ordered[first]["end"] <= start:
                first += 1
            lines.append(_line_of(text, start, end, ordered, first))
        start = end + 1
    return lines


def _line_of(text: str, start: int, end: int, spans: Sequence[Mapping[str, Any]], first: int) -> Line:
    weights: Counter[str] = Counter()
    also: dict[str, set[str]] = {}
    for number in range(first, len(spans)):
        span = spans[number]
        if span["start"] >= end:
            break
        inside = text[max(start, span["start"]) : min(end, span["end"])]
        if seen := len("".join(inside.split())):
            weights[span["kind"]] += seen
            also.setdefault(span["kind"], set()).update(span.get("alt") or ())
    words = _words(text[start:end])
    if not weights:
        return Line(words, None, frozenset())
    kind = weights.most_common(1)[0][0]
    whole = weights.total()
    minor = {other for other, n in weights.items() if other != kind and n * _MINORITY >= whole}
    return Line(words, kind, frozenset(also[kind] | minor))


def _words(line: str) -> str:
    plain = unicodedata.normalize("NFKC", line).translate(_INVISIBLE)
    return re.sub(r"\s+", " ", plain).strip()


def places_of(lines: list[str], others: list[str]) -> list[int | None]:
    """Return for each line its place among `others`, in order; None where it is not there."""
    if lines == others:
        return list(range(len(lines)))
    places: list[int | None] = [None] * len(lines)
    matcher = difflib.SequenceMatcher(None, lines, others, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            places[a:b] = range(c, d)
        elif tag == "replace":
            begin = c
            for number in range(a, b):
                for place in range(begin, d):
                    if _near(lines[number], others[place]):
                        places[number], begin = place, place
                        break
    return places


def _near(line: str, other: str) -> bool:
    """Return whether one line is the other, wrapped or trimmed."""
    if not line or not other:
        return False
    return line in other or (len(other) > 12 and 2 * len(other) > len(line) and other in line)


def _shown(wrong: list[tuple[str, str]]) -> list[tuple[str, str]]:
    rows = [(mark, words[:160] + "\n") for mark, words in wrong[:_SHOWN_LINES]]
    more = len(wrong) - _SHOWN_LINES
    return [*rows, ("=", f"… and {more} more lines")] if more > 0 else rows


def _confusion(confused: Counter[tuple[str, str]]) -> Confusion:
    seen = {kind for pair in confused for kind in pair}
    labels = [kind for kind in KINDS if kind in seen] + sorted(seen - set(KINDS))
    rows = [[confused[one, other] for other in labels] for one in labels]
    return Confusion(title="kind of line", labels=labels, rows=rows)
