"""What a run is asked to do: bounds at the edge of the calendar, sources that are none."""

from __future__ import annotations

from datetime import date

import pytest

from flows.request import RunRequest, name_sources
from models.errors import UsageError


def test_the_last_day_of_the_calendar_bounds_nothing() -> None:
    request = RunRequest(sources={}, since=date.min, until=date.max)
    assert all(request.covers(utc) for utc in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", None))


def test_both_bounds_are_whole_days() -> None:
    request = RunRequest(sources={}, since=date(2026, 1, 2), until=date(2026, 1, 3))
    asked = ("2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z", "2026-01-03T23:59:59Z", "2026-01-04T00:00:00Z")
    assert [request.covers(utc) for utc in asked] == [False, True, True, False]


@pytest.mark.parametrize("path", ["", "/" + "x" * 5000, "/" + "x/" * 5000])
def test_a_source_that_no_system_has_is_a_usage_error(path: str) -> None:
    with pytest.raises(UsageError, match="source") as refused:
        name_sources([path], None)
    assert refused.value.remedy
