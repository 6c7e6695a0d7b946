"""The convergence harness knows the product only by its command, so its list of crash points is its own."""

from __future__ import annotations

from typing import get_args

from eval.arena import POINTS
from storage.faults import Point


def test_the_harness_kills_at_every_named_point_of_the_product() -> None:
    assert get_args(Point) == POINTS
