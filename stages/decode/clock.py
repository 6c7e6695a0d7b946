"""Times as mail writes them: RFC 5322, its obsolete forms, and what clients make of it in many languages."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from importlib.resources import files

from models.message import Repair

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
# RFC 5322 §4.3 and the names that clients write in spite of it; minutes east of UTC.
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "met": 60, "cest": 120,
    "mest": 120, "mez": 60, "mesz": 120, "eet": 120, "eest": 180, "trt": 180, "msk": 180, "msd": 240,
    "ist": 330, "ict": 420, "wib": 420, "hkt": 480, "sgt": 480, "pht": 480, "awst": 480, "jst": 540, "kst": 540,
    "aest": 600, "aedt": 660, "acst": 570, "nzst": 720, "nzdt": 780, "brt": -180, "art": -180, "clt": -240,
    "ast": -240, "adt": -180, "nst": -210, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420,
    "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600,
}  # fmt: skip
_USUAL = re.compile(
    r"\s{0,9}(?:[A-Za-z]{3},)?\s{0,3}(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d)"
    r" ([+-])(\d\d)(\d\d)(?:\s{0,3}\(|\s{0,9}$)"
)
_HALF = r"[AaPp]\.?[Mm]\b\.?|上午|早上|凌晨|午前|下午|晚上|中午|午後|오전|오후|ص|م"
_TIME = re.compile(
    rf"({_HALF})?\s{{0,3}}(?<![\d:])(\d{{1,2}})\s?[:.時时시点點]\s?(\d{{1,2}})"
    rf"(?:\s?[:.分분]\s?(\d{{1,2}})(?:[.,]\d{{1,9}})?)?[分분]?\s?[秒초]?(?![\d:])\s{{0,3}}({_HALF})?"
)
_OFFSET = re.compile(r"\s{0,9}(?:GMT|UTC|UT)?\s{0,3}([+-])-?(\d{1,2})(?::?(\d{2}))?(?!\d)", re.IGNORECASE)
_ZONE_NAME = re.compile(r"\s{0,9}([A-Za-z]{1,5})(?![A-Za-z])")
_DAY_MONTH = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.º|º|\.)?[\s.,/-]{0,4}(?:de |of |tháng )?"
    r"([^\W\d_]{3,14}|\d{1,2} ?月|[一二三四五六七八九十]{1,2}月)"
    r"\.?[\s.,/-]{0,4}(?:de |del |г\. ?)?(\d{2,4})(?![\d:])"
)
_MONTH_DAY = re.compile(r"(?<![^\W\d_])([^\W\d_]{3,14})\.?\s{1,4}(\d{1,2})(?:st|nd|rd|th)?(?![\d:])")
_YEAR = re.compile(r"(?<![\d:+-])(\d{4})(?![\d:])")
_ISO = re.compile(r"(?<!\d)(\d{4})\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})[日일.]?(?!\d)")
_YEAR_MONTH = re.compile(
    r"(?<!\d)(\d{4})[\s.,-]{1,3}([^\W\d_]{3,14}|[一二三四五六七八九十]{1,2}月)\.?[\s.,-]{1,3}(\d{1,2})(?![\d:])"
)
_NUMERIC = re.compile(r"(?<![\d:])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\d:])")
_VIETNAMESE = re.compile(r"\bth(?:áng|g)\s{0,2}(\d{1,2})\b")
_MAX_CHARS = 300


def parse_date(text: str, repairs: list[Repair] | None = None) -> datetime | None:
    """Return the aware time that a Date-like value names, with its own offset; None if it names none.

    Reads RFC 5322 with its obsolete forms, asctime, ISO 8601, names of months in over twenty languages and
    East Asian orders. A missing or unknown zone is read as UTC and noted in `repairs`; of an all-numeric
    date, day and month are told apart only where one is over twelve or dots say that the day comes first.
    """
    usual = _USUAL.match(text)
    if usual is not None and usual[2].lower() in _MONTHS:
        return _usual_date(usual)
    text = _plain(text[:_MAX_CHARS])
    day = _calendar_day(text)
    if day is None:
        return None
    year, month, number, rest = day
    clock = _TIME.search(rest)
    hour = minute = second = 0
    if clock is not None:
        hour, minute, second = int(clock[2]), int(clock[3]), min(int(clock[4] or 0), 59)
        half = _half_of(clock[1] or clock[5] or "")
        if half is not None and hour <= 12:
            hour = hour % 12 + half
    offset = _offset(rest[clock.end() :] if clock else "", repairs)
    try:
        return datetime(year, month, number, hour, minute, second, tzinfo=timezone(timedelta(minutes=offset)))
    except ValueError:
        return None


def _usual_date(found: re.Match[str]) -> datetime | None:
    """Return the time of a date as RFC 5322 wants it, which nearly all are."""
    month = _MONTHS[found[2].lower()]
    hours, minutes = int(found[8]), int(found[9])
    offset = (hours * 60 + minutes) * (-1 if found[7] == "-" else 1) if hours < 24 and minutes < 60 else 0
    try:
        return datetime(
            int(found[3]), month, int(found[1]), int(found[4]), int(found[5]), min(int(found[6]), 59),
            tzinfo=timezone(timedelta(minutes=offset)),
        )  # fmt: skip
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _pack() -> tuple[dict[str, int], dict[str, int]]:
    """Return month numbers by folded name, and what to add to the hour by the name of the half day."""
    pack = tomllib.loads(files("stages.decode").joinpath("packs/months.toml").read_text("utf-8"))
    months: dict[str, int] = {}
    for language, names in pack["months"].items():
        if language == "vi":
            continue  # a number behind a word, read by its own pattern
        for number, forms in enumerate(names, start=1):
            for form in forms.split():
                months.setdefault(form, number)
    halves = dict.fromkeys(pack["halves"]["morning"], 0) | dict.fromkeys(pack["halves"]["afternoon"], 12)
    return months, halves


def _half_of(sign: str) -> int | None:
    if not sign:
        return None
    if sign[0] in "AaPp":
        return 12 if sign[0] in "Pp" else 0
    return _pack()[1].get(sign)


def month_of(name: str) -> int | None:
    """Return the month that a name in any of the known languages stands for, None if it is none."""
    folded = name.casefold().replace("i̇", "i").strip(". ")
    known = _MONTHS.get(folded[:3]) if folded.isascii() and folded[:3] in _MONTHS else None
    months, _ = _pack()
    if folded in months:
        return months[folded]
    if folded.endswith("月") and folded[:-1].strip().isdigit():
        number = int(folded[:-1])
        return number if 1 <= number <= 12 else None
    return known


def _plain(text: str) -> str:
    """Return `text` with comments dropped, digits and signs of all widths made plain, and no marks of direction."""
    text = _without_comments(text)
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return "".join(
        str(unicodedata.decimal(c))
        if c.isdecimal() and c > "9"
        else " "
        if unicodedata.category(c) == "Cf"
        else c
        for c in text
    )


def _calendar_day(text: str) -> tuple[int, int, int, str] | None:
    """Return year, month, day, and the text that the time is to be looked for in."""
    iso = _ISO.search(text)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3]), _around(text, iso, iso_time=True)
    if "th" in text:
        text = _VIETNAMESE.sub(lambda found: _ENGLISH[int(found[1]) % 13], text)
    for found in _YEAR_MONTH.finditer(text):
        month = month_of(found[2])
        if month is not None:
            return int(found[1]), month, int(found[3]), _around(text, found)
    for found in _DAY_MONTH.finditer(text):
        month = month_of(found[2])
        if month is not None:
            return _full_year(found[3]), month, int(found[1]), _around(text, found)
    for found in _MONTH_DAY.finditer(text):
        month = month_of(found[1])
        year = _YEAR.search(text, found.end())
        if month is not None and year is not None:
            return int(year[1]), month, int(found[2]), text[found.end() :]
    return _numeric_day(text)


_ENGLISH = ("", *(name for name in _MONTHS))


def _numeric_day(text: str) -> tuple[int, int, int, str] | None:
    """Return the day of an all-numeric date whose order is certain."""
    found = _NUMERIC.search(text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[3])
    if first > 12 >= second or found[2] == "." or first == second:
        day, month = first, second
    elif second > 12 >= first:
        day, month = second, first
    else:
        return None
    return int(found[4]), month, day, _around(text, found)


def _around(text: str, found: re.Match[str], *, iso_time: bool = False) -> str:
    """Return the text behind the day, where the time stands, or all but the day if it stands in front."""
    rest = text[found.end() :]
    if iso_time:
        rest = " " + rest[1:] if rest[:1] in {"T", "t"} else rest
    return rest if _TIME.search(rest) else text[: found.start()] + " " + rest


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
        hours, minutes = int(numeric[2]), int(numeric[3] or 0)
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
