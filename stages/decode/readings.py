"""Readings of the same bytes weighed against each other: which one would a person have written?

Each codec in which the bytes are valid gives a reading; its weight is the sum of rough log-likelihoods of
its characters (how often a letter is met in its script, whether neighbours belong together) plus how usual
the codec is in mail and what the label says. Meant for the short pieces on which a statistical detector has
too little to stand on; on long ones both agree.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

# How usual a codec is in mail without a trustworthy label (log scale).
_USUAL = {
    "gb18030": 0.0, "cp1252": 0.0, "big5hkscs": -1.0, "cp932": -1.0, "cp949": -1.5, "euc_jp": -2.0,
    "cp1251": -1.0, "koi8-r": -1.5, "cp1250": -2.0, "iso8859-2": -2.5, "cp1254": -2.5, "cp1253": -2.0,
    "cp1255": -2.5, "cp1256": -2.5, "cp874": -5.0, "iso8859-5": -4.0, "cp866": -4.0, "iso8859-6": -4.0,
    "cp1257": -5.0, "koi8-u": -3.0, "mac-roman": -8.0, "iso8859-15": -5.0,
}  # fmt: skip
_NAMES = {"iso8859-8": "cp1255", "iso8859-7": "cp1253", "iso8859-9": "cp1254", "iso8859-1": "cp1252"}
LABELLED = 8.0  # what a label weighs that names a codec on purpose
WEAK = 3.0  # what Latin-1 and ASCII labels weigh: programs write them without looking
_SAMPLE_BYTES = 800
_HIGH_WORD = re.compile(rb"[!-\x7e]{0,60}[\x80-\xff][!-\xff]{0,800}")
_HIGH = bytes(range(128, 256))
_ASCII = -3.0
_ODD = -20.0  # unassigned, private use, controls
_SIGN = -9.0
_ACCENT = -5.0
_SWITCH = -6.0  # two scripts, or upper case after lower, inside one word
_GLUED = -4.0  # a sign directly in front of a letter
_STRANGER = -3.0  # a letter that the language of the others does not write
_MUTE = -3.0  # a word of three letters or more without a vowel
_VOWELS = frozenset("аеёиоуыэюяіїєАЕЁИОУЫЭЮЯІЇЄαεηιουωάέήίόύώΑΕΗΙΟΥΩΆΈΉΊΌΎΏ")
DOUBLE = frozenset({"gb18030", "big5hkscs", "cp932", "euc_jp", "cp949"})
_CJK = frozenset({"han", "kana", "hangul"})


class Reading(NamedTuple):
    """One way to read the bytes: its weight (log scale, comparable for the same bytes only), and the mean
    weight of what stands for one high byte (how natural the reading is in itself)."""

    codec: str
    weight: float
    natural: float


class _Letters(NamedTuple):
    weight: dict[str, float]
    script: dict[str, str]


@lru_cache(maxsize=1)
def _pack() -> dict[str, Any]:
    return tomllib.loads(files("stages.decode").joinpath("packs/letters.toml").read_text("utf-8"))


@lru_cache(maxsize=16)
def _repertoire(codec: str, leads: range) -> str:
    """Return the two-byte characters of a national set within a range of lead bytes."""
    trails = range(0x40, 0xFF) if codec == "big5" else range(0xA1, 0xFF)
    return "".join(bytes((lead, trail)).decode(codec, "ignore") for lead in leads for trail in trails)


def _tiers(weight: dict[str, float], groups: list[tuple[str, float]]) -> None:
    for letters, value in groups:
        for letter in letters:
            weight.setdefault(letter, value)


_WIDE_SIGNS = "，。、；：？！（）「」『』《》“”‘’—…·【】～／　"
_PLAIN_SIGNS = "’“”–—…«»„‚‘•·°§€£¿¡\xa0№´`º"


@lru_cache(maxsize=32)
def _letters(codec: str) -> _Letters:
    """Return weight and script of the characters that a codec's texts are made of."""
    pack = _pack()
    weight: dict[str, float] = {}
    script: dict[str, str] = {}
    han = pack["han"]
    kana = "".join(map(chr, range(0x3041, 0x3097))), "".join(map(chr, range(0x30A1, 0x30FB))) + "ー"
    boxes = "".join(map(chr, range(0x2500, 0x2580)))  # in tables and trees that programs print
    if codec in {"gb18030", "big5hkscs"}:
        first, second = han["simplified" if codec == "gb18030" else "traditional"]
        other = han["traditional" if codec == "gb18030" else "simplified"]
        if codec == "gb18030":
            plane = _repertoire("gb2312", range(0xB0, 0xD8)), _repertoire("gb2312", range(0xD8, 0xF8))
        else:
            plane = _repertoire("big5", range(0xA4, 0xC7)), _repertoire("big5", range(0xC9, 0xFA))
        _tiers(weight, [(_WIDE_SIGNS, -5.0), (first, -6.7), (second, -8.7), (other[0], -8.5)])
        _tiers(weight, [(str(han["names"]), -9.0), (other[1], -9.5), (plane[0], -11.0), (plane[1], -13.5)])
        _tiers(weight, [(kana[0] + kana[1], -7.0), (boxes, -7.0)])
    elif codec in {"cp932", "euc_jp"}:
        first, second = han["kanji"]
        plane = _repertoire("euc_jp", range(0xB0, 0xD0)), _repertoire("euc_jp", range(0xD0, 0xF5))
        _tiers(weight, [(_WIDE_SIGNS, -5.0), (kana[0], -4.6), (kana[1], -6.2)])
        _tiers(weight, [("①②③④⑤⑥㈱№髙々", -8.5), (first, -7.2), (second, -8.5)])
        _tiers(weight, [(plane[0], -11.0), (plane[1], -14.0), (boxes, -8.0)])
        _tiers(weight, [("".join(map(chr, range(0xFF66, 0xFFA0))), -8.0)])
    elif codec == "cp949":
        plane = _repertoire("euc_kr", range(0xB0, 0xC9)), _repertoire("euc_kr", range(0xCA, 0xFE))
        _tiers(weight, [(_WIDE_SIGNS, -6.5), (han["hangul"][0], -5.7), (plane[0], -8.8)])
        # Outlook with Korean settings labels Chinese mail so; the characters are there, in other places
        _tiers(weight, [(han["traditional"][0] + han["kanji"][0], -9.0), (plane[1], -12.0), (boxes, -8.0)])
    for name, letters in pack["alphabets"].items():
        _alphabet(weight, script, name, str(letters), native=_native(codec) == name)
    if codec not in DOUBLE:
        _accents(weight, script, str(pack["accented"][_accented(codec)]))
        _tiers(weight, [(_PLAIN_SIGNS, -6.5)])
    return _Letters(weight, script)


def _native(codec: str) -> str:
    return {
        "cp1251": "cyrillic", "koi8-r": "cyrillic", "koi8-u": "cyrillic", "iso8859-5": "cyrillic",
        "cp866": "cyrillic", "cp1253": "greek", "cp1255": "hebrew", "cp1256": "arabic",
        "iso8859-6": "arabic", "cp874": "thai",
    }.get(codec, "han" if codec in DOUBLE else "latin")  # fmt: skip


def _accented(codec: str) -> str:
    if codec in {"cp1250", "iso8859-2"}:
        return "central"
    return {"cp1254": "turkish", "cp1257": "baltic"}.get(codec, "western")


def _alphabet(
    weight: dict[str, float], script: dict[str, str], name: str, letters: str, *, native: bool
) -> None:
    """Enter one alphabet: its own codec's letters by frequency, elsewhere as strangers."""
    steep = 8.0 if len(letters) < 45 else 14.0
    for rank, letter in enumerate(letters):
        value = (-2.1 if len(letters) < 45 else -2.6) - rank / steep if native else -3.0 - rank / steep
        for form in dict.fromkeys((letter, letter.upper())):
            if len(form) == 1:
                weight.setdefault(form, value if form == letter else value - 1.5)
                script[form] = name


def _accents(weight: dict[str, float], script: dict[str, str], letters: str) -> None:
    for rank, letter in enumerate(letters):
        weight.setdefault(letter, _ACCENT - rank / 14.0)
        script[letter] = "latin"


def weigh(text: str, codec: str) -> float:
    """Return the weight of a reading: the sum over its characters (0 is certain, less is less likely)."""
    weights, scripts = _letters(codec)
    total = 0.0
    before = ""  # the script of the character in front, "" between words
    was_lower = was_accent = was_sign = False
    length = vowels = 0  # of the word being read, in scripts that write vowels
    for char in text:
        accent = sign = False
        if char < "\x80":
            total += _ASCII
            here = "latin" if char.isalpha() else ""
            if here:
                if before not in {"", "latin"} and before not in _CJK:
                    total += _SWITCH
                elif was_lower and char.isupper():
                    total += 0.5 * _SWITCH
                elif was_sign:
                    total += _GLUED
        else:
            value = weights.get(char)
            here = scripts.get(char, "")
            if value is None:
                value, here = _strange(char)
            elif not here and char.isalpha():
                here = "han" if char >= "\u3000" else "latin"
            total += value
            if here:
                total += _meeting(before, here)
                accent = here == "latin"
                if accent and was_accent:
                    total -= 2.5
                if was_sign and here not in _CJK:
                    total += _GLUED
                if was_lower and char.isupper():
                    total += _SWITCH
            elif before and before not in _CJK and char not in "’‘´`":
                sign = value < -8.0
        if here in {"cyrillic", "greek"}:
            length += 1
            vowels += char in _VOWELS
        elif length:
            total += _MUTE if length > 2 and not vowels else 0.0
            length = vowels = 0
        if not here and char in "£¼½¾¤¥¦±¬¨¸¶³²¹ª":
            sign = True
        before, was_lower, was_accent, was_sign = here, char.islower(), accent, sign
    return total + (_MUTE if length > 2 and not vowels else 0.0)


def _meeting(before: str, here: str) -> float:
    """Return what it costs that a letter of script `here` follows one of `before` without a break."""
    if not before or here == before or (here in _CJK and before in _CJK):
        return 0.0
    return 0.3 * _SWITCH if before == "latin" and here in _CJK else _SWITCH


def _estrangement(text: str, group: str) -> float:
    """Return what the accented letters cost that do not go together in one language of the group."""
    used = [char for char in text.lower() if char > "\xbf" and char.isalpha()]
    strangers = min(
        sum(char not in letters for char in used) for letters in _pack()["together"][group].values()
    )
    return _STRANGER * strangers


def _strange(char: str) -> tuple[float, str]:
    """Return weight and script of a character that its codec's texts are seldom made of."""
    if char.isalpha():
        if char < "\u0250":
            return -10.0, "latin"
        return (-17.0 if char > "\u2e80" else -13.0), ("han" if char > "\u2e80" else "other")
    if char < "\xa0" or "\ue000" <= char <= "\uf8ff" or char in "\ufffd\xad":
        return _ODD, ""
    if char > "\uff00":
        return -10.0, ""
    if "\u2500" <= char <= "\u25ff":  # box drawing: letters of another codec
        return -13.0, ""
    return (_SIGN if char < "\u2500" else -11.0), ""


def sample_of(data: bytes) -> bytes:
    """Return the words with high bytes in them, enough of them to weigh, one space between."""
    words: list[bytes] = []
    size = 0
    for found in _HIGH_WORD.finditer(data):
        words.append(found[0])
        size += len(found[0]) + 1
        if size > _SAMPLE_BYTES:
            break
    return b" ".join(words)[:_SAMPLE_BYTES]


def read_as(sample: bytes, codec: str, *, cut: bool = False) -> str | None:
    """Return the sample in a codec, None if it is not valid there; a `cut` one may end inside a character."""
    try:
        return sample.decode(codec)
    except UnicodeDecodeError as error:
        if not cut or error.start < len(sample) - 3:
            return None
        return sample[: error.start].decode(codec, "ignore")
    except (UnicodeError, LookupError):
        return None


def readings(data: bytes, label: str | None, trust: float) -> list[Reading]:
    """Return the readings of `data`, best first; `label` is a codec that weighs `trust` more."""
    sample = sample_of(data)
    named = _NAMES.get(label or "", label)
    high = max(1, len(sample) - len(sample.translate(None, _HIGH)))
    low = _ASCII * (len(sample) - high)
    found = []
    for codec in dict.fromkeys((*_USUAL, *([named] if named else []))):
        text = read_as(sample, codec, cut=len(sample) == _SAMPLE_BYTES)
        if text is None:
            continue
        own = weigh(text, codec)
        if _native(codec) == "latin":
            own += _estrangement(text, _accented(codec))
        weight = own + _USUAL.get(codec, 0.0) + (trust if codec == named else 0.0)
        found.append(Reading(codec, weight, (own - low) / high))
    found.sort(key=lambda reading: -reading.weight)
    return found
