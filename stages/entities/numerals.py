"""Numerals: one reader for Western digits, CJK numerals (also formal and mixed) and English number words."""

from __future__ import annotations

import unicodedata

DIGITS = {char: index for index, char in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "壹": 1, "壱": 1, "弌": 1, "贰": 2, "貳": 2, "弐": 2, "两": 2, "兩": 2, "叁": 3, "參": 3, "参": 3,
    "肆": 4, "伍": 5, "陆": 6, "陸": 6, "柒": 7, "捌": 8, "玖": 9, "幺": 1,
}  # fmt: skip
SMALL_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
BIG_UNITS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
TENS = {"廿": 20, "卅": 30}

WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def read_cjk(text: str) -> float | None:
    """Return the value of a CJK numeral, Western digits mixed in ("3千2百万", "1億2千万", "二〇二七"), or None.

    A trailing digit after a unit counts for the next lower unit ("三万五" is 35,000).
    """
    total = section = 0.0
    number: float | None = None
    last_unit = 0
    unit_since = False
    index = 0
    while index < len(text):
        char = text[index]
        if char.isascii() and char.isdigit():
            end = index
            while end < len(text) and ((text[end].isascii() and text[end].isdigit()) or text[end] in ".,"):
                end += 1
            plain = text[index:end].replace(",", "").rstrip(".")
            if plain.count(".") > 1 or number is not None:
                return None
            number, index, unit_since = float(plain), end, False
            continue
        if char in DIGITS:
            number = DIGITS[char] if number is None else number * 10 + DIGITS[char]
            if char in "〇零" and number == 0:
                number, last_unit = None, 1  # 三万零五: the digit after it counts itself
        elif char in TENS:
            section, number, last_unit = section + TENS[char], None, 1
        elif char in SMALL_UNITS:
            unit = SMALL_UNITS[char]
            section += (1 if number is None else number) * unit
            number, last_unit, unit_since = None, unit, True
        elif char in BIG_UNITS:
            unit = BIG_UNITS[char]
            section += number or 0
            if section == 0:
                if total == 0:
                    return None
                total *= unit  # 一万亿
            else:
                total += section * unit
            section, number, last_unit, unit_since = 0.0, None, unit, True
        else:
            return None
        index += 1
    if number is not None:
        tail = last_unit // 10 if unit_since and last_unit >= 100 and 0 < number < 10 else 1
        section += number * tail
    return total + section if text else None


def read_digits(text: str) -> float | None:
    """Return the value of a Western number: `1,234.50`, `3.400,50`, `1 234`, full-width digits; None if none.

    A single separator before exactly three digits groups thousands; one before one or two is decimal.
    """
    plain = unicodedata.normalize("NFKC", text).replace(" ", "").replace("'", "").replace("\u2019", "")
    if not plain or not plain[0].isdigit():
        return None
    comma, dot = plain.rfind(","), plain.rfind(".")
    if comma >= 0 and dot >= 0:
        decimal, group = (",", ".") if comma > dot else (".", ",")
        plain = plain.replace(group, "").replace(decimal, ".")
    elif comma >= 0:
        grouped = all(len(part) == 3 for part in plain.split(",")[1:])
        plain = plain.replace(",", "") if grouped else plain.replace(",", ".", 1).replace(",", "")
    elif plain.count(".") > 1:
        plain = plain.replace(".", "")
    try:
        return float(plain)
    except ValueError:
        return None


def read_words(text: str) -> float | None:
    """Return the value of English number words ("two hundred thousand", "half a million"), or None."""
    total = current = 0.0
    seen = False
    for word in text.lower().replace("-", " ").split():
        if word in ("and", "of"):
            continue
        if word in ("a", "an"):
            if current == 0.5:
                continue
            current, seen = current + 1, True
        elif word == "half":
            current, seen = 0.5, True
        elif word == "couple":
            current, seen = 2.0, True
        elif word in WORDS:
            current, seen = current + WORDS[word], True
        elif word == "hundred":
            current, seen = (current or 1) * 100, True
        elif word in SCALES:
            total, current, seen = total + (current or 1) * SCALES[word], 0.0, True
        else:
            return None
    return total + current if seen else None


def read_number(text: str) -> float | None:
    """Return the value of `text` in whichever of the three scripts it is written, or None."""
    text = text.strip()
    if not text:
        return None
    plain = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    if plain[0].isdigit() and plain[-1].isdigit() and not any(is_numeral(char) for char in plain):
        return read_digits(plain)
    if any(is_numeral(char) for char in plain):
        return read_cjk(plain)
    return read_words(plain)


def is_numeral(char: str) -> bool:
    """Return whether `char` is a CJK numeral character."""
    return char in DIGITS or char in SMALL_UNITS or char in BIG_UNITS or char in TENS
