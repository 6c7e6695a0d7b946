"""Calendar: resolvers that turn the named groups of a date rule into days.

Each resolver takes the values of a match and the reference day (the sent day in the sender's own offset)
and returns a `Found`, or None where the words make no date. Weeks run Monday to Sunday; a period resolves
to its last day and carries its first; an absent year is the one that lies nearest within -90 to +275 days.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

Values = Mapping[str, "float | str"]


class Found(NamedTuple):
    """First and last day; `period` says that both count, else they are equal. `sure` is the confidence."""

    first: date
    last: date
    period: bool = False
    sure: float = 1.0
    bare: bool = False  # a weekday or a day of the month that a neighbouring date may absorb or complete


def whole(values: Values, name: str) -> int | None:
    """Return the whole number of a group, None where it is absent or no number."""
    value = values.get(name)
    return int(value) if isinstance(value, (int, float)) else None


def make_day(year: int, month: int, day: int) -> date | None:
    """Return the day, None where the calendar has no such day."""
    if not (1 <= year <= 9998 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return date(year, month, day)


def add_days(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def add_months(day: date, months: int) -> date | None:
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    if not 1 <= year <= 9998:
        return None
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def nearest_year(month: int, day: int, ref: date) -> date | None:
    """Return month and day in the year that lies within -90 to +275 days of `ref`."""
    options = [
        found for year in (ref.year - 1, ref.year, ref.year + 1) if (found := make_day(year, month, day))
    ]
    for option in options:
        if -90 <= (option - ref).days <= 275:
            return option
    return min(options, key=lambda option: abs((option - ref).days), default=None)


def full_year(year: int) -> int:
    return year + 2000 if year < 70 else year + 1900 if year < 100 else year


def year_of(values: Values, ref: date) -> int | None:
    """Return the year that the words name: written, in an era, or relative to this one."""
    shift, year, era = whole(values, "year_shift"), whole(values, "year"), whole(values, "era")
    if shift is not None:
        return ref.year + shift
    if year is None:
        return None
    return era + year if era is not None else full_year(year)


def one(day: date | None, sure: float = 1.0, *, bare: bool = False) -> Found | None:
    return Found(day, day, False, sure, bare) if day else None


def span(first: date | None, last: date | None, sure: float = 1.0) -> Found | None:
    return Found(first, last, True, sure) if first and last and first <= last else None


def ymd(values: Values, ref: date) -> Found | None:
    """A day by month and day, with or without a year; `day2` (and `month2`) make it a range."""
    year, month, day = year_of(values, ref), whole(values, "month"), whole(values, "day")
    shift = whole(values, "month_shift")
    if day is None:
        return None
    sure = 1.0 if year is not None else 0.9
    if shift is not None:
        moved = add_months(ref.replace(day=1), shift)
        first = make_day(moved.year, moved.month, day) if moved else None
    elif month is None:
        return None
    else:
        if month > 12 >= day:  # a part over 12 decides the order of a slash date
            month, day = day, month
        first = make_day(year, month, day) if year is not None else nearest_year(month, day, ref)
    day2 = whole(values, "day2")
    if first is None or day2 is None:
        return one(first, sure)
    month2, year2 = whole(values, "month2") or first.month, whole(values, "year2") or first.year
    if month2 > 12 >= day2:
        month2, day2 = day2, month2
    last = make_day(full_year(year2), month2, day2)
    if last and last < first:
        last = make_day(last.year + 1, month2, day2)
    return span(first, last, sure) if last != first else one(first, sure)


def month_slice(first: date, name: str | None, sure: float = 1.0) -> Found | None:
    """A month or the part of it that `name` tells (begin, early, mid, late, end, first to third ten days)."""
    last = first.replace(day=calendar.monthrange(first.year, first.month)[1])
    if name in ("begin", "end", "mid"):
        return one(first if name == "begin" else last if name == "end" else first.replace(day=15), sure)
    parts = {
        "early": (first, first.replace(day=10)),
        "middle": (first.replace(day=11), first.replace(day=20)),
        "late": (first.replace(day=21), last),
        "week1": (first, first.replace(day=7)),
    }
    return span(*parts.get(name or "", (first, last)), sure)


def month(values: Values, ref: date) -> Found | None:
    """A named or relative month, or a part of it."""
    name, number, shift = values.get("slice"), whole(values, "month"), whole(values, "month_shift")
    year = year_of(values, ref)
    if number is not None and 1 <= number <= 12:
        near = make_day(year, number, 1) if year is not None else nearest_year(number, 15, ref)
    else:
        near = add_months(ref.replace(day=1), shift or 0)
    return month_slice(near.replace(day=1), str(name) if name else None, 0.9) if near else None


def week(values: Values, ref: date) -> Found | None:
    """A calendar week, its weekend, a part of it, or a weekday in it."""
    monday = add_days(ref, 7 * (whole(values, "week_shift") or 0) - ref.weekday())
    if monday is None:
        return None
    day, day2, name = whole(values, "weekday"), whole(values, "weekday2"), values.get("slice")
    if day is not None and day2 is not None and day2 > day:
        return span(add_days(monday, day), add_days(monday, day2), 0.9)
    if day is not None:
        return one(add_days(monday, day), 0.95)
    if name == "end":
        return one(add_days(monday, 4), 0.85)
    parts = {"early": (0, 2), "begin": (0, 2), "mid": (1, 3), "late": (3, 4), "weekend": (5, 6)}
    first, last = parts.get(str(name), (0, 6))
    return span(add_days(monday, first), add_days(monday, last), 0.9)


def weekday(values: Values, ref: date) -> Found | None:
    """A bare weekday: the next such day strictly after the sent day; `past` takes the latest before it."""
    day, day2 = whole(values, "weekday"), whole(values, "weekday2")
    if day is None:
        return None
    if whole(values, "past") is not None:
        return one(add_days(ref, -((ref.weekday() - day) % 7 or 7)), 0.9)
    first = add_days(ref, (day - ref.weekday()) % 7 or 7)
    if first and day2 is not None:
        return span(first, add_days(first, (day2 - day) % 7), 0.85)
    return one(first, 0.9, bare=True)


def day(values: Values, ref: date) -> Found | None:
    """Today, tomorrow, 大后天 …: days away from the sent day."""
    shift = whole(values, "day_shift")
    return one(add_days(ref, shift), 0.98) if shift is not None else None


def nth(values: Values, ref: date) -> Found | None:
    """A day without a month ("on the 9th"): the next such day."""
    number = whole(values, "day")
    if number is None or not 1 <= number <= 31:
        return None
    first: date | None = ref.replace(day=1)
    for _ in range(3):
        if first is None:
            return None
        found = make_day(first.year, first.month, number)
        if found and found >= ref:
            return one(found, 0.8, bare=True)
        first = add_months(first, 1)
    return None


def offset(values: Values, ref: date) -> Found | None:
    """N days, weeks, months or years after (`sign` -1: before) the sent day or the weekday named."""
    number, unit, sign = whole(values, "number"), values.get("unit"), whole(values, "sign") or 1
    if number is None or number > 3000:
        return None
    start: date | None = ref
    if whole(values, "weekday") is not None:
        near = weekday({"weekday": values["weekday"]}, ref)
        start = near.first if near else None
    if start is None:
        return None
    if unit == "workday":
        return one(add_workdays(start, number * sign), 0.9)
    if unit == "day":
        return one(add_days(start, number * sign), 0.9)
    if unit == "week":
        return one(add_days(start, 7 * number * sign), 0.9)
    return one(add_months(start, number * sign * (12 if unit == "year" else 1)), 0.85)


def add_workdays(start: date, number: int) -> date | None:
    """Return the Nth Monday-Friday after `start` (before it for a negative number); holidays count as days."""
    current: date | None = start
    left = min(abs(number), 1000)
    while current and left:
        current = add_days(current, 1 if number > 0 else -1)
        left -= bool(current and current.weekday() < 5)
    return current


def quarter(values: Values, ref: date) -> Found | None:
    """A quarter by number or relative to this one; `slice` end is its last day."""
    number, shift, year = whole(values, "quarter"), whole(values, "quarter_shift"), year_of(values, ref)
    if number is None:
        index = ref.year * 4 + (ref.month - 1) // 3 + (shift or 0)
        year, number = index // 4, index % 4 + 1
    if not 1 <= number <= 4:
        return None
    first = make_day(year if year is not None else ref.year, number * 3 - 2, 1)
    after = add_months(first, 3) if first else None
    last = add_days(after, -1) if after else None
    if values.get("slice") in ("end", "begin"):
        return one(last if values["slice"] == "end" else first, 0.9)
    return span(first, last, 0.9)


def half(values: Values, ref: date) -> Found | None:
    """The first or second half of a year."""
    number, year = whole(values, "half"), year_of(values, ref)
    year = ref.year if year is None else year
    if values.get("slice") == "end":
        return one(make_day(year, 6, 30) if number == 1 else make_day(year, 12, 31), 0.9)
    if number == 1:
        return span(make_day(year, 1, 1), make_day(year, 6, 30), 0.9)
    return span(make_day(year, 7, 1), make_day(year, 12, 31), 0.9)


def year(values: Values, ref: date) -> Found | None:
    """A calendar year, or its first or last day."""
    number = year_of(values, ref)
    number = ref.year if number is None else number
    if values.get("slice") == "end":
        return one(make_day(number, 12, 31), 0.9)
    if values.get("slice") == "begin":
        return one(make_day(number, 1, 1), 0.9)
    return span(make_day(number, 1, 1), make_day(number, 12, 31), 0.9)


def following(values: Values, ref: date) -> Found | None:
    """翌日, 翌週, "the following week": counted from `ref`, which the caller sets to the date before it."""
    unit = values.get("unit")
    if unit == "day":
        return one(add_days(ref, 1), 0.8)
    if unit == "week":
        return week({"week_shift": 1}, ref)
    return month({"month_shift": 1}, ref)


Resolver = Callable[[Values, date], Found | None]
RESOLVERS: dict[str, Resolver] = {
    "ymd": ymd, "month": month, "week": week, "weekday": weekday, "day": day, "nth": nth, "offset": offset,
    "quarter": quarter, "half": half, "year": year, "following": following,
}  # fmt: skip
ABSOLUTE = frozenset(
    {"ymd", "month", "quarter", "half", "year"}
)  # may stand without a sent day if the year is written
