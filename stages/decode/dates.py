"""The message's own date, its transport receipts, and the doubt between the two."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from models.base import Record
from models.message import Ambiguity, DateCandidate, Repair
from stages.decode.headers import Headers

SKEW = timedelta(hours=48)  # beyond it one of Date and receipt is wrong: relays and clocks stay well inside
_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
# RFC 5322 §4.3 and the names that clients write in spite of it; minutes east of UTC.
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "met": 60, "cest": 120,
    "mest": 120, "eet": 120, "eest": 180, "msk": 180, "msd": 240, "ist": 330, "hkt": 480, "sgt": 480,
    "jst": 540, "kst": 540, "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780, "est": -300, "edt": -240,
    "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "hst": -600,
}  # fmt: skip
_CST = re.compile(r"\bCST\b")  # Chicago's or China's: the receipts tell
_CHINA = timezone(timedelta(hours=8))
_USUAL = re.compile(
    r"\s{0,9}(?:[A-Za-z]{3},)?\s{0,3}(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d)"
    r" ([+-])(\d\d)(\d\d)(?:\s{0,3}\(|\s{0,9}$)"
)
_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?(?![\d:])\s{0,3}([AaPp]\.?[Mm]\b)?"
)
_OFFSET = re.compile(r"\s{0,9}(?:GMT|UTC|UT)?\s{0,3}([+-])-?(\d{2}):?(\d{2})(?!\d)", re.IGNORECASE)
_ZONE_NAME = re.compile(r"\s{0,9}([A-Za-z]{1,5})(?![A-Za-z])")
_DAY_MONTH = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?[\s.,/-]{1,4}([A-Za-z]{3,9})\.?[\s.,/-]{1,4}(\d{2,4})(?![\d:])"
)
_MONTH_DAY = re.compile(r"(?<![A-Za-z])([A-Za-z]{3,9})\.?\s{1,4}(\d{1,2})(?![\d:])")
_YEAR = re.compile(r"(?<![\d:+-])(\d{4})(?![\d:])")
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_MAX_CHARS = 300
_MAX_RECEIVED = 200


class Dates(Record):
    """Times are ISO 8601 with offset; `method` names what `sent_at` rests on, or what could stand for it."""

    sent_at: str | None = None
    received_at: str | None = None
    received_count: int = 0
    method: str = "none"
    ambiguities: list[Ambiguity] = []
    repairs: list[Repair] = []


def resolve_dates(headers: Headers) -> Dates:
    """Return Date, the earliest parseable Received, and at most one ambiguity about them.

    An anchor more than 48 hours off, a missing or an unreadable Date, and no evidence at all are told as
    ambiguities; the clock of this machine is never asked.
    """
    repairs: list[Repair] = []
    given = headers.get("date")
    written = given.decode("utf-8", "replace").strip() if given else ""
    sent = parse_date(written, repairs) if written else None
    received = headers.all("received")
    earliest = _earliest(received)
    if sent is not None and earliest is not None and _CST.search(written):
        sent = min(sent, sent.replace(tzinfo=_CHINA), key=lambda moment: abs(moment - earliest))
    dates = Dates(
        sent_at=sent.isoformat() if sent else None,
        received_at=earliest.isoformat() if earliest else None,
        received_count=len(received),
        method="date_header" if sent else "received" if earliest else "none",
        repairs=repairs,
    )
    doubt = _doubt(sent, earliest, has_date=bool(written))
    if doubt is not None:
        dates.ambiguities.append(doubt)
    return dates


def _doubt(sent: datetime | None, earliest: datetime | None, *, has_date: bool) -> Ambiguity | None:
    if sent is not None:
        if earliest is None or abs(sent - earliest) <= SKEW:
            return None
        return Ambiguity(
            kind="conflicting_dates",
            candidates=[_candidate(sent, "Date header"), _candidate(earliest, "earliest transport receipt")],
            detector_confidence=0.8,
            applied_candidate_confidence=0.6,
        )
    if earliest is None:
        return Ambiguity(
            kind="undated",
            candidates=[DateCandidate(label="No date evidence in message headers")],
            detector_confidence=0.9,
            applied_candidate_confidence=0.0,
        )
    return Ambiguity(
        kind="low_confidence_extraction" if has_date else "undated",
        candidates=[_candidate(earliest, "earliest transport receipt")],
        detector_confidence=0.85,
        applied_candidate_confidence=0.7,
    )


def _candidate(moment: datetime, source: str) -> DateCandidate:
    return DateCandidate(label=f"{moment.isoformat()} ({source})", valid_from=moment.isoformat())


def _earliest(received: list[bytes]) -> datetime | None:
    moments = []
    for value in received[-_MAX_RECEIVED:]:  # the oldest stand last
        _, semicolon, tail = value.rpartition(b";")
        moment = parse_date(tail.decode("utf-8", "replace")) if semicolon else None
        if moment is not None:
            moments.append(moment)
    return min(moments, default=None)


def parse_date(text: str, repairs: list[Repair] | None = None) -> datetime | None:
    """Return the aware time that a Date-like value names, with its own offset; None if it names none.

    Reads RFC 5322 with its obsolete forms, asctime and ISO 8601. A missing or unknown zone is read as UTC
    and noted in `repairs`; all-numeric day/month orders are not guessed.
    """
    usual = _USUAL.match(text)
    if usual is not None:
        return _usual_date(usual)
    text = _without_comments(text[:_MAX_CHARS])
    day = _calendar_day(text)
    if day is None:
        return None
    year, month, number, rest = day
    clock = _TIME.search(rest)
    hour = minute = second = 0
    if clock is not None:
        hour, minute, second = int(clock[1]), int(clock[2]), min(int(clock[3] or 0), 59)
        if clock[4]:
            hour = hour % 12 + (12 if clock[4][0] in "Pp" else 0)
    offset = _offset(rest[clock.end() :] if clock else "", repairs)
    try:
        return datetime(year, month, number, hour, minute, second, tzinfo=timezone(timedelta(minutes=offset)))
    except ValueError:
        return None


def _usual_date(found: re.Match[str]) -> datetime | None:
    """Return the time of a date as RFC 5322 wants it, which nearly all are."""
    month = _MONTHS.get(found[2].lower())
    hours, minutes = int(found[8]), int(found[9])
    if month is None:
        return None
    offset = (hours * 60 + minutes) * (-1 if found[7] == "-" else 1) if hours < 24 and minutes < 60 else 0
    try:
        return datetime(
            int(found[3]), month, int(found[1]), int(found[4]), int(found[5]), min(int(found[6]), 59),
            tzinfo=timezone(timedelta(minutes=offset)),
        )  # fmt: skip
    except ValueError:
        return None


def _calendar_day(text: str) -> tuple[int, int, int, str] | None:
    """Return year, month, day, and the text that the time is to be looked for in."""
    iso = _ISO.search(text)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3]), text[iso.end() :].replace("T", " ", 1)
    for found in _DAY_MONTH.finditer(text):
        month = _MONTHS.get(found[2][:3].lower())
        if month is not None:
            rest = text[found.end() :]
            return _full_year(found[3]), month, int(found[1]), rest if _TIME.search(rest) else text
    for found in _MONTH_DAY.finditer(text):
        month = _MONTHS.get(found[1][:3].lower())
        year = _YEAR.search(text, found.end())
        if month is not None and year is not None:
            rest = text[found.end() :]
            return int(year[1]), month, int(found[2]), rest
    return None


def _full_year(digits: str) -> int:
    """Return the year of RFC 5322 §4.3: two digits are 2000-2049 or 1950-1999, three count from 1900."""
    year = int(digits)
    if len(digits) == 2:
        return year + (2000 if year < 50 else 1900)
    return year + 1900 if len(digits) == 3 else year


def _offset(text: str, repairs: list[Repair] | None) -> int:
    """Return minutes east of UTC of what follows the time."""
    if re.match(r"\s{1,3}\d{4}\b", text):  # asctime: the year stands between time and zone
        text = text.lstrip()[4:]
    numeric = _OFFSET.match(text)
    if numeric:
        hours, minutes = int(numeric[2]), int(numeric[3])
        if hours < 24 and minutes < 60:
            return (hours * 60 + minutes) * (-1 if numeric[1] == "-" else 1)
        _note(repairs, f"offset {numeric[0].strip()} read as UTC")
        return 0
    name = _ZONE_NAME.match(text)
    if name is None:
        _note(repairs, "no time zone, read as UTC")
        return 0
    minutes_east = _ZONES.get(name[1].lower())
    if minutes_east is None:
        _note(repairs, f"zone {name[1]} read as UTC")
        return 0
    return minutes_east


def _note(repairs: list[Repair] | None, detail: str) -> None:
    if repairs is not None:
        repairs.append(Repair(kind="date_zone", detail=detail))


def _without_comments(text: str) -> str:
    if "(" not in text:
        return text
    out: list[str] = []
    depth = 0
    for char in text:
        if char == "(":
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        elif not depth:
            out.append(char)
    return "".join(out)
