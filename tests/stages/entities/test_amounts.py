"""Amounts: numbers in three scripts, currencies on either side, ranges, and what is no money."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.entities.amounts import find_amounts, load_pack
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


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("打包价3.3万能不能做到3万整？", [33000, 30000]),
        ("定你们家，3.15万含税", [31500]),
        ("能少3万行不行", [30000]),
        ("比上次便宜2万", [20000]),
        ("总价5万左右", [50000]),
        ("3万的预算", [30000]),
    ],
)
def test_a_bare_multiplier_beside_a_price_word_is_money_at_home(text: str, values: list[float]) -> None:
    found = find_amounts(text, "zh-CN", "CNY")
    assert [amount.value for amount in found] == values
    assert all(amount.inferred and amount.currency == "CNY" for amount in found)


@pytest.mark.parametrize(
    "text",
    ["至少要3万", "减少3万用户", "评价3万条", "看了3万页，价格不变", "不少于3万字", "粉丝3万", "交付3万套"],
)
def test_a_bare_multiplier_without_a_price_is_no_money(text: str) -> None:
    assert find_amounts(text, "zh-CN", "CNY") == []


@pytest.mark.parametrize("text", load_pack()["kuai"]["match"])
def test_kuai_with_a_word_of_money_is_an_amount(text: str) -> None:
    assert [amount.currency for amount in find_amounts(text, "zh-CN", "CNY")] == ["CNY"]


@pytest.mark.parametrize("text", [*load_pack()["kuai"]["miss"], "三到五块内容", "這三塊一起做"])
def test_kuai_that_counts_pieces_is_no_money(text: str) -> None:
    assert find_amounts(text, "zh-CN", "CNY") == []


def test_a_larger_number_of_kuai_needs_no_word_of_money() -> None:
    assert [amount.value for amount in find_amounts("午饭二十块，打车三块钱", "zh-CN", "CNY")] == [20, 3]


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
