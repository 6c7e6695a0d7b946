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
    ("text", "span"),
    [
        ("since last Friday.", "last Friday"),
        ("It is due on 8 April.", "8 April"),
        ("by Friday. 3 of us go", "Friday"),
        ("8 April. 2 people came", "8 April"),
        ("We meet on Fri. Then we go", "Fri"),
        ("Sept. 8 it is", "Sept. 8"),
        ("8 Apr. 2027.", "8 Apr. 2027"),
        ("Fri. next week", "Fri. next week"),
    ],
)
def test_only_the_dot_of_a_short_form_belongs_to_a_date(text: str, span: str) -> None:
    assert [mention.text for mention in find_dates(text, SENT, "Asia/Shanghai")] == [span]


@pytest.mark.parametrize(
    "word",
    [
        "周末",
        "週末",
        "这周末",
        "本周末",
        "這週末",
        "今週末",
        "this weekend",
        "by the weekend",
        "before weekend",
        "the coming weekend",
    ],
)
def test_this_weekend_is_saturday_and_sunday(word: str) -> None:
    assert only(word) == ("2026-10-18", "2026-10-17")


@pytest.mark.parametrize("word", ["下周末", "下週末", "下个周末", "来週末", "next weekend"])
def test_the_next_weekend_is_that_of_the_next_week(word: str) -> None:
    assert only(word) == ("2026-10-25", "2026-10-24")


@pytest.mark.parametrize("word", ["月末", "月底", "今月末"])
def test_the_end_of_a_month_is_no_weekend(word: str) -> None:
    assert only(word) == ("2026-10-31", None)


@pytest.mark.parametrize("text", ["祝周末愉快", "週末愉快", "Have a nice weekend", "a weekender"])
def test_a_wish_for_the_weekend_is_no_date(text: str) -> None:
    assert find_dates(text, SENT, "Asia/Shanghai") == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("up since 9 this morning", "2026-10-14T09:00:00+08:00"),
        ("3 this afternoon", "2026-10-14T15:00:00+08:00"),
        ("2 to 3 this afternoon", "2026-10-14T14:00:00+08:00"),
        ("not before\n10 tomorrow morning", "2026-10-15T10:00:00+08:00"),
        ("at 9 tomorrow morning", "2026-10-15T09:00:00+08:00"),
        ("at 3 tomorrow afternoon", "2026-10-15T15:00:00+08:00"),
        ("at 8 tomorrow evening", "2026-10-15T20:00:00+08:00"),
        ("at 9 on Monday morning", "2026-10-19T09:00:00+08:00"),
        ("tomorrow at 8 in the evening", "2026-10-15T20:00:00+08:00"),
        ("tomorrow 10:00, afternoon free", "2026-10-15T10:00:00+08:00"),
    ],
)
def test_an_hour_keeps_the_part_of_the_day_beside_it(text: str, iso: str) -> None:
    assert only(text) == (iso, None)


@pytest.mark.parametrize("text", ["We sent 9 this morning", "only 3 this afternoon", "all 12 this evening"])
def test_a_count_before_a_part_of_the_day_is_no_hour(text: str) -> None:
    assert only(text) == ("2026-10-14", None)


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


@pytest.mark.parametrize(
    "name", ["en.weekend", "en.clock_day_part", "en.weekday", "zh.weekend", "ja.weekend", "ja.week"]
)
def test_a_rule_leaves_its_near_misses(name: str) -> None:
    ((rule, row),) = [(rule, row) for rule, row in rules() if rule.name == name]
    for text in row["miss"]:
        assert not hits(rule, text), text


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
