"""Thread: does each mail sit with the mails that people would put it with, and with no others?

A unit is one labelled conversation. Pairs that a thread wrongly puts together count half for each of the two
conversations, so that the sums over units are the figures over all mail.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from eval.scoring.records import Counts, Measure, Miss, Outcome, Row, Unit, f1, ratio
from eval.scoring.text import clipped

_HANDED = (
    "message_id",
    "in_reply_to",
    "references",
    "subject",
    "from",
    "to",
    "cc",
    "date",
    "thread_index",
    "thread_topic",
    "mailbox",
    "body_head",
    "provider_thread_id",
    "category",
    "list_id",
    "auto_reply",
)
LOST_SHARE = 0.3
_COPY = "~"  # `x~b` is the copy of `x` in a second mailbox
_SHOWN_MAILS = 6


def probe_row(row: Row) -> Row:
    """Return what the stage is given: never the answer, nor the list that the row came from."""
    return {"id": row["id"], **{key: row[key] for key in _HANDED if key in row}}


def arrival_order(rows: Sequence[Row]) -> list[Row]:
    """Return the rows by date: labelled files stand in the order of their answers."""
    return sorted(rows, key=lambda row: (str(row.get("date") or ""), str(row["id"])))


def without_headers(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows; 30 % of the replies, chosen by their id, lose every header that names their parent."""
    for row in rows:
        chosen = int(hashlib.sha256(f"7\x1fdrop\x1f{row['id']}".encode()).hexdigest()[:8], 16) / 2**32
        if chosen < LOST_SHARE and (row.get("in_reply_to") or row.get("references")):
            row = {**row, "in_reply_to": None, "references": [], "thread_index": None, "thread_topic": None}
        yield row


def _b3(counts: Counts) -> float | None:
    if not counts.get("mails"):
        return None
    precision, recall = counts.get("b3_p", 0.0), counts.get("b3_r", 0.0)
    whole = (precision + recall) * counts["mails"]
    return 2 * precision * recall / whole if whole else 0.0


MEASURES: tuple[Measure, ...] = (
    Measure("false", "false merges", ratio("false", "mails"), better="lower"),
    Measure("human", "human", ratio("human", "mails")),
    Measure("exact", "exact threads", ratio("exact", "several"), share=("exact", "several")),
    Measure("join", "replies joined", ratio("joined", "replies")),
    Measure("pair_f1", "pair F1", f1("pairs_right", "pairs_expected", "pairs_found")),
    Measure("pair_precision", "pair P", ratio("pairs_right", "pairs_found"), shown=False),
    Measure("pair_recall", "pair R", ratio("pairs_right", "pairs_expected"), shown=False),
    Measure("b3_f1", "B³ F1", _b3, shown=False),
    Measure(
        "exact_all",
        "exact, single mails too",
        ratio("exact_all", "one"),
        share=("exact_all", "one"),
        shown=False,
    ),
)


def score_thread(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    """Return the outcome. Mails marked `ambiguous` take no part; one without an answer counts as alone."""
    scored = [row for row in rows if not row.get("ambiguous")]
    found = {name: str(answer["thread_id"]) for name, answer in answers.items() if answer.get("thread_id")}
    gold = {row["id"]: row for row in scored}
    members = sorted(set(gold) | {name for name in found if name.partition(_COPY)[0] in gold})
    places = {
        name: (str(gold[name.partition(_COPY)[0]]["gold_thread"]), found.get(name, "missing:" + name))
        for name in members
    }
    counts = _counts(places, {name: str(gold[name.partition(_COPY)[0]].get("date", "")) for name in members})
    first: dict[str, Row] = {}
    for row in scored:
        first.setdefault(str(row["gold_thread"]), row)
    units = [
        Unit(
            id=name,
            counts=numbers,
            suite=next((first[name][key] for key in ("suite", "kind", "list") if first[name].get(key)), None),
            language=first[name].get("lang") or first[name].get("language"),
        )
        for name, numbers in sorted(counts.items())
    ]
    missing = sum(1 for name in members if name not in found)
    notes = [f"{missing} mails without an answer"] if missing else []
    skipped = len(rows) - len(scored)
    if skipped:
        notes.append(f"{skipped} mails that people could not place are not scored")
    return Outcome(units=units, misses=_misses(units, places, gold), notes=notes)


def _counts(places: Mapping[str, tuple[str, str]], dates: Mapping[str, str]) -> dict[str, dict[str, float]]:
    cells = Counter(places.values())
    size = Counter(ours for ours, _ in places.values())
    thread_size = Counter(theirs for _, theirs in places.values())
    earliest: dict[str, tuple[str, str]] = {}
    for name, (ours, _) in places.items():
        earliest[ours] = min(earliest.get(ours, (dates[name], name)), (dates[name], name))
    counts: dict[str, dict[str, float]] = {}
    for ours, number in size.items():
        counts[ours] = {
            "one": 1.0,
            "mails": float(number),
            "several": float(number > 1),
            "pairs_expected": _pairs(number),
            "replies": float(number - 1),
        }
    adding: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    matched_ours: set[str] = set()
    matched_theirs: set[str] = set()
    for (ours, theirs), number in sorted(cells.items(), key=lambda cell: (-cell[1], *cell[0])):
        others = thread_size[theirs] - number
        unit = adding[ours]
        unit["pairs_right"] += _pairs(number)
        unit["pairs_found"] += _pairs(number) + number * others / 2
        unit["b3_p"] += number * number / thread_size[theirs]
        unit["b3_r"] += number * number / size[ours]
        if others:
            unit["false"] += number
        if number == size[ours] and not others:
            unit["exact_all"] = 1
            unit["exact"] = float(number > 1)
        if ours not in matched_ours and theirs not in matched_theirs:
            matched_ours.add(ours)
            matched_theirs.add(theirs)
            unit["human"] += number
    for name, (ours, theirs) in places.items():
        if (dates[name], name) != earliest[ours] and cells[ours, theirs] > 1:
            adding[ours]["joined"] += 1
    for ours, more in adding.items():
        counts[ours].update(more)
    return counts


def _pairs(number: int) -> float:
    return number * (number - 1) / 2


def _misses(
    units: Sequence[Unit], places: Mapping[str, tuple[str, str]], gold: Mapping[str, Row]
) -> list[Miss]:
    by_ours: dict[str, list[str]] = defaultdict(list)
    by_theirs: dict[str, list[str]] = defaultdict(list)
    for name, (ours, theirs) in places.items():
        by_ours[ours].append(name)
        by_theirs[theirs].append(name)

    def subject(name: str) -> str:
        return clipped(f"{name}  {gold[name.partition(_COPY)[0]].get('subject') or '(no subject)'}") + "\n"

    misses = []
    for unit in units:
        if unit.counts.get("exact_all"):
            continue
        split = Counter(places[name][1] for name in by_ours[unit.id])
        home = split.most_common(1)[0][0]
        rows: list[tuple[str, str]] = []
        for name in by_ours[unit.id]:
            rows.append(("=" if places[name][1] == home else "-", subject(name)))
        strangers = [name for thread in split for name in by_theirs[thread] if places[name][0] != unit.id]
        rows += [("+", subject(name)) for name in strangers]
        misses.append(
            Miss(
                id=unit.id,
                what=f"{unit.counts['mails']:.0f} mails in {len(split)} threads, "
                f"{len(strangers)} mails of other conversations with them",
                weight=3 * unit.counts.get("false", 0.0) + len(split) - 1,
                difference=_trimmed(rows),
                language=unit.language,
                suite=unit.suite,
            )
        )
    return misses


def _trimmed(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a few rows of each mark, those that differ before the others."""
    shown: list[tuple[str, str]] = []
    for mark in ("=", "-", "+"):
        of_mark = [row for row in rows if row[0] == mark]
        room = 2 if mark == "=" else _SHOWN_MAILS
        shown += of_mark[:room]
        if len(of_mark) > room:
            shown.append(("=", f"… and {len(of_mark) - room} more\n"))
    return shown
