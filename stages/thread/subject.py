"""Subjects without what mail clients put before them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"[\[【]([^\[\]【】]{1,40})[\]】]\s*")
_MAX = 1000  # characters that are looked at
_EXTERNAL = frozenset(
    {"external", "ext", "外部邮件", "外部郵件", "外部メール", "extern", "externe", "externo", "spam"}
)


@cache
def prefix_pattern() -> re.Pattern[str]:
    """Return the pattern of one prefix with counters (`Re[2]:`, `RE(3)：`), case-insensitive."""
    packs = tomllib.loads((files("stages.thread") / "packs" / "prefixes.toml").read_text(encoding="utf-8"))
    words = sorted(
        {word for pack in packs.values() for word in pack["prefixes"]}, key=lambda word: (-len(word), word)
    )
    joined = "|".join(re.escape(word) for word in words)
    return re.compile(rf"(?:{joined})\s?(?:[\[(（【^]?\d{{1,3}}[\])）】]?)?\s?[:：]\s*", re.IGNORECASE)


def strip_prefixes(subject: str) -> tuple[str, bool]:
    """Return `subject` without reply and forward prefixes and gateway tags, and whether a prefix was there.

    Case and inner tags are kept, runs of space are one space. Linear: each pass removes something at the front.
    """
    text = _SPACE.sub(" ", unicodedata.normalize("NFC", subject[:_MAX])).strip()
    found = False
    while text:
        prefix = prefix_pattern().match(text)
        if prefix:
            text, found = text[prefix.end() :], True
            continue
        tag = _TAG.match(text)
        if tag and (tag[1].casefold().strip() in _EXTERNAL or prefix_pattern().match(text[tag.end() :])):
            text = text[tag.end() :]
            continue
        break
    return text.strip(), found


def subject_key(subject: str) -> str:
    """Return the key under which a subject is matched: no prefixes, no leading tags, NFKC, case-folded."""
    text, _ = strip_prefixes(subject)
    while (tag := _TAG.match(text)) and tag.end() < len(text):
        text = text[tag.end() :]
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
