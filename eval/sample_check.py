"""What a run made of the sample mailbox, beside the values that were written by hand for each mail.

`compare_sample` reads both from disk (`NNN-slug.json` beside a mail; `extracted/` of a state folder) and
returns one `Figure` per field: how much agrees, and the mails where it does not, worst first. Nothing is run.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from models.base import Record, parse_time
from models.email import Email

Found = TypeVar("Found")
_ELSEWHERE = "mention, not in the headers"


class Amount(Record):
    text: str
    value: float
    value_max: float | None
    currency: str | None
    approx: bool


class Attachment(Record):
    filename: str | None
    mime: str
    inline: bool


class Date(Record):
    text: str
    iso: str
    iso_start: str | None
    grain: str


class Person(Record):
    name: str | None
    email: str | None
    internal: bool
    role: str


class Expected(Record):
    """The hand-written values of one mail; what they mean stands in `eval/sample/README.md`."""

    outcome: str
    quarantine_kind: str | None
    thread: str | None
    clean: str | None
    clean_also: list[str]
    language: str | None
    category: str | None
    people: list[Person]
    dates: list[Date]
    amounts: list[Amount]
    customer: str | None
    keywords: list[str]
    intent: str | None
    intent_also: list[str]
    secondary: list[str]
    actions: list[str]
    attachments: list[Attachment]
    is_forward: bool
    note: str


class Miss(Record):
    """One mail where a field differs; `weight` orders the misses (more is worse)."""

    mail: str
    expected: str
    found: str
    weight: float = 1.0


class Figure(Record):
    """How far one field agrees.

    `right` of `expected` values were found, among `found` values that the run gave. `share` is right by
    expected for fields with one value per mail, the F1 of recall and precision for lists and thread pairs.
    """

    field: str
    measure: str
    right: int
    expected: int
    found: int
    share: float
    misses: list[Miss]

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0


class Pair(Record):
    """One mail: its path in the mailbox, the values written by hand, and its record (None: there is none)."""

    mail: str
    expected: Expected
    email: Email | None


def read_expected(mailbox: Path) -> dict[str, Expected]:
    """Return path in the mailbox → hand-written values, for every mail of `mailbox`."""
    answers = {}
    for path in sorted(mailbox.rglob("*.eml")):
        name = path.relative_to(mailbox).as_posix()
        answers[name] = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=Expected)
    return answers


def read_emails(state: Path) -> list[Email]:
    """Return the Emails under `extracted/` of a state folder, in order of their paths."""
    paths = sorted(path for path in (state / "extracted").glob("*/*/*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Email) for path in paths]


def pair_up(expected: dict[str, Expected], emails: Iterable[Email]) -> list[Pair]:
    """Return one pair for each mail that should have a record of its own."""
    by_place = {place.uid: email for email in emails for place in email.locations}
    return [
        Pair(mail=name, expected=answer, email=by_place.get(name))
        for name, answer in expected.items()
        if answer.outcome == "written"
    ]


def compare_sample(mailbox: Path, state: Path) -> list[Figure]:
    """Return the figures of every compared field, in the order of the Email's own fields."""
    return compare(pair_up(read_expected(mailbox), read_emails(state)))


def compare(pairs: Sequence[Pair]) -> list[Figure]:
    """Return the figures of `pairs`; a mail without a record counts as wrong in every field."""
    return [
        _clean(pairs),
        _threads(pairs),
        _equal("language", pairs, lambda a: a.language, lambda e: e.language),
        _equal("category", pairs, lambda a: a.category, lambda e: e.category),
        _listed("header people", pairs, _expected_header, _found_header, _same_header),
        _listed("people in the text", pairs, _expected_mentions, _found_mentions, _same_mention),
        _listed("dates", pairs, lambda a: a.dates, _found_dates, _same_date),
        _listed("amounts", pairs, lambda a: a.amounts, _found_amounts, _same_amount),
        _equal("customer", pairs, lambda a: a.customer, lambda e: e.entities.customer_id_candidate),
        _keywords(pairs),
        _listed("actions", pairs, lambda a: a.actions, lambda e: e.entities.actions, lambda a, b: a == b),
        _intent(pairs),
        _listed("attachments", pairs, lambda a: a.attachments, _found_attachments, lambda a, b: a == b),
        _equal("is_forward", pairs, lambda a: a.is_forward, lambda e: e.is_forward),
    ]


# ---- one value per mail -----------------------------------------------------------------------------


def _clean(pairs: Sequence[Pair]) -> Figure:
    right, misses = 0, []
    for pair in pairs:
        readings = [pair.expected.clean or "", *pair.expected.clean_also]
        got = pair.email.body_text_clean if pair.email else ""
        if pair.email and without_space(got) in {without_space(text) for text in readings}:
            right += 1
            continue
        near = max(readings, key=lambda text: _likeness(text, got))
        weight = 1 - _likeness(near, got)
        misses.append(Miss(mail=pair.mail, expected=_lost(near, got), found=_lost(got, near), weight=weight))
    return _single("clean text", "exact but for white space", right, len(pairs), misses)


def _lost(text: str, other: str) -> str:
    """Return the lines of `text` that `other` does not have."""
    known = {without_space(line) for line in other.splitlines()}
    lines = [line.strip() for line in text.splitlines() if without_space(line) not in known]
    return " / ".join(lines) if lines else "(nothing more)"


def _equal(
    field: str,
    pairs: Sequence[Pair],
    expected_of: Callable[[Expected], Any],
    found_of: Callable[[Email], Any],
) -> Figure:
    right, misses = 0, []
    for pair in pairs:
        expected = expected_of(pair.expected)
        if pair.email and found_of(pair.email) == expected:
            right += 1
        else:
            got = str(found_of(pair.email)) if pair.email else "no record"
            misses.append(Miss(mail=pair.mail, expected=str(expected), found=got))
    return _single(field, "equal", right, len(pairs), misses)


def _intent(pairs: Sequence[Pair]) -> Figure:
    right, misses = 0, []
    for pair in pairs:
        fine = [pair.expected.intent or "", *pair.expected.intent_also]
        if pair.email and pair.email.intent.primary in fine:
            right += 1
            continue
        got, weight = "no record", 2.0
        if pair.email:
            intent = pair.email.intent
            thought = intent.ranking[0] if intent.ranking else None
            got = f"{intent.primary} ({intent.confidence:.2f})"
            if thought and thought.label != intent.primary:
                got += f", leaned to {thought.label} ({thought.p:.2f})"
            weight = 0.0 if pair.email.low_confidence else intent.confidence
        misses.append(Miss(mail=pair.mail, expected=" or ".join(fine), found=got, weight=weight))
    return _single("intent", "primary, or one as good", right, len(pairs), misses)


def _single(field: str, measure: str, right: int, count: int, misses: list[Miss]) -> Figure:
    share = right / count if count else 1.0
    return Figure(
        field=field,
        measure=measure,
        right=right,
        expected=count,
        found=count,
        share=share,
        misses=_worst_first(misses),
    )


# ---- lists ------------------------------------------------------------------------------------------


def _listed(
    field: str,
    pairs: Sequence[Pair],
    expected_of: Callable[[Expected], Sequence[Found]],
    found_of: Callable[[Email], Sequence[Found]],
    same: Callable[[Found, Found], bool],
) -> Figure:
    """Count list items that agree: each expected item takes at most one found item."""
    right = expected_count = found_count = 0
    misses = []
    for pair in pairs:
        expected = list(expected_of(pair.expected))
        found = list(found_of(pair.email)) if pair.email else []
        missing, spare = _unmatched(expected, found, same)
        right += len(expected) - len(missing)
        expected_count += len(expected)
        found_count += len(found)
        if missing or spare:
            weight = float(len(missing) + len(spare))
            misses.append(Miss(mail=pair.mail, expected=_brief(missing), found=_brief(spare), weight=weight))
    return Figure(
        field=field,
        measure="F1 of the items",
        right=right,
        expected=expected_count,
        found=found_count,
        share=_f1(right, expected_count, found_count),
        misses=_worst_first(misses),
    )


def _unmatched(
    expected: Sequence[Found], found: Sequence[Found], same: Callable[[Found, Found], bool]
) -> tuple[list[Found], list[Found]]:
    missing, spare = [], list(found)
    for item in expected:
        for number, other in enumerate(spare):
            if same(item, other):
                del spare[number]
                break
        else:
            missing.append(item)
    return missing, spare


def _expected_header(answer: Expected) -> list[Person]:
    return [person for person in answer.people if person.role != "mention"]


def _found_header(email: Email) -> list[Person]:
    return [
        Person(name=person.name, email=person.email, internal=person.internal, role=person.role)
        for person in email.entities.people
        if person.role in ("from", "to", "cc")
    ]


def _same_header(one: Person, other: Person) -> bool:
    return (one.role, one.email, one.internal) == (other.role, other.email, other.internal)


def _expected_mentions(answer: Expected) -> list[Person]:
    """Return the people of the text; those that no header of the mail names may stay without an address."""
    header = {person.email for person in answer.people if person.role != "mention"}
    return _once(
        Person(
            name=person.name,
            email=person.email,
            internal=person.internal,
            role="mention" if person.email in header else _ELSEWHERE,
        )
        for person in answer.people
        if person.role == "mention"
    )


def _found_mentions(email: Email) -> list[Person]:
    return _once(
        Person(name=person.name, email=person.email, internal=person.internal, role=person.role)
        for person in email.entities.people
        if person.role == "mention"
    )


def _once(people: Iterable[Person]) -> list[Person]:
    """Return the people once each, however often the text names them."""
    return list({person.email or _folded(person.name or ""): person for person in people}.values())


def _same_mention(one: Person, other: Person) -> bool:
    if other.email or (one.email and one.role != _ELSEWHERE):
        return one.email == other.email
    return _overlap(_folded(one.name or ""), _folded(other.name or ""))


def _found_dates(email: Email) -> list[Date]:
    return [
        Date(text=date.text, iso=date.iso, iso_start=date.iso_start, grain=date.grain)
        for date in email.entities.dates
    ]


def _same_date(one: Date, other: Date) -> bool:
    return (
        _same_moment(one.iso, other.iso)
        and _same_moment(one.iso_start, other.iso_start)
        and _overlap(without_space(one.text), without_space(other.text))
    )


def _same_moment(one: str | None, other: str | None) -> bool:
    if one and other and "T" in one and "T" in other:
        return parse_time(one) == parse_time(other)
    return one == other


def _found_amounts(email: Email) -> list[Amount]:
    return [
        Amount(text=a.text, value=a.value, value_max=a.value_max, currency=a.currency, approx=a.approx)
        for a in email.entities.amounts
    ]


def _same_amount(one: Amount, other: Amount) -> bool:
    return (one.value, one.value_max, one.currency, one.approx) == (
        other.value,
        other.value_max,
        other.currency,
        other.approx,
    )


def _found_attachments(email: Email) -> list[Attachment]:
    return [Attachment(filename=a.filename, mime=a.mime, inline=a.inline) for a in email.attachments]


def _keywords(pairs: Sequence[Pair]) -> Figure:
    """Count expected phrases that stand in one of the found ones; further phrases are no error."""
    right = count = 0
    misses = []
    for pair in pairs:
        found = pair.email.entities.project_keywords if pair.email else []
        folded = [_folded(phrase) for phrase in found]
        lost = [
            word for word in pair.expected.keywords if not any(_folded(word) in phrase for phrase in folded)
        ]
        count += len(pair.expected.keywords)
        right += len(pair.expected.keywords) - len(lost)
        if lost:
            misses.append(
                Miss(mail=pair.mail, expected=_brief(lost), found=_brief(found), weight=float(len(lost)))
            )
    return _single("keywords", "phrase is among those found", right, count, misses)


# ---- threads ----------------------------------------------------------------------------------------


def _threads(pairs: Sequence[Pair]) -> Figure:
    """Count pairs of mails that stand together, in the expected conversations and in the found threads."""
    ours = {pair.mail: pair.expected.thread or pair.mail for pair in pairs}
    theirs = {pair.mail: pair.email.thread_id if pair.email else f"none:{pair.mail}" for pair in pairs}
    cells = Counter((ours[mail], theirs[mail]) for mail in ours)
    right = sum(map(_pairs_of, cells.values()))
    expected = sum(map(_pairs_of, Counter(ours.values()).values()))
    found = sum(map(_pairs_of, Counter(theirs.values()).values()))
    by_label, by_thread = _inverted(ours), _inverted(theirs)
    misses = []
    for mail, label in ours.items():
        apart = by_label[label] - by_thread[theirs[mail]]
        wrong = by_thread[theirs[mail]] - by_label[label]
        if apart or wrong:
            misses.append(
                Miss(
                    mail=mail,
                    expected=f"with {_brief(sorted(apart))}" if apart else label,
                    found=f"with {_brief(sorted(wrong))}" if wrong else "not together",
                    weight=float(len(apart) + len(wrong)),
                )
            )
    return Figure(
        field="threads",
        measure="F1 of pairs of mails",
        right=right,
        expected=expected,
        found=found,
        share=_f1(right, expected, found),
        misses=_worst_first(misses),
    )


def _pairs_of(count: int) -> int:
    return count * (count - 1) // 2


def _inverted(groups: dict[str, str]) -> dict[str, set[str]]:
    members: dict[str, set[str]] = defaultdict(set)
    for mail, group in groups.items():
        members[group].add(mail)
    return members


# ---- text -------------------------------------------------------------------------------------------


def without_space(text: str) -> str:
    """Return `text` in NFC without any white space: lines may be wrapped anywhere."""
    return "".join(unicodedata.normalize("NFC", text).split())


def _folded(text: str) -> str:
    return without_space(unicodedata.normalize("NFKC", text)).casefold()


def _overlap(one: str, other: str) -> bool:
    return one in other or other in one


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, without_space(one), without_space(other), autojunk=False).ratio()


def _f1(right: int, expected: int, found: int) -> float:
    return 2 * right / (expected + found) if expected + found else 1.0


def _worst_first(misses: list[Miss]) -> list[Miss]:
    return sorted(misses, key=lambda miss: (-miss.weight, miss.mail))


def _brief(items: Sequence[Any]) -> str:
    return "; ".join(_words(item) for item in items) or "(nothing more)"


def _words(item: Any) -> str:
    if isinstance(item, Person):
        return f"{item.role} {item.name or ''} <{item.email or 'unknown'}>" + (
            " internal" if item.internal else ""
        )
    if isinstance(item, Date):
        return f"{item.text} = {item.iso_start + ' to ' if item.iso_start else ''}{item.iso}"
    if isinstance(item, Amount):
        top = f" to {item.value_max:g}" if item.value_max is not None else ""
        return f"{item.text} = {item.value:.10g}{top} {item.currency}{' about' if item.approx else ''}"
    if isinstance(item, Attachment):
        return f"{item.filename} {item.mime}{' inline' if item.inline else ''}"
    return str(item)
