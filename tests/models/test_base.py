"""Hashes and times that everything else rests on: equal values give equal bytes, times sort as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.base import content_hash, digest, pack, parse_time, utc_key
from models.message import Address

aware = st.datetimes(timezones=st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m))))


def test_the_hash_of_bytes_names_its_kind() -> None:
    empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert content_hash(b"") == f"blake3:{empty}"


def test_equal_values_pack_to_equal_bytes_whatever_the_order_of_their_keys() -> None:
    one, two = {"b": 1, "a": [Address(name="x")]}, {"a": [Address(name="x")], "b": 1}
    assert pack(one) == pack(two)
    assert digest(one) == digest(two)


def test_a_digest_tells_its_values_apart() -> None:
    values = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        (["a", "bc"],),
        ("a", "bc", None),
        ("a", b"bc"),
        (1,),
        ("1",),
    ]
    found = {digest(*value) for value in values}
    assert len(found) == len(values)
    assert all(len(one) == 32 and int(one, 16) >= 0 for one in found)


@pytest.mark.parametrize(
    ("iso", "key"),
    [
        ("2026-03-05T14:20:11+08:00", "2026-03-05T06:20:11Z"),
        ("2026-03-05T06:20:11.987654Z", "2026-03-05T06:20:11Z"),
        ("2026-03-05T06:20:11", "2026-03-05T06:20:11Z"),
        ("2026-03-05", "2026-03-05T00:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"),
        ("0099-01-01T00:00:00+00:00", "0099-01-01T00:00:00Z"),
        (None, None),
    ],
)
def test_the_sortable_time_of_a_time(iso: str | None, key: str | None) -> None:
    assert utc_key(iso) == key


def test_a_time_without_offset_is_read_as_utc() -> None:
    assert parse_time("2026-03-05T06:20:11") == datetime(2026, 3, 5, 6, 20, 11, tzinfo=UTC)


@given(aware, aware)
def test_sortable_times_sort_as_the_moments_do(one: datetime, two: datetime) -> None:
    first, second = utc_key(one.isoformat()), utc_key(two.isoformat())
    assert first is not None
    assert second is not None
    try:
        moments = [moment.astimezone(UTC).replace(microsecond=0) for moment in (one, two)]
    except OverflowError:
        return  # beyond the first or last year
    assert (first < second) == (moments[0] < moments[1])
    assert len(first) == len(second) == 20
