"""Dates: the conventions' readings, the examples of every rule, and hostile text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.entities.date_rules import LANGUAGES, Atom, DateRule, compile_rules, load_pack, scan
from stages.entities.dates import find_dates

SENT = "2026-10-14T10:00:00+08:00"  # a Wednesday


def only(text: str, sent: str | None = SENT) -> tuple[str, str | None]:
    found = find_dates(text, sent, "Asia/Shanghai")
    assert len(found) == 1, found
    return found[0].iso, found[0].iso_start


@pytest.mark.parametrize(
    ("text", "iso", "start"),
    [
        ("this week", "2026-10-18", "2026-10-12"),
        ("下周给你", "2026-10-25", "2026-10-19"),
        ("来週まで", "2026-10-25", "2026-10-19"),
        ("by Thursday", "2026-10-15", None),
        ("周三前", "2026-10-21", None),
        ("next Thursday", "2026-10-22", None),
        ("本周一", "2026-10-12", None),
        ("来週木曜", "2026-10-22", None),
        ("下下周五", "2026-10-30", None),
        ("last Friday", "2026-10-09", None),
        ("EOM", "2026-10-31", None),
        ("月底", "2026-10-31", None),
        ("月末まで", "2026-10-31", None),
        ("EOW", "2026-10-16", None),
        ("in 4 days", "2026-10-18", None),
        ("within 4 working days", "2026-10-20", None),
        ("四个工作日内", "2026-10-20", None),
        ("3営業日以内", "2026-10-19", None),
        ("大后天", "2026-10-17", None),
        ("明後日", "2026-10-16", None),
        ("Jan 9", "2027-01-09", None),
        ("11月2日至4日", "2026-11-04", "2026-11-02"),
        ("Nov 2-4", "2026-11-04", "2026-11-02"),
        ("Q4", "2026-12-31", "2026-10-01"),
        ("上半年", "2026-06-30", "2026-01-01"),
        ("令和8年11月1日", "2026-11-01", None),
        ("民國115年11月1日", "2026-11-01", None),
        ("２０２６年１１月１日", "2026-11-01", None),
        ("tonight at 9", "2026-10-14T21:00:00+08:00", None),
        ("周五下午5点前", "2026-10-16T17:00:00+08:00", None),
        ("11月4日(水)14時", "2026-11-04T14:00:00+08:00", None),
        ("Nov 3, 2-3pm", "2026-11-03T14:00:00+08:00", None),
        ("2026-11-01 14:30 JST", "2026-11-01T14:30:00+09:00", None),
    ],
)
def test_a_date_resolves_by_the_conventions(text: str, iso: str, start: str | None) -> None:
    assert only(text) == (iso, start)


@pytest.mark.parametrize(
    "text",
    [
        "45 days",
        "60 days after delivery",
        "you may march on",
        "考虑周全 日常 天然",
        "3号楼",
        "两个月工期",
        "open 24/7",
        "每周三",
        "v2.3.1",
    ],
)
def test_what_is_no_date_stays_none(text: str) -> None:
    assert find_dates(text, SENT, "Asia/Shanghai") == []


def test_without_a_sent_day_only_full_dates_are_resolved() -> None:
    assert [mention.iso for mention in find_dates("tomorrow or 2026-11-01", None, "UTC")] == ["2026-11-01"]


def test_the_sent_day_is_read_in_its_own_offset() -> None:
    assert only("tomorrow", "2026-10-14T23:30:00-05:00")[0] == "2026-10-15"


def rules() -> list[tuple[DateRule, dict[str, list[str]]]]:
    return [
        (rule, row)
        for language in LANGUAGES
        for (_, rule), row in zip(compile_rules(language), load_pack(language)["rule"], strict=True)
    ]


def hits(rule: DateRule, text: str) -> bool:
    for match in rule.pattern.finditer(text):
        before = text[max(0, match.start() - 10) : match.start()]
        if (rule.unless and rule.unless.match(match[0])) or (
            rule.unless_before and rule.unless_before.search(before)
        ):
            continue
        if match.start() and text[match.start() - 1].isascii() and text[match.start() - 1].isalnum():
            continue
        return True
    return False


@pytest.mark.parametrize(
    ("rule", "row"), rules(), ids=lambda value: value.name if isinstance(value, DateRule) else ""
)
def test_every_rule_finds_its_examples(rule: DateRule, row: dict[str, list[str]]) -> None:
    assert len(row["match"]) >= 2 and len(row["miss"]) >= 2
    for text in row["match"]:
        assert hits(rule, text), text


@given(st.text(alphabet="0123456789/-.:年月日号周下上今明後一二三十 Monayjuetfr第前天(),", max_size=200))
def test_spans_point_at_their_text(text: str) -> None:
    found = find_dates(text, SENT, "UTC")
    for mention in found:
        assert text[mention.start : mention.end] == mention.text
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))


@pytest.mark.parametrize(
    "unit", ["1/", "2026年", "一", "the ", "Monday, ", "6月", "3pm to ", "下", "９", "first "]
)
def test_repeated_starts_stay_cheap(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    atoms: list[Atom] = scan(text, None)
    assert len(atoms) <= 20_000
