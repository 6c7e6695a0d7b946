"""The balance of a run: every message that was seen stands in exactly one count, or the run says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.batch import Unreadable
from models.report import Report

PARTS = ("written", "unchanged", "duplicate", "quarantined", "pending")


def report(**values: Any) -> Report:
    """Return a balanced report unless `seen` is given."""
    made = Report(run_id="run", started_at="2026-03-02T09:00:00+00:00", **values)
    if "seen" not in values:
        made.seen = sum(getattr(made, part) for part in PARTS)
    made.balance()
    return made


LOST = [Unreadable(path="INBOX/3.eml", reason="vanished")]


@pytest.mark.parametrize(
    ("values", "balanced", "code"),
    [
        ({}, True, 0),
        ({"written": 3, "unchanged": 2, "duplicate": 1}, True, 0),
        ({"written": 3, "rewritten": 9, "provisional": 2}, True, 0),
        ({"written": 3, "quarantined": 1}, True, 1),
        ({"written": 3, "quarantined": 2, "dismissed": 1}, True, 1),
        ({"written": 3, "quarantined": 2, "dismissed": 2}, True, 0),
        ({"written": 3, "unreadable": LOST}, True, 1),
        ({"written": 3, "pending": 1}, True, 2),
        ({"written": 3, "pending": 1, "quarantined": 1}, True, 2),
        ({"written": 3, "stopped": "disk full"}, True, 2),
        ({"written": 3, "stopped": "a defect", "defect": True}, True, 1),
        ({"seen": 4, "written": 3}, False, 1),
        ({"seen": 2, "written": 3}, False, 1),
        ({"seen": 4, "written": 3, "stopped": "disk full"}, False, 1),
        ({"seen": 5, "written": 3, "pending": 1}, False, 1),
    ],
)
def test_the_exit_code_follows_from_the_counts(values: dict[str, Any], balanced: bool, code: int) -> None:
    made = report(**values)
    assert (made.balanced, made.exit_code) == (balanced, code)


@given(st.fixed_dictionaries(dict.fromkeys(PARTS, st.integers(0, 99))), st.integers(-3, 3))
def test_a_report_is_balanced_exactly_when_the_parts_make_the_whole(parts: dict[str, int], off: int) -> None:
    made = report(seen=sum(parts.values()) + off, **parts)
    assert made.balanced == (off == 0)
    if off:
        assert made.exit_code == 1
    assert (made.exit_code == 0) == (made.balanced and not parts["quarantined"] and not parts["pending"])


def test_balancing_again_forgets_what_was_true_before() -> None:
    made = report(seen=4, written=3)
    assert (made.balanced, made.exit_code) == (False, 1)
    made.written = 4
    made.balance()
    assert (made.balanced, made.exit_code) == (True, 0)
