"""Features of a mail: character and word n-grams of its head and tail, and the cue groups that it touches."""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any

HEAD, TAIL = 900, 300
_PREFIX = re.compile(
    r"^(?:\s?(?:re|fwd?|aw|wg|回复|回覆|答复|答覆|转发|轉發|轉寄|返信|転送)\s?[:：]\s?){1,5}", re.IGNORECASE
)
_WORD = re.compile(r"[a-zà-öø-ÿ']{2,20}")
_LATIN = re.compile(r"[a-z]{2}")
_NUMBER = re.compile(r"[0-9]+")
_SPACE = re.compile(r"\s+")
NOT_LEARNED = ("instruction_like",)


@cache
def load_pack() -> dict[str, Any]:
    """Return the cue groups as written in the pack (tests read the examples beside each)."""
    return tomllib.loads(files(__package__).joinpath("packs/cues.toml").read_text(encoding="utf-8"))


@cache
def cue_patterns() -> dict[str, re.Pattern[str]]:
    """Return one pattern per cue group, all languages joined; Latin cues match whole words."""
    patterns = {}
    for group, rows in load_pack().items():
        latin = rf"(?<![a-z])(?:{'|'.join(rows['en'])})(?![a-z])"
        patterns[group] = re.compile("|".join([latin, *rows["zh"], *rows["ja"]]), re.IGNORECASE)
    return patterns


@cache
def _halves() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Return (group, Latin pattern, CJK pattern): half of them is skipped where the text has no such letters."""
    halves = []
    for group, rows in load_pack().items():
        if group not in NOT_LEARNED:
            latin = re.compile(rf"(?<![a-z])(?:{'|'.join(rows['en'])})(?![a-z])")
            halves.append((group, latin, re.compile("|".join([*rows["zh"], *rows["ja"]]), re.IGNORECASE)))
    return halves


def normal_text(subject: str, text: str) -> str:
    """Return what the classifier reads: subject without prefixes, head and tail of the text, NFKC, lower case."""
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    return unicodedata.normalize("NFKC", f"{_PREFIX.sub('', subject[:200])}\n{text}").lower()


def cue_features(text: str) -> list[str]:
    """Return the cue groups that a normal text touches, `group+` where two or more distinct cues do."""
    found = []
    latin = _LATIN.search(text) is not None
    for group, western, eastern in _halves():
        hits: set[str] = set()
        for pattern in (western, eastern) if latin else (eastern,):
            for count, match in enumerate(pattern.finditer(text)):
                hits.add(match[0])
                if len(hits) >= 2 or count >= 20:
                    break
            if len(hits) >= 2:
                break
        if hits:
            found.append(f"cue:{group}")
        if len(hits) >= 2:
            found.append(f"cue:{group}+")
    if len(text) < 30:
        found.append("cue:short")
    return found


def ngram_features(text: str) -> set[str]:
    """Return character 1- to 4-grams (spaces as one) and word 1- and 2-grams (`w:`) of a normal text."""
    flat = _NUMBER.sub("0", _SPACE.sub(" ", text))
    grams: set[str] = set(flat)
    for size in (2, 3, 4):
        grams.update([flat[index : index + size] for index in range(len(flat) - size + 1)])
    words = _WORD.findall(flat)
    grams.update([f"w:{word}" for word in words])
    grams.update([f"w:{one} {two}" for one, two in itertools.pairwise(words)])
    return grams
