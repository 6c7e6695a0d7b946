"""Subjects without what mail clients, lists and gateways put before them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"[\[【]([^\[\]【】]{1,40})[\]】]\s*")
_DIGIT = re.compile(r"\d")
_MAX = 1000  # characters that are looked at
_FRONT = 100  # characters that hold the longest prefix or tag
_INVISIBLE = (
    " \u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
# one character for one, so that a match in the narrow copy is a span of the text
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0xFE55: ord(":"), 0xFE30: ord(":")}
_GATEWAY = frozenset(
    {"external", "ext", "外部邮件", "外部郵件", "外部メール", "extern", "externe", "externo", "spam"}
)


@cache
def load_packs() -> dict[str, dict[str, list[str]]]:
    """Return the prefix packs by language: `prefixes`, `counted` and the examples of each."""
    text = (files("stages.thread") / "packs" / "prefixes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def prefix_pattern() -> re.Pattern[str]:
    """Return the pattern of one prefix with its counter (`Re[2]:`, `RE(3):`, `Re^2:`), over narrow text."""
    packs = load_packs().values()
    words = _alternatives(word for pack in packs for word in pack["prefixes"])
    counted = _alternatives(word for pack in packs for word in pack.get("counted", []))
    counter = r"(?:\[\d{1,3}\]|\(\d{1,3}\)|【\d{1,3}】|\^\d{1,3})"
    return re.compile(rf"(?:(?:{words})\s?{counter}?|(?:{counted})\d{{1,3}})\s?:\s*", re.IGNORECASE)


def _alternatives(words: Iterable[str]) -> str:
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word) for word in ordered)


def strip_prefixes(subject: str) -> tuple[str, bool]:
    """Return `subject` without reply and forward marks and leading tags, and whether such a mark was there.

    Case is kept, runs of space are one space. A tag that holds a digit is a number of something, not the name
    of a list: it stays, for two numbers are two conversations; so does a tag that is all there is. Each pass
    takes something away, and looks at a bounded front.
    """
    text = _SPACE.sub(" ", unicodedata.normalize("NFC", subject[:_MAX]))
    found, kept, last = False, "", ""
    while True:
        text = text.lstrip(_INVISIBLE).rstrip()
        narrow = text[:_FRONT].translate(_NARROW)
        if prefix := prefix_pattern().match(narrow):
            text, found = text[prefix.end() :], True
        elif text[-5:].casefold() == "(fwd)":
            text, found = text[:-5], True
        elif _is_wrapped(text, narrow):
            text, found = text[1:-1], True
        elif tag := _TAG.match(narrow):
            mark, text = text[: tag.end()].strip(), text[tag.end() :]
            if tag[1].casefold().strip() in _GATEWAY:
                continue
            last = mark
            if _DIGIT.search(tag[1]):
                kept += f"{mark} "
        else:
            return f"{kept}{text}".strip() or last, found


def _is_wrapped(text: str, narrow: str) -> bool:
    """Return whether a forward mark stands around the whole subject: `[Fwd: Subject]` (RFC 5256 §2.1)."""
    if not (text.startswith("[") and text.endswith("]") and prefix_pattern().match(narrow, 1)):
        return False
    depth = 0
    for place, char in enumerate(text, 1):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return place == len(text)
    return False


def subject_key(subject: str) -> str:
    """Return the key under which a subject is matched: stripped, NFKC, case-folded."""
    text, _ = strip_prefixes(subject)
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
