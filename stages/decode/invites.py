"""Calendar parts (RFC 5545, RFC 5546) as events."""

from __future__ import annotations

import re
import warnings
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
    try:
        found = _components(text, method)
    except Exception as error:  # noqa: BLE001 - the library raises whatever its field parsers meet
        repairs.append(Repair(kind="calendar_unread", detail=type(error).__name__))
        found = _one_by_one(text, method)
    events = []
    for component, its_method in found:
        try:
            events.append(_event(component, its_method))
        except Exception as error:  # noqa: BLE001 - one broken event does not hide the others
            repairs.append(Repair(kind="event_unread", detail=type(error).__name__))
    return events


def _components(text: str, method: str | None) -> list[tuple[Any, Any]]:
    """Return the event components and the method of the calendar around each."""
    from icalendar import Calendar

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on guessed zone names, which are what is wanted here
        calendars = Calendar.from_ical(text, multiple=True)
    return [
        (component, calendar.get("METHOD") or method)
        for calendar in calendars
        for component in calendar.walk("VEVENT")[:_MAX_EVENTS]
    ]


_EVENT = re.compile(
    r"^BEGIN:VEVENT[ \t]*\r?$.*?^END:VEVENT[ \t]*\r?$", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_METHOD = re.compile(r"^METHOD:([A-Za-z]{1,30})", re.MULTILINE | re.IGNORECASE)


def _one_by_one(text: str, method: str | None) -> list[tuple[Any, Any]]:
    """Return the events of a calendar that is broken outside of them; the broken ones are left out."""
    said = _METHOD.search(text)
    out: list[tuple[Any, Any]] = []
    for found in _EVENT.finditer(text):
        if len(out) >= _MAX_EVENTS:
            break
        try:
            out.extend(_components(found[0] + "\r\n", said[1] if said else method))
        except Exception:  # noqa: BLE001 - told by the caller's repair
            continue
    return out


def _event(component: Any, method: Any) -> CalendarEvent:
    attendees = _get(component, "ATTENDEE") or []
    if not isinstance(attendees, list):
        attendees = [attendees]
    organizer = _get(component, "ORGANIZER")
    if isinstance(organizer, list):
        organizer = organizer[0] if organizer else None
    start = _time(component, "DTSTART")
    verb = _text(method).upper()
    status = _text(_get(component, "STATUS")).upper()
    sequence = _whole(_get(component, "SEQUENCE"))
    first = _get(component, "DTSTART")
    return CalendarEvent(
        method=verb or None,
        status=status or None,
        change=_change(verb, status, sequence),
        zone=_text(_param(first[0] if isinstance(first, list) and first else first, "TZID")) or None,
        recurrence=_rule(_get(component, "RRULE")),
        recurrence_id=_iso(_time(component, "RECURRENCE-ID")),
        uid=_text(_get(component, "UID")) or None,
        sequence=sequence,
        summary=_text(_get(component, "SUMMARY")) or None,
        start=_iso(start),
        end=_iso(_end(component, start)),
        location=_text(_get(component, "LOCATION")) or None,
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


_CHANGES = {"REPLY": "reply", "COUNTER": "counter", "DECLINECOUNTER": "counter", "PUBLISH": "published"}


def _change(method: str, status: str, sequence: int | None) -> str | None:
    """Return what the message does to the event (RFC 5546 §3.2): a request of a later sequence updates it."""
    if method == "CANCEL" or status == "CANCELLED":
        return "cancelled"
    if method == "REQUEST":
        return "updated" if sequence else "new"
    return _CHANGES.get(method)


def _rule(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None:
        return None
    written = value.to_ical()
    return one_line(written.decode("utf-8", "replace") if isinstance(written, bytes) else str(written))[:500]


def _time(component: Any, name: str) -> Any:
    value = _get(component, name)
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


def _get(component: Any, name: str) -> Any:
    """Return a property, None where it is absent or cannot be read."""
    try:
        value = component.get(name)
        if isinstance(value, list):
            value[:1]
        else:
            getattr(value, "dt", None)
    except Exception:  # noqa: BLE001 - the library keeps a broken value and raises when it is asked for
        return None
    return value


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
