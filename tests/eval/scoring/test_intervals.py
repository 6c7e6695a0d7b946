"""Intervals hold what they should, tests see real changes and only those, and nothing depends on chance."""

from __future__ import annotations

import random

import pytest

from eval.scoring.intervals import change_of, mcnemar, scores_of, wilson
from eval.scoring.records import Measure, Unit, ratio

RIGHT = Measure("right", "right", ratio("right", "mails"), share=("right", "mails"))
WORDS = Measure("lost", "lost", ratio("lost", "words"), better="lower")


def units(shares: list[float], **more: str) -> list[Unit]:
    return [
        Unit(
            id=str(number),
            counts={"right": share, "mails": 1.0, "lost": 10 * (1 - share), "words": 10.0},
            **more,
        )
        for number, share in enumerate(shares)
    ]


def test_wilson_gives_the_textbook_interval() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_drawn_interval_holds_the_figure_and_shrinks_with_more_mail() -> None:
    chance = random.Random(1)
    many = units([float(chance.random() < 0.8) for _ in range(400)])
    wide = scores_of(many[:40], [WORDS])[0]
    narrow = scores_of(many, [WORDS])[0]
    assert wide.low is not None and wide.high is not None and wide.value is not None
    assert narrow.low is not None and narrow.high is not None and narrow.value is not None
    assert wide.low < wide.value < wide.high
    assert narrow.high - narrow.low < (wide.high - wide.low) / 2
    assert scores_of(many, [WORDS]) == scores_of(many, [WORDS])


def test_mails_of_one_cluster_count_as_one_draw() -> None:
    shares = [1.0] * 50 + [0.0] * 50
    alone = scores_of(units(shares), [RIGHT])[0]
    together = [
        Unit(id=unit.id, counts=unit.counts, cluster=str(int(unit.id) // 25)) for unit in units(shares)
    ]
    clustered = scores_of(together, [RIGHT])[0]
    assert alone.low is not None and clustered.low is not None
    assert clustered.low < alone.low


def test_a_perfect_figure_over_few_mails_is_not_certain() -> None:
    score = scores_of(units([1.0] * 10), [WORDS])[0]
    assert (score.value, score.low) == (0.0, 0.0)
    assert score.high is not None and 0.2 < score.high < 0.35


def test_mcnemar_is_exact() -> None:
    assert mcnemar(0, 6) == pytest.approx(0.03125)
    assert mcnemar(3, 3) == 1.0


def test_a_real_change_is_seen_and_a_small_one_is_not() -> None:
    before = units([0.0] * 20 + [1.0] * 80)
    better = units([1.0] * 12 + [0.0] * 8 + [1.0] * 80)
    little = units([1.0] + [0.0] * 19 + [1.0] * 80)
    for measure in (RIGHT, WORDS):
        seen = change_of(before, better, measure)
        assert seen is not None and seen.significant
        unseen = change_of(before, little, measure)
        assert unseen is not None and not unseen.significant
        same = change_of(before, before, measure)
        assert same is not None and same.p == 1.0


def test_only_units_of_both_runs_are_compared() -> None:
    change = change_of(units([0.0, 0.0]), [*units([1.0, 1.0]), *units([0.0] * 30)[2:]], RIGHT)
    assert change is not None
    assert (change.units, change.before, change.after) == (2, 0.0, 1.0)
    assert change_of([], units([1.0]), RIGHT) is None
