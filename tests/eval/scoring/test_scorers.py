"""Each scorer counts what agrees, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from eval.sample_answers import read_expected
from eval.sample_run import MAILBOX
from eval.scoring import dequote, entities, expressions, intent, sample, shapes, thread
from eval.scoring.intervals import summed
from eval.scoring.records import Measure, Outcome

Row = dict[str, Any]


def figures(outcome: Outcome, measures: tuple[Measure, ...]) -> dict[str, float | None]:
    totals = summed(outcome.units)
    return {measure.name: measure.value(totals) for measure in measures}


# ---- dequote ----------------------------------------------------------------------------------------


def clean(expected: str, got: str, kind: str = "text", **more: Any) -> dict[str, float | None]:
    row = {"id": "a", "kind": kind, "input": "the whole text", "expected_clean": expected, **more}
    return figures(dequote.score_dequote([row], {"a": {"clean": got}}), dequote.MEASURES)


def test_white_space_is_no_difference_and_other_readings_count() -> None:
    assert clean("two lines\n\nof text", "> two  lines of\u00a0text")["exact"] == 1
    assert clean("两行的文字", "两行\n\n的 文字", kind="html")["exact"] == 1
    assert clean("两行的文字", "两行\n\n的 文字")["exact"] == 0
    other = clean("x", "two words", also_ok=["two words"])
    assert (other["exact"], other["strict"], other["lost"]) == (1, 0, 0)


def test_lost_and_left_words_are_counted_in_order() -> None:
    got = clean("one two three four", "two one three five six")
    assert got["lost"] == pytest.approx(2 / 4)  # of a swapped pair one is out of order
    assert got["left"] == pytest.approx(3 / 5)


def test_a_missing_answer_loses_everything() -> None:
    row = {"id": "a", "kind": "text", "input": "some text", "expected_clean": "some text"}
    got = figures(dequote.score_dequote([row], {}), dequote.MEASURES)
    assert (got["lost"], got["exact"]) == (1, 0)


# ---- thread -----------------------------------------------------------------------------------------


def threads(labels: str, found: str) -> Outcome:
    rows = [{"id": str(n), "gold_thread": label, "date": str(n)} for n, label in enumerate(labels)]
    return thread.score_thread(rows, {str(n): {"thread_id": name} for n, name in enumerate(found)})


def test_threads_are_compared_by_pairs_and_by_mails() -> None:
    outcome = threads("aaab", "xxyy")
    got = figures(outcome, thread.MEASURES)
    assert got["pair_precision"] == pytest.approx(1 / 2)
    assert got["pair_recall"] == pytest.approx(1 / 3)
    assert got["human"] == pytest.approx(3 / 4)  # a: the two in x; b: its one in y
    assert got["false"] == pytest.approx(2 / 4)  # both mails of y
    assert got["exact"] == 0
    assert {miss.id for miss in outcome.misses} == {"a", "b"}


def test_right_threads_are_exact_and_an_ambiguous_mail_does_not_count() -> None:
    rows: list[Row] = [{"id": str(n), "gold_thread": "a", "date": str(n)} for n in range(3)]
    rows[2]["ambiguous"] = True
    answers = {"0": {"thread_id": "x"}, "1": {"thread_id": "x"}, "2": {"thread_id": "y"}}
    got = figures(thread.score_thread(rows, answers), thread.MEASURES)
    assert (got["exact"], got["human"], got["false"]) == (1, 1, 0)


# ---- entities ---------------------------------------------------------------------------------------


def compared(row: Row, **answer: Any) -> dict[str, float]:
    return entities.compare_entities(row, answer)[0]


@pytest.mark.parametrize(
    ("found", "value", "period"),
    [
        ({"text": "by Friday", "iso": "2026-03-13"}, 1, 1),
        ({"text": "Friday", "iso": "2026-03-14"}, 0, 0),
        ({"text": "Monday", "iso": "2026-03-13"}, 0, 0),
        ({"text": "Friday", "iso": "2026-03-13", "iso_start": "2026-03-09"}, 1, 0),
    ],
)
def test_a_date_agrees_by_its_day_and_the_place_of_its_words(found: Row, value: int, period: int) -> None:
    counts = compared({"dates": [{"text": "Friday", "iso": "2026-03-13"}]}, dates=[found])
    assert (counts["dates_right"], counts["dates_full"]) == (value, period)


def test_spans_decide_over_words_where_both_have_them() -> None:
    expected = {"dates": [{"text": "Friday", "start": 0, "end": 6, "iso": "2026-03-13"}]}
    there = {"text": "Friday", "start": 40, "end": 46, "iso": "2026-03-13"}
    assert compared(expected, dates=[there])["dates_right"] == 0
    assert compared(expected, dates=[{**there, "start": 3, "end": 9}])["dates_right"] == 1


def test_a_time_agrees_in_another_offset_and_an_also_accepted_value_counts() -> None:
    expected = {"text": "3pm", "iso": "2026-03-13", "also_iso": ["2026-03-13T15:00:00+08:00"]}
    found = {"text": "3pm", "iso": "2026-03-13T07:00:00+00:00"}
    assert compared({"dates": [expected]}, dates=[found])["dates_right"] == 1


def test_items_that_nobody_expected_lower_precision_but_optional_ones_do_not() -> None:
    amounts = [{"text": f"${n}", "value": n, "value_max": None, "currency": "USD"} for n in (5, 6, 7)]
    row = {"amounts": amounts[:1], "amounts_optional": amounts[1:2]}
    counts = compared(row, amounts=amounts)
    assert [counts[f"amounts_{key}"] for key in ("expected", "right", "found")] == [1, 1, 2]


@pytest.mark.parametrize(
    ("expected", "header", "found", "same"),
    [
        ("ann@x.example", True, "ann@x.example", True),
        ("ann@x.example", True, None, False),  # who stands in the headers is known
        ("ann@x.example", False, None, True),  # known elsewhere in the mailbox only
        ("ann@x.example", False, "bob@x.example", False),
        (None, False, None, True),
        (None, False, "ann@x.example", False),
    ],
)
def test_a_person_of_the_text_agrees_by_address(
    expected: str | None, header: bool, found: str | None, same: bool
) -> None:
    people: list[Row] = [{"name": "Ann", "email": expected, "internal": False, "role": "mention"}]
    if header:
        people.append({"name": "Ann Lee", "email": expected, "internal": False, "role": "cc"})
    mention = {"name": "Ann", "email": found, "role": "mention"}
    counts = compared({"people": people}, people=[mention, mention])
    assert (counts["mention_right"], counts["mention_found"]) == (int(same), 1)


def test_what_a_row_does_not_label_is_not_scored() -> None:
    outcome = entities.score_entities(
        [{"id": "a", "dates": []}], {"a": {"dates": [], "amounts": [{"value": 1}]}}
    )
    got = figures(outcome, entities.MEASURES)
    assert got["amounts_f1"] is None and got["customer"] is None
    assert not outcome.misses


def test_actions_and_keywords() -> None:
    row = {"actions": ["urge"], "actions_also_ok": ["wait"], "keywords": ["Roof  Repair", "crane"]}
    counts = compared(row, actions=["urge", "wait", "decide"], project_keywords=["big roof repair plan"])
    assert (counts["actions_right"], counts["actions_found"]) == (1, 2)
    assert (counts["keywords_right"], counts["keywords_expected"]) == (1, 2)


def test_a_public_date_agrees_by_its_first_moment_and_its_exclusive_end() -> None:
    gold = {"text": "next week", "start": 0, "end": 9, "kind": "daterange", "iso": ["2013-02-18"]}
    row = {"id": "a", "text": "next week", "ref_time": "2013-02-12T04:30:00", "expected": [{**gold, "iso_end": ["2013-02-25"]}]}  # fmt: skip
    found = {"text": "next week", "start": 0, "end": 9, "iso": "2013-02-24", "iso_start": "2013-02-18"}
    got = figures(expressions.score_dates([row], {"a": {"dates": [found]}}), expressions.DATE_MEASURES)
    assert (got["value_recall"], got["full_recall"], got["spurious"]) == (1, 1, 0)
    found["iso"] = "2013-02-22"
    got = figures(expressions.score_dates([row], {"a": {"dates": [found]}}), expressions.DATE_MEASURES)
    assert (got["value_recall"], got["full_recall"]) == (1, 0)
    elsewhere = {**found, "start": 20, "end": 29}
    got = figures(expressions.score_dates([row], {"a": {"dates": [elsewhere]}}), expressions.DATE_MEASURES)
    assert (got["value_recall"], got["spurious"]) == (0, 1)


# ---- intent -----------------------------------------------------------------------------------------


def ranked(first: str, p: float, second: str = "通知") -> Row:
    ranking = [{"label": first, "p": p}, {"label": second, "p": 1 - p}]
    return {
        "primary": first if p >= 0.6 else "通知",
        "confidence": p,
        "low_confidence": p < 0.6,
        "ranking": ranking,
    }


def test_an_intent_that_is_as_good_counts_and_sure_errors_come_first() -> None:
    rows: list[Row] = [
        {"id": "1", "primary": "询问"},
        {"id": "2", "primary": "询问"},
        {"id": "3", "primary": "询问", "also_ok": ["通知"]},
        {"id": "4", "primary": "询问"},
    ]
    answers = {
        "1": ranked("表扬", 0.7),
        "2": ranked("抱怨", 0.99),
        "3": ranked("通知", 0.9),
        "4": ranked("询问", 0.5),
    }
    outcome = intent.score_intent(rows, answers)
    got = figures(outcome, intent.MEASURES)
    assert (got["top1"], got["ranked1"], got["top3"]) == (0.25, 0.5, 0.5)
    weights = {miss.id: miss.weight for miss in outcome.misses}
    assert sorted(weights, key=lambda name: -weights[name]) == ["2", "1", "4"]


def test_the_calibration_error_is_the_gap_between_sure_and_right() -> None:
    rows: list[Row] = [{"id": str(n), "primary": "询问" if n < 5 else "催办"} for n in range(10)]
    answers = {str(n): ranked("询问", 0.75) for n in range(10)}
    outcome = intent.score_intent(rows, answers)
    assert figures(outcome, intent.MEASURES)["ece"] == pytest.approx(0.25)
    [only] = outcome.calibration
    assert (only.n, only.low, only.high, only.right) == (10, 0.7, 0.8, 0.5)
    assert only.confidence == pytest.approx(0.75)


def test_macro_f1_is_the_mean_over_the_intents_that_occur() -> None:
    rows: list[Row] = [{"id": "1", "primary": "询问"}, {"id": "2", "primary": "催办"}]
    outcome = intent.score_intent(rows, {"1": ranked("询问", 0.9), "2": ranked("询问", 0.9)})
    assert figures(outcome, intent.MEASURES)["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


# ---- the sample mailbox -----------------------------------------------------------------------------


def test_a_mailbox_of_which_nothing_came_out_is_wrong_everywhere() -> None:
    for labelled, shape, answers in sample.pair_up(
        ("fetch", "dequote", "thread", "entities", "intent", "normalize"), [], []
    ):
        outcome = shape.score(labelled.rows, answers)
        got = figures(outcome, tuple(shape.measures))
        first = {"seen": "seen", "clean": "exact", "threads": "exact", "entities": "people_f1"}
        first |= {"intents": "top1", "outcome": "outcome"}
        # no answer is empty text, and that is right for a mail that only passes another on
        empty = sum(row.get("expected_clean") == "" for row in labelled.rows) / len(labelled.rows)
        assert got[first[shape.name]] == pytest.approx(empty), shape.name


def test_only_mails_with_a_record_of_their_own_are_scored_in_the_stages_between() -> None:
    expected = read_expected(MAILBOX)
    written = [name for name, one in expected.items() if one.outcome == "written"]
    assert len(expected) == len(list(MAILBOX.rglob("*.eml"))) > len(written)
    rows = list(sample.rows_for(shapes.CLEAN, expected, {}))
    assert [row["id"] for row in rows] == written
    assert len(list(sample.rows_for(shapes.FETCHED, expected, {}))) == len(expected)
