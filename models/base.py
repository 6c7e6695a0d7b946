"""The record base class and the helpers that every record shares: encoding, digests, times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from blake3 import blake3


class Record(msgspec.Struct, kw_only=True, forbid_unknown_fields=False):
    """A typed record. Absent knowledge is None or an empty list, never a missing key (CONTRACTS §1)."""


class Reference(msgspec.Struct, kw_only=True, frozen=True):
    """A typed record that cannot be changed: it passes between processes and may be a key."""


def content_hash(data: bytes) -> str:
    """Return `"blake3:<64 hex>"` of `data`."""
    return "blake3:" + blake3(data).hexdigest()


_packer = msgspec.msgpack.Encoder(order="sorted")


def pack(value: Any) -> bytes:
    """Return the canonical msgpack bytes of a record: equal values give equal bytes."""
    return _packer.encode(value)


def digest(*values: Any) -> str:
    """Return 32 hex digits over the canonical encoding of `values` (16 bytes of blake3)."""
    return blake3(_packer.encode(values)).hexdigest(length=16)


def parse_time(iso: str) -> datetime:
    """Return the aware datetime of an ISO 8601 time; one without offset is read as UTC."""
    moment = datetime.fromisoformat(iso)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def utc_key(iso: str | None) -> str | None:
    """Return `iso` as a sortable UTC time, second precision (`2026-03-05T06:20:11Z`); None stays None."""
    if iso is None:
        return None
    try:
        moment = parse_time(iso).astimezone(UTC)
    except OverflowError:  # year 1 or 9999 pushed over the edge by its offset
        moment = parse_time(iso).replace(tzinfo=UTC)
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def shift_key(key: str, hours: float) -> str:
    """Return the sortable UTC time `key` moved by some hours, held inside the years 1 to 9999."""
    try:
        moment = parse_time(key) + timedelta(hours=hours)
    except OverflowError:
        return "9999-12-31T23:59:59Z" if hours > 0 else "0001-01-01T00:00:00Z"
    return utc_key(moment.isoformat()) or key


def earliest(times: Iterable[str | None]) -> str | None:
    """Return the earliest of some ISO 8601 times of any offset, as it is written; None if there is none."""
    return min((time for time in times if time), key=lambda time: (utc_key(time) or "", time), default=None)
