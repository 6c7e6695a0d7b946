"""The message's own date, its transport receipts, and the doubt between the two."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from models.base import Record
from models.message import Ambiguity, DateCandidate, Repair
from stages.decode.clock import parse_date
from stages.decode.headers import Headers
from stages.decode.words import decoded_text

SKEW = timedelta(hours=48)  # beyond it one of Date and receipt is wrong: relays and clocks stay well inside
_CST = re.compile(r"\bCST\b")  # Chicago's or China's: the receipts tell
_CHINA = timezone(timedelta(hours=8))
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
    written = decoded_text(given)
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
