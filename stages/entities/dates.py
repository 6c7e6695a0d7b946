"""Dates: neighbouring atoms joined into one mention each, written in ISO 8601 in the sender's own offset."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import NamedTuple

from models.message import DateMention
from stages.entities.calendar import RESOLVERS, Found
from stages.entities.date_rules import Atom, scan

# What may stand between a day, a part of the day and a clock that belong together.
_GLUE = re.compile(
    r"T(?=\d)|[ \t\u00a0\u3000]?[,，、(（]?[ \t\u00a0\u3000]?"
    r"(?:(?:at|on|the|in the|around|about|by|of|from|before|from about|的|の|に)(?![A-Za-z]))?[ \t\u00a0\u3000]?"
)
_RANGE = re.compile(
    r"[ \t\u00a0]?(?:[)）])?[ \t\u00a0]?(?:-|–|—|~|～|〜|－|to|through|thru|until|till|至|到|から|より|and)[ \t\u00a0]?"
)
_TAIL = re.compile(
    r"[ \u00a0]?[（(](?:(?:周|週|星期|礼拜|禮拜)?[一二三四五六日天]|[月火水木金土日](?:曜日?)?(?:・祝)?"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?)[)）]",
    re.IGNORECASE,
)
_PART_WORDS = {
    "pm": re.compile(
        r"tonight|evening|afternoon|night|今晚|今夜|明晚|昨晚|昨夜|今夕|今晩|明晩|昨晩", re.IGNORECASE
    ),
    "am": re.compile(r"morning|今早|今晨|明早|明晨|今朝|明朝", re.IGNORECASE),
}
# Minutes east of UTC; a pair is (standard, summer).
_ZONES: dict[str, tuple[int, int]] = {
    "UTC": (0, 0), "GMT": (0, 0), "JST": (540, 540), "KST": (540, 540), "CST": (480, 480), "HKT": (480, 480),
    "SGT": (480, 480), "IST": (330, 330), "EST": (-300, -300), "EDT": (-240, -240), "ET": (-300, -240),
    "PST": (-480, -480), "PDT": (-420, -420), "PT": (-480, -420), "CET": (60, 60), "CEST": (120, 120),
    "BST": (60, 60),
}  # fmt: skip


class Clock(NamedTuple):
    hour: int
    minute: int
    part: str | None
    zone: str | None
    guess: bool


def find_dates(text: str, sent: str | None, zone: str) -> list[DateMention]:
    """Return the dates of `text` in order. `sent` is ISO 8601 (its own offset counts; without one, `zone`)."""
    moment = _moment(sent, zone)
    atoms = scan(text, moment.date() if moment else None)
    offset = moment.tzinfo if moment else _zone(zone)
    mentions: list[DateMention] = []
    anchor = moment.date() if moment else None
    index = 0
    while index < len(atoms):
        index, mention, anchor = _join(text, atoms, index, anchor, offset)
        if mention is not None:
            mentions.append(mention)
    return mentions


def _moment(sent: str | None, zone: str) -> datetime | None:
    if not sent:
        return None
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=_zone(zone))


@cache
def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        return UTC


def _join(
    text: str, atoms: list[Atom], index: int, anchor: date | None, offset: tzinfo | None
) -> tuple[int, DateMention | None, date | None]:
    """Return the next index, the mention that starts at `index` (None: no date), and the new anchor day."""
    first = atoms[index]
    clock: Clock | None = None
    part: str | None = None
    start, end, head = first.start, first.end, index + 1
    if first.kind != "date":  # "3pm on Friday", "the morning of June 5"
        clock, part = (_clock(first, None), None) if first.kind == "clock" else (None, first.part)
        while (
            head < len(atoms) and atoms[head].kind == "clock" and _gap(_RANGE, text, end, atoms[head].start)
        ):
            end, head = atoms[head].end, head + 1
        if (
            clock is None
            and head < len(atoms)
            and atoms[head].kind == "clock"
            and _gap(_GLUE, text, end, atoms[head].start)
        ):
            clock, end, head = _clock(atoms[head], first.part), atoms[head].end, head + 1
        follows = (
            head < len(atoms) and atoms[head].kind == "date" and _gap(_GLUE, text, end, atoms[head].start)
        )
        if not follows or text[end : atoms[head].start].strip(" ,") not in ("", "on", "of", "の"):
            return head, _lone_clock(text, start, end, clock, anchor, offset), anchor
        first, end, head = atoms[head], atoms[head].end, head + 1
    found = _found(first, anchor)
    if found is None:
        return head, None, anchor
    lead = clock is not None
    part = part or next(
        (name for name, words in _PART_WORDS.items() if words.search(text[first.start : first.end])), None
    )
    rule = first.rule
    while True:
        tail = _TAIL.match(text, end)
        if tail:
            end = tail.end()
            while head < len(atoms) and atoms[head].start < end:
                head += 1
        if head >= len(atoms):
            break
        other = atoms[head]
        if other.kind == "date":
            joined = _join_dates(text, found, other, end)
            if joined is None:
                break
            found, rule = joined, rule if not found.bare else other.rule
        elif not _gap(_GLUE, text, end, other.start):
            if not (other.kind == "clock" and clock and _gap(_RANGE, text, end, other.start)):
                break
        elif (
            other.kind == "part" and part is None and (clock is None or _tells(text, clock, end, other, lead))
        ):
            part = other.part
        elif other.kind == "part" and clock is None and part == other.part:
            pass
        elif other.kind == "clock" and clock is None and not found.period:
            clock = _clock(other, part)
        else:
            break
        end, head = _closed(text, end, other.start, other.end), head + 1
    if clock is None and part in ("noon", "midnight") and not found.period and not rule.startswith("day"):
        clock = Clock(12 if part == "noon" else 0, 0, part, None, True) if part == "noon" else None
    elif clock is not None and clock.part is None and part:
        clock = _with_part(clock, part)
    return head, _mention(text, start, end, found, clock, rule, offset), found.last


def _lone_clock(
    text: str, start: int, end: int, clock: Clock | None, anchor: date | None, offset: tzinfo | None
) -> DateMention | None:
    """Return a clock without a day: it is read on the day named before it, else on the sent day."""
    if clock is None or clock.part is None or anchor is None:
        return None
    return _mention(text, start, end, Found(anchor, anchor, False, 0.6), clock, "clock", offset)


def _gap(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    return end - start <= 12 and pattern.fullmatch(text, start, end) is not None


def _closed(text: str, end: int, start: int, stop: int) -> int:
    """Return `stop`, one further where the gap opened a bracket that closes right after."""
    opened = any(char in "(（" for char in text[end:start])
    return stop + 1 if opened and text[stop : stop + 1] in (")", "）") else stop


def _tells(text: str, clock: Clock, end: int, part: Atom, lead: bool) -> bool:
    """Return whether a part of the day after a clock tells its half: "at 9 tomorrow morning", "at 8 in the evening".

    "10:00, afternoon free" names another time: the clock stands after its day, and nothing leads to the part.
    """
    gap = text[end : part.start].strip()
    return (
        clock.part is None
        and (clock.guess or clock.hour <= 12)
        and (gap in ("in the", "at") or (lead and not gap))
    )


def _found(atom: Atom, anchor: date | None) -> Found | None:
    if atom.follows is not None:
        return RESOLVERS["following"]({"unit": atom.follows}, anchor) if anchor else None
    return atom.found


def _join_dates(text: str, found: Found, other: Atom, end: int) -> Found | None:
    """Return the joined days of two neighbouring dates, or None where they are two dates."""
    second = other.found
    if second is None:
        return None
    if _gap(_GLUE, text, end, other.start):
        gap = text[end : other.start].strip()
        if gap not in ("", ",", "，", "(", "（", "the", "の", ", the", "、"):
            return None
        weekday = "weekday" in other.rule
        if gap in ("(", "（") and not second.period and found.first <= second.first <= found.last:
            return found if found.period else second
        if second.bare and weekday and not found.bare and not found.period:
            return found if found.first.weekday() == second.first.weekday() or gap in ("(", "（") else None
        if found.bare and not second.period and not weekday and gap != "、":
            return second
        return None
    if _gap(_RANGE, text, end, other.start) and not second.period and "and" not in text[end : other.start]:
        last = second.first
        if second.bare and last < found.first:
            last += timedelta(days=7)
        if found.first < last:
            return Found(found.first, last, True, min(found.sure, second.sure))
    return None


def _clock(atom: Atom, part: str | None) -> Clock:
    clock = Clock(atom.hour, atom.minute, atom.part, atom.zone, False)
    if atom.part or part:
        return _with_part(clock, atom.part or part or "")
    if 1 <= atom.hour <= 6 and atom.rule in ("en.clock_at", "zh.clock", "ja.clock"):
        return clock._replace(hour=atom.hour + 12, guess=True)  # office hours: 5点前 is the afternoon
    return clock


def _with_part(clock: Clock, part: str) -> Clock:
    hour = clock.hour - 12 if clock.guess else clock.hour
    if part == "pm" and hour < 12:
        hour += 12
    elif part == "am" and hour == 12:
        hour = 0
    elif part == "noon" and hour < 6:
        hour += 12
    return Clock(hour, clock.minute, part, clock.zone, False)


def _mention(
    text: str, start: int, end: int, found: Found, clock: Clock | None, rule: str, offset: tzinfo | None
) -> DateMention:
    if clock is not None and not found.period:
        day, hour = found.first, clock.hour
        if hour == 24:
            day, hour = day + timedelta(days=1), 0
        moment = datetime(day.year, day.month, day.day, hour, clock.minute)
        zone = _named_zone(clock.zone, day) if clock.zone else offset
        iso = moment.replace(tzinfo=_fixed(moment, zone)).isoformat()
        sure = round(found.sure * (0.8 if clock.guess else 1.0), 2)
        return DateMention(
            text=text[start:end], start=start, end=end, iso=iso, grain="minute", confidence=sure, rule=rule
        )
    return DateMention(
        text=text[start:end],
        start=start,
        end=end,
        iso=found.last.isoformat(),
        iso_start=found.first.isoformat() if found.period else None,
        grain="range" if found.period else "day",
        confidence=found.sure,
        rule=rule,
    )


def _fixed(moment: datetime, zone: tzinfo | None) -> timezone:
    shift = moment.replace(tzinfo=zone).utcoffset() if zone else None
    return timezone(shift or timedelta(0))


def _named_zone(name: str, day: date) -> tzinfo:
    """Return the fixed offset of a zone's short name; summer time is the second Sunday of March to the first
    of November (US Energy Policy Act of 2005), which decides ET and PT only."""
    standard, summer = _ZONES[name]
    march, november = date(day.year, 3, 8), date(day.year, 11, 1)
    begin = march + timedelta(days=(6 - march.weekday()) % 7)
    finish = november + timedelta(days=(6 - november.weekday()) % 7)
    return timezone(timedelta(minutes=summer if begin <= day < finish else standard))
