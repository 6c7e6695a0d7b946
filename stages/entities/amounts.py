"""Amounts of money: one number grammar, currencies before or after it, ranges, and what is no money.

A number becomes an amount when a currency stands on it, or when it carries a bare multiplier (30万, 48.6w,
50k) near a money word; then the home currency is inferred. Percentages, counts and durations never do.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from models.message import Amount
from stages.entities.numerals import read_cjk, read_digits, read_words

_WORD = (
    r"(?:half a|half|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|"
    r"million|billion|couple of)"
)
_CJK = "〇零一二三四五六七八九十百千两兩壹贰貳叁參肆伍陆陸柒捌玖拾佰仟廿卅弐参壱"
_NUMBER = re.compile(
    rf"(?P<digits>[0-9０-９]{{1,15}}(?:[,，.．'][0-9０-９]{{1,15}}){{0,6}}"
    rf"(?:[千百仟佰](?=[0-9０-９万萬亿億]|[元円块])(?:[0-9０-９]{{1,4}}[百佰]?)?)?(?:[万萬亿億][0-9０-９]{{1,4}}(?=[千百万萬元円块])[千百]?)?)"
    rf"|(?P<cjk>[{_CJK}][{_CJK}万萬亿億兆]{{0,19}})"
    rf"|(?<![A-Za-z])(?P<words>{_WORD}(?:[ -](?:and )?{_WORD}){{0,7}})(?=[ -][a-z])",
    re.IGNORECASE,
)
_RANGE = re.compile(r"[ \u00a0]?(?:-|–|—|~|～|〜|－|至|到|から|to|and)[ \u00a0]?", re.IGNORECASE)
_CLAUSE = re.compile(r"[。！？!?\n;；]")
_COMMA = re.compile(r"[。！？!?\n;；，,、A-Za-z]")
_UNITS = "十百千万萬亿億佰仟拾兆"
_SPACE = " \u00a0\u3000"


@dataclass(slots=True)
class Figure:
    """A number in the text with its multiplier and currency, before ranges are joined."""

    start: int
    end: int
    value: float
    scaled: bool
    currency: str | None = None
    explicit: bool = False
    multiplier: float = 1.0
    pieces: bool = False  # a small bare 块: money only where the words beside it say so


@cache
def load_pack() -> dict[str, Any]:
    """Return the pack of currencies and money words."""
    return tomllib.loads(files(__package__).joinpath("packs/amounts.toml").read_text(encoding="utf-8"))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    pack = load_pack()

    def alternatives(words: Any) -> str:
        return "|".join(
            re.escape(word) + (r"(?![A-Za-z])" if word[-1].isascii() and word[-1].isalpha() else "")
            for word in sorted(words, key=len, reverse=True)
        )

    def plain(words: list[str]) -> str:
        return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))

    words, kuai = pack["words"], pack["kuai"]
    return {
        "prefix": re.compile(
            rf"(?<![A-Za-z])(?:{alternatives(pack['prefix'])})?(?P<gap>[ \u00a0]{{0,2}})(?P<sign>[-−+]?)\Z"
        ),
        "multiplier": re.compile(rf"[ \u00a0-]?(?P<unit>{alternatives(pack['multiplier'])})", re.IGNORECASE),
        "suffix": re.compile(
            rf"[多余餘来來]?[ \u00a0-]{{0,2}}(?P<unit>{alternatives(pack['suffix'])})", re.IGNORECASE
        ),
        "approx_before": re.compile(
            rf"(?:{'|'.join(map(re.escape, words['approx_before']))})[ :：为是]?\Z", re.IGNORECASE
        ),
        "approx_after": re.compile(rf"[ ]?(?:{alternatives(words['approx_after'])})", re.IGNORECASE),
        "counted": re.compile(
            rf"[ +多余餘]{{0,2}}(?!{plain(words['counted_not'])})(?:{alternatives(words['counted'])})",
            re.IGNORECASE,
        ),
        "money": re.compile(plain(words["money"]), re.IGNORECASE),
        "money_not": re.compile(plain(words["money_not"])),
        "kuai_words": re.compile(plain(kuai["words"])),
        "kuai_after": re.compile(plain(kuai["after"])),
        "kuai_piece": re.compile(rf"[ ]?(?:{plain(kuai['piece'])})"),
        "kuai_split": re.compile(rf"(?:{plain(kuai['split'])})\Z"),
    }


@cache
def _edges() -> tuple[frozenset[str], frozenset[str]]:
    """Return the first characters of what may follow a number, and the last ones of what may precede it."""
    pack = load_pack()
    heads = {word[0].lower() for word in (*pack["suffix"], *pack["multiplier"])}
    return frozenset(heads), frozenset(word[-1] for word in pack["prefix"])


def find_amounts(text: str, language: str | None, home_currency: str) -> list[Amount]:
    """Return the amounts of `text` in order; `language` decides what ¥ and 元 mean."""
    figures: list[Figure] = []
    heads, tails = _edges()
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        after, before = (
            text[end : end + 3].lstrip(_SPACE + "-多余餘来來"),
            text[max(0, start - 3) : start].rstrip(_SPACE + "-−+"),
        )
        marked = match["words"] is not None or after[:1].lower() in heads or before[-1:] in tails
        if not marked and text[end - 1] not in _UNITS and not _RANGE.match(text, end):
            continue
        figure = _figure(text, match)
        if figure is not None:
            figures.append(figure)
    amounts: list[Amount] = []
    index = 0
    while index < len(figures):
        low, high = figures[index], None
        if index + 1 < len(figures) and _RANGE.fullmatch(text, low.end, figures[index + 1].start):
            between = text[low.end : figures[index + 1].start].strip().lower()
            if between != "and" or "between" in text[max(0, low.start - 12) : low.start].lower():
                high = figures[index + 1]
        amount = _amount(text, low, high, language, home_currency)
        if amount is None and high is not None:
            amount, high = _amount(text, low, None, language, home_currency), None
        if amount is not None and not (amounts and amount.start < amounts[-1].end):
            amounts.append(amount)
        index += 2 if high is not None and amount is not None else 1
    return amounts


def _figure(text: str, match: re.Match[str]) -> Figure | None:
    patterns, pack = _patterns(), load_pack()
    start, end = match.span()
    raw = match[0]
    before = text[start - 1] if start else " "
    if match["digits"] is not None:
        if before in "/_#.:" or (before.isascii() and before.isalpha() and not _prefix_at(text, start)):
            return None
        mixed = any(char in "千百仟佰万萬亿億" for char in raw)
        value = read_cjk(raw) if mixed else read_digits(raw.replace("，", ",").replace("．", "."))
    elif match["cjk"] is not None:
        value = read_cjk(raw)
    else:
        value = read_words(raw)
    if value is None or before == "第":
        return None
    figure = Figure(start, end, value, False)
    lead = re.match(r"[0-9０-９.,]+|[〇零一二三四五六七八九两兩]+", raw)
    if (
        match["words"] is None
        and lead
        and lead.end() < len(raw)
        and all(char in _UNITS for char in raw[lead.end() :])
    ):
        figure.multiplier = value / (read_cjk(lead[0]) or 1)  # 6千: the unit that a range shares
    figure.scaled = match["words"] is None and raw[-1] in "万萬亿億"
    unit = patterns["multiplier"].match(text, end)
    if unit and (match["cjk"] is None or unit["unit"][0] in "万萬亿億兆"):
        scale = float(pack["multiplier"][unit["unit"].lower()])
        figure.multiplier *= scale
        figure.value, figure.end, figure.scaled = round(value * scale, 4), unit.end(), True
    prefix = patterns["prefix"].search(text, max(0, start - 8), start)
    if prefix is not None and prefix.end() - prefix.start() > len(prefix["gap"]) + len(prefix["sign"]):
        word = text[prefix.start() : start].strip(_SPACE + "-−+")
        figure.currency, figure.explicit, figure.start = pack["prefix"].get(word), True, prefix.start()
    if prefix is not None and prefix["sign"] in ("-", "−") and figure.currency:
        figure.value = -figure.value
    elif figure.currency and text[max(0, figure.start - 1) : figure.start] in ("-", "−"):
        apart = figure.start < 2 or not text[figure.start - 2].isalnum()
        if apart:
            figure.value, figure.start = -figure.value, figure.start - 1
    if figure.currency == "EUR" and re.fullmatch(r"\d{1,3}\.\d{3}", raw) and not figure.scaled:
        figure.value *= 1000  # €52.000 is how the continent groups
    suffix = patterns["suffix"].match(text, figure.end)
    sign = suffix is not None and suffix["unit"] in ("$", "£", "€")
    if (
        suffix is not None
        and sign
        and (figure.currency or text[suffix.end() : suffix.end() + 2].strip()[:1].isdigit())
    ):
        suffix = None  # the sign belongs to the next number
    if suffix and not (suffix["unit"] == "块" and raw in ("一", "几")):  # 一块 is "together"
        unit_word = suffix["unit"].lower()
        named = pack["suffix"].get(unit_word) or pack["suffix"].get(suffix["unit"])
        if named == "cent":
            figure.value, named = figure.value / 100, "USD"
        if figure.currency is None or (figure.currency == "yen" and named != "yuan"):
            figure.currency = named
        figure.end = suffix.end()
        figure.explicit = True
        tail = figure.end
        if unit_word in ("块", "塊", "元") and text[figure.end : figure.end + 1]:
            _add_jiao(text, figure)
        if unit_word in ("块", "塊") and figure.end == tail and not figure.start < start:
            figure.pieces = _is_pieces(text, figure, raw)
    return figure


def _is_pieces(text: str, figure: Figure, raw: str) -> bool:
    """Return whether 块 counts pieces: 三块内容, 分三块; a small bare number needs a word of money beside it."""
    patterns = _patterns()
    before = text[max(0, figure.start - 16) : figure.start]
    if patterns["kuai_piece"].match(text, figure.end) or patterns["kuai_split"].search(before):
        return True
    if figure.value >= load_pack()["kuai"]["limit"] or figure.scaled or "." in raw:
        return False
    clause = patterns["money_not"].sub(" ", _CLAUSE.split(before)[-1])
    return not (patterns["kuai_words"].search(clause) or patterns["kuai_after"].match(text, figure.end))


def _near_money(text: str, start: int, end: int) -> bool:
    """Return whether the clause around a bare number speaks of money: 打包价3万, 3万含税, 便宜3万."""
    patterns = _patterns()
    before = _CLAUSE.split(text[max(0, start - 24) : start])[-1]
    after = _COMMA.split(text[end : end + 10])[0]
    return any(patterns["money"].search(patterns["money_not"].sub(" ", side)) for side in (before, after))


def _prefix_at(text: str, start: int) -> bool:
    found = _patterns()["prefix"].search(text, max(0, start - 8), start)
    return found is not None and found.end() > found.start()


def _add_jiao(text: str, figure: Figure) -> None:
    """Read 三毛 or 五角 after 块/元 into the value."""
    match = re.compile(r"([0-9一二三四五六七八九])[毛角](?:([0-9一二三四五六七八九])分)?").match(
        text, figure.end
    )
    if match:
        figure.value = round(
            figure.value
            + (read_cjk(match[1]) or 0) / 10
            + (read_cjk(match[2]) or 0 if match[2] else 0) / 100,
            4,
        )
        figure.end = match.end()


def _amount(text: str, low: Figure, high: Figure | None, language: str | None, home: str) -> Amount | None:
    patterns = _patterns()
    last = high or low
    if text[last.end : last.end + 2].strip()[:1] in ("%", "％", "‰"):
        return None
    if last.pieces or low.pieces:
        return None
    currency = low.currency or last.currency
    inferred = False
    if currency is None:
        if not (low.scaled or last.scaled) or patterns["counted"].match(text, last.end):
            return None
        if text[last.end : last.end + 1].isalnum() and text[last.end].isascii():
            return None
        if not _near_money(text, low.start, last.end):
            return None
        currency, inferred = home, True
    value, value_max = low.value, None
    if high is not None:
        value_max = high.value
        if high.multiplier != 1.0 and not low.scaled and abs(low.value) < abs(high.value):
            value = round(low.value * high.multiplier, 4)  # a unit at the end counts for both ends
        if value_max <= value:
            return None
    if currency == "yuan":
        currency = "TWD" if language in ("zh-TW", "zh-Hant") else "JPY" if language == "ja" else "CNY"
    elif currency == "yen":
        currency = (
            "JPY"
            if language == "ja" or ((language is None or language == "en") and _has_kana(text))
            else "CNY"
        )
    start, end = low.start, last.end
    approx = bool(patterns["approx_before"].search(text, max(0, start - 14), start))
    after = patterns["approx_after"].match(text, end)
    if value > 1e15 or abs(value) == float("inf"):
        return None
    return Amount(
        text=text[start:end],
        start=start,
        end=end,
        value=value,
        value_max=value_max,
        currency=currency,
        inferred=inferred,
        approx=approx or after is not None,
    )


def _has_kana(text: str) -> bool:
    return any("\u3040" <= char <= "\u30ff" for char in text[:2000])
