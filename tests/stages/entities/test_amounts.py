"""Amounts: numbers in three scripts, currencies on either side, ranges, and what is no money."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.entities.amounts import find_amounts
from stages.entities.numerals import read_cjk, read_digits, read_words


@pytest.mark.parametrize(
    ("text", "value", "top", "currency"),
    [
        ("3.8万元", 38000, None, "CNY"),
        ("7千2百万円", 72_000_000, None, "JPY"),
        ("叁佰陆拾元整", 360, None, "CNY"),
        ("USD 4.5k", 4500, None, "USD"),
        ("three hundred thousand dollars", 300_000, None, "USD"),
        ("€2.150,75", 2150.75, None, "EUR"),
        ("€41.000", 41000, None, "EUR"),
        ("-£65", -65, None, "GBP"),
        ("5到8万元", 50000, 80000, "CNY"),
        ("$3k–$4k", 3000, 4000, "USD"),
        ("5-6千万元", 50_000_000, 60_000_000, "CNY"),
        ("NT$2,400", 2400, None, "TWD"),
        ("HK$ 900", 900, None, "HKD"),
        ("700元/人", 700, None, "CNY"),
        ("half a million dollars", 500_000, None, "USD"),
    ],
)
def test_an_amount_is_read(text: str, value: float, top: float | None, currency: str) -> None:
    (amount,) = find_amounts(text, "zh-CN", "CNY")
    assert (amount.value, amount.value_max, amount.currency) == (value, top, currency)


@pytest.mark.parametrize(
    "text", ["15%", "6万用户", "30k requests", "1,200 units", "pay in €", "3 months", "一下", "第一块"]
)
def test_counts_and_shares_are_no_money(text: str) -> None:
    assert find_amounts(text, "zh-CN", "CNY") == []


def test_a_bare_multiplier_near_a_money_word_takes_the_home_currency() -> None:
    (amount,) = find_amounts("预算大约25w", "zh-CN", "CNY")
    assert (amount.value, amount.currency, amount.inferred, amount.approx) == (250_000, "CNY", True, True)


def test_yuan_and_yen_signs_follow_the_language() -> None:
    assert find_amounts("500元", "zh-TW", "CNY")[0].currency == "TWD"
    assert find_amounts("¥500", "ja", "CNY")[0].currency == "JPY"
    assert find_amounts("¥500", "zh-CN", "CNY")[0].currency == "CNY"


@pytest.mark.parametrize(
    ("text", "value"),
    [("3千2百万", 32_000_000), ("二〇二六", 2026), ("三万五", 35000), ("廿三", 23), ("一百零五", 105)],
)
def test_cjk_numerals_are_read(text: str, value: int) -> None:
    assert read_cjk(text) == value


def test_separators_are_read_by_their_place() -> None:
    assert (read_digits("1,234.5"), read_digits("1.234,5"), read_digits("12,5")) == (1234.5, 1234.5, 12.5)
    assert read_words("two hundred thousand") == 200_000


@given(st.text(alphabet="0123456789万亿千百元¥$€,.kKmw 到-一二三两bo约%", max_size=120))
def test_amount_spans_point_at_their_text(text: str) -> None:
    for amount in find_amounts(text, None, "CNY"):
        assert text[amount.start : amount.end] == amount.text
        assert amount.value_max is None or amount.value_max > amount.value
