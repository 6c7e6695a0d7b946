"""Dequote, whole texts: is the clean text one of the accepted ones, what was lost, what junk stayed.

Token counts are taken against the closest accepted answer, in order (longest common subsequence), so that
words moved or invented count as both lost and left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.scoring.records import Counts, Measure, Miss, Outcome, Row, Unit, ratio
from eval.scoring.text import common_length, difference, folded, input_text, tokens

_HANDED = ("lang", "from", "earlier", "signature_policy", "signoff_policy", "forward_policy")


def probe_row(row: Row) -> Row:
    """Return what the stage is given of a labelled row: the body and the row's own policies.

    A row that has `html` is given as HTML; its `input` (or `text`) is then the plain form.
    """
    given = {key: row[key] for key in _HANDED if row.get(key) is not None}
    if row.get("lang") == "und":
        del given["lang"]
    if row.get("html"):
        return {"id": row["id"], "kind": "html", "input": row["html"], **given}
    body = (
        {"input_b64": row["input_b64"]}
        if "input_b64" in row
        else {"input": row.get("input", row.get("text"))}
    )
    return {"id": row["id"], "kind": row.get("kind", "text"), **body, **given}


def _removal(wrong: str, all_of: str) -> Measure:
    def value(counts: Counts) -> float:
        return 1 - counts.get(wrong, 0.0) / (counts.get(all_of, 0.0) or 1.0)

    name, label = ("removal_precision", "removal P") if wrong == "wrong" else ("removal_recall", "removal R")
    return Measure(name, label, value, shown=False)


MEASURES: tuple[Measure, ...] = (
    Measure("lost", "content lost", ratio("lost", "expected"), better="lower"),
    Measure("exact", "exact", ratio("exact", "mails"), share=("exact", "mails")),
    Measure("left", "junk left", ratio("left", "output"), better="lower"),
    Measure("strict", "strict", ratio("strict", "mails"), share=("strict", "mails"), shown=False),
    Measure("forward", "forward seen", ratio("forward_right", "forward"), share=("forward_right", "forward")),
    _removal("wrong", "removed"),
    _removal("kept_junk", "should_go"),
)


def score_dequote(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome; a row without an answer counts as empty output."""
    units, misses = [], []
    for row in rows:
        clean = str(answers.get(row["id"], {}).get("clean") or "")
        given = probe_row(row)
        accepted = [row["expected_clean"], *row.get("also_ok", [])]
        counts, nearest = compare_clean(given, accepted, clean)
        if "is_forward" in row:
            told = answers.get(row["id"], {}).get("is_forward")
            counts |= {"forward": 1.0, "forward_right": float(told == row["is_forward"])}
        language, suite = row.get("lang"), row.get("suite") or row.get("layout")
        units.append(
            Unit(
                id=row["id"],
                counts=counts,
                language=language,
                suite=suite,
                cluster=row.get("group"),
            )
        )
        if not counts["exact"]:
            misses.append(
                Miss(
                    id=row["id"],
                    what=f"{counts['lost']:.0f} words lost, {counts['left']:.0f} left over",
                    weight=3 * counts["lost"] + counts["left"],
                    difference=difference(nearest, clean),
                    language=language,
                    suite=suite,
                )
            )
    return Outcome(units=units, misses=misses)


def compare_clean(given: Row, accepted: Sequence[str], clean: str) -> tuple[dict[str, float], str]:
    """Return the counts of one clean text, and the accepted answer that is closest to it.

    `given` is the probe's row: texts that come from HTML or a whole mail are compared without white space.
    """
    tight = given["kind"] != "text"
    answer = folded(clean, tight=tight)
    same = [folded(text, tight=tight) == answer for text in accepted]
    before, output = tokens(input_text(given)), tokens(clean)
    best: tuple[int, int, list[str], str] | None = None
    for text in accepted:
        words = tokens(text)
        common = common_length(words, output)
        distance = len(words) + len(output) - 2 * common
        if best is None or distance < best[0]:
            best = distance, common, words, text
    assert best is not None
    _, common, words, nearest = best
    lost, left = len(words) - common, len(output) - common
    removed, should_go = max(0, len(before) - len(output)), max(0, len(before) - len(words))
    counts = {
        "mails": 1.0,
        "exact": float(any(same)),
        "strict": float(same[0]),
        "expected": float(len(words)),
        "lost": float(lost),
        "output": float(len(output)),
        "left": float(left),
        "removed": float(removed),
        "wrong": float(min(removed, lost)),
        "should_go": float(should_go),
        "kept_junk": float(min(should_go, left)),
    }
    return counts, nearest
