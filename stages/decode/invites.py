"""Calendar parts (RFC 5545, RFC 5546) as events."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from models.message import Attendee, CalendarEvent, Repair
from stages.decode.charset import decode_text
from stages.decode.part import Part
from stages.decode.words import one_line

_FOLD = re.compile(rb"\r?\n[ \t]")  # undone before the charset: some clients fold inside a character
_FRAME = re.compile(rb"^(?:BEGIN|END):[A-Za-z-]{1,40}[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_ZONE_OFFSET = re.compile(r"\((?:UTC|GMT)([+-])(\d\d):(\d\d)\)")
_MAX_BYTES = 400_000
_MAX_EVENTS = 100
_MAX_ATTENDEES = 500


def read_events(parts: list[Part], repairs: list[Repair]) -> list[CalendarEvent]:
    """Return the events of the calendar parts, each (method, uid, sequence, start) once, in order.

    A part that cannot be read is a repair: the message goes on without its events.
    """
    events: dict[tuple[str | None, str | None, int | None, str | None], CalendarEvent] = {}
    for part in parts:
        data = part.payload()
        if len(data) > _MAX_BYTES:
            repairs.append(Repair(kind="calendar_unread", detail="over 400 kB"))
            continue
        data = _closed(_FOLD.sub(b"", data))
        text = decode_text(data, part.params.get("charset") or "utf-8").text
        for event in _events(text, part.params.get("method"), repairs):
            key = (event.method, event.uid, event.sequence, event.start)
            if len(events) < _MAX_EVENTS:
                events.setdefault(key, event)
    return list(events.values())


def _closed(data: bytes) -> bytes:
    """Return calendar data with the END lines that a cut message lost."""
    opened = [line.strip().upper() for line in _FRAME.findall(data)]
    stack: list[bytes] = []
    for line in opened:
        verb, _, name = line.partition(b":")
        if verb == b"BEGIN":
            stack.append(name)
        elif stack and stack[-1] == name:
            stack.pop()
        else:
            return data  # not a matter of a missing end
    if not stack or len(stack) > _MAX_EVENTS:
        return data
    return data.rstrip() + b"".join(b"\r\nEND:" + name for name in reversed(stack)) + b"\r\n"


def _events(text: str, method: str | None, repairs: list[Repair]) -> list[CalendarEvent]:
    from icalendar import Calendar

    try:
        calendars = Calendar.from_ical(text, multiple=True)
        return [
            _event(component, calendar.get("METHOD") or method)
            for calendar in calendars
            for component in calendar.walk("VEVENT")[:_MAX_EVENTS]
        ]
    except Exception as error:  # noqa: BLE001 - the library raises whatever its field parsers meet
        repairs.append(Repair(kind="calendar_unread", detail=type(error).__name__))
        return []


def _event(component: Any, method: Any) -> CalendarEvent:
    attendees = component.get("ATTENDEE") or []
    if not isinstance(attendees, list):
        attendees = [attendees]
    organizer = component.get("ORGANIZER")
    if isinstance(organizer, list):
        organizer = organizer[0] if organizer else None
    start = _time(component, "DTSTART")
    return CalendarEvent(
        method=_text(method).upper() or None,
        uid=_text(component.get("UID")) or None,
        sequence=_whole(component.get("SEQUENCE")),
        summary=_text(component.get("SUMMARY")) or None,
        start=_iso(start),
        end=_iso(_end(component, start)),
        location=_text(component.get("LOCATION")) or None,
        organizer=_address(organizer) or None,
        attendees=[
            Attendee(
                name=_text(_param(attendee, "CN")),
                email=_address(attendee),
                partstat=_text(_param(attendee, "PARTSTAT")).upper() or None,
            )
            for attendee in attendees[:_MAX_ATTENDEES]
        ],
    )


def _time(component: Any, name: str) -> Any:
    value = component.get(name)
    if isinstance(value, list):
        value = value[0] if value else None
    moment = getattr(value, "dt", None)
    if isinstance(moment, datetime) and moment.tzinfo is None:
        # Windows display names, "(UTC+08:00) Beijing, …", hold their standard offset
        named = _ZONE_OFFSET.match(str(_param(value, "TZID") or "").strip('"'))
        if named is not None:
            minutes = (int(named[2]) * 60 + int(named[3])) * (-1 if named[1] == "-" else 1)
            moment = moment.replace(tzinfo=timezone(timedelta(minutes=minutes))) if minutes < 1440 else moment
    return moment


def _end(component: Any, start: Any) -> Any:
    end = _time(component, "DTEND")
    if end is not None or start is None:
        return end
    duration = _time(component, "DURATION")
    try:
        return None if duration is None else start + duration
    except (TypeError, OverflowError):
        return None


def _iso(value: Any) -> str | None:
    """Return ISO 8601 of a date or time; a floating time stays without offset."""
    if isinstance(value, datetime):
        if value.tzinfo is not None and value.utcoffset() is None:
            value = value.replace(tzinfo=UTC)
        return str(value.isoformat())
    return date.isoformat(value) if isinstance(value, date) else None


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if value is None else one_line(str(value))


def _whole(value: Any) -> int | None:
    try:
        return int(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def _param(value: Any, name: str) -> Any:
    params = getattr(value, "params", None)
    return None if params is None else params.get(name)


def _address(value: Any) -> str:
    text = _text(value)
    return (text[7:] if text[:7].lower() == "mailto:" else text).strip().casefold()
