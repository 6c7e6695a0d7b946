"""Subjects without what mail clients, lists and gateways put before them: one pack for every stage."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

Mark = Literal["reply", "forward", "event", "opening"]
KINDS: tuple[Mark, ...] = ("reply", "forward", "event", "opening")

_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"[\[【(<{《]([^\[\]【】(){}<>《》]{1,40})[\]】)>}》]\s*|\*{1,4}([^*]{1,30})\*{1,4}\s*")
_LIST_OPEN = "[【"
_DIGIT = re.compile(r"\d")
_PLACE = re.compile(r" @ [^@]{0,40}\d[^@]{0,80}(?:\([^()@]{0,60}\) ?){0,2}(?:\([^()]{0,80}\))?$")
_FORMER = re.compile(
    r"\s*[(（\[【](?:was|formerly|previously|原|原主题|原主題|原主旨|原标题|原標題|旧|元|旧件名|元件名|原題|이전|war|ehemals|era|était|anciennement)"
    r"\s?[:：]\s*([^()（）]{2,200})[)）\]】]\s*$",
    re.IGNORECASE,
)
_MAX = 1000  # characters that are looked at
_FRONT = 100  # characters that hold the longest mark or tag
_INVISIBLE = (
    " \u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
# one character for one, so that a match in the narrow copy is a span of the text
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_NARROW |= dict.fromkeys((0xFE55, 0xFE30, 0x2236, 0xA789, 0x02D0), ord(":")) | {
    0x3014: ord("["),
    0x3015: ord("]"),
}


class Subject(NamedTuple):
    """A subject read: the `text` that is left, the `marks` that stood before it (outermost first), the name of a
    list that put a tag there, in lower case."""

    text: str
    marks: tuple[Mark, ...]
    list_tag: str | None

    @property
    def continues(self) -> bool:
        """Whether a mark says that the message answers, passes on or updates another one."""
        return any(mark != "opening" for mark in self.marks)


@cache
def load_marks() -> dict[str, dict[str, list[str]]]:
    """Return the packs by language: lists of words for each of `KINDS`, `counted`, and examples of each."""
    packs: dict[str, dict[str, list[str]]] = tomllib.loads(
        files("models").joinpath("subject_marks.toml").read_text(encoding="utf-8")
    )
    return packs


@cache
def _kinds() -> dict[str, Mark]:
    """Return the kind of each word; one that several languages use differently is a reply."""
    found: dict[str, Mark] = {}
    for pack in load_marks().values():
        for kind in reversed(KINDS):
            found.update(dict.fromkeys(pack.get(kind, []), kind))
    for pack in load_marks().values():
        found.update(dict.fromkeys(pack.get("reply", []), "reply"))
    return found


@cache
def _gateway_tags() -> frozenset[str]:
    return frozenset(load_marks()["gateways"]["tags"])


@cache
def mark_pattern() -> re.Pattern[str]:
    """Return the pattern of one mark with its counter (`Re[2]:`, `RE(3):`, `Re^2:`), over narrow text; group
    `word` is the mark."""
    packs = load_marks().values()
    words = _alternatives(word for pack in packs for kind in KINDS for word in pack.get(kind, []))
    counted = _alternatives(word for pack in packs for word in pack.get("counted", []))
    bare = _alternatives(load_marks()["gateways"]["bare"])
    counter = r"(?:\[\d{1,3}\]|\(\d{1,3}\)|【\d{1,3}】|<\d{1,3}>|\{\d{1,3}\}|[\^*]\d{1,3})"
    return re.compile(
        rf"(?:(?P<word>{words})\s?{counter}?|(?P<counted>{counted})\d{{1,3}}|(?P<gateway>{bare}))\s?:\s*",
        re.IGNORECASE,
    )


def _alternatives(words: Iterable[str]) -> str:
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word) for word in ordered)


@lru_cache(maxsize=4096)
def read_subject(subject: str) -> Subject:
    """Return what is left of `subject` without marks and leading tags, and what these were.

    Case is kept, runs of space are one space. A tag that holds a digit is a number of something, not the name
    of a list: it stays, for two numbers are two conversations; so does a tag that is all there is. Each pass
    takes something away, and looks at a bounded front.
    """
    text = _SPACE.sub(" ", unicodedata.normalize("NFC", subject[:_MAX]))
    marks: list[Mark] = []
    kept, last, listed = "", "", None
    while True:
        text = text.lstrip(_INVISIBLE).rstrip()
        narrow = text[:_FRONT].translate(_NARROW)
        if found := mark_pattern().match(narrow):
            text = text[found.end() :]
            if found["gateway"] is None:
                marks.append(_kind_of(found["word"] or found["counted"]))
        elif text[-5:].casefold() == "(fwd)":
            text = text[:-5]
            marks.append("forward")
        elif (end := _gateway_end(text)) is not None:
            text = text[:end]
        elif _is_wrapped(text, narrow):
            text = text[1:-1]
        elif tag := _TAG.match(narrow):
            name = (tag[1] or tag[2]).casefold().strip()
            if name in _gateway_tags():
                text = text[tag.end() :]
            elif narrow[0] not in _LIST_OPEN:
                break
            elif name in _kinds():
                text = text[tag.end() :]
                marks.append(_kinds()[name])
            else:
                last, text = text[: tag.end()].strip(), text[tag.end() :]
                if _DIGIT.search(tag[1]):
                    kept += f"{last} "
                else:
                    listed = listed or name
        else:
            break
    if "event" in marks or "opening" in marks:
        text = _PLACE.sub("", text)  # " @ Tue 4 May 2026 10:00 - 11:00 (CET) (ann@…)" of a calendar
    whole = f"{kept}{text}".strip() or last
    return Subject(whole, tuple(marks), listed if text else None)


def _kind_of(word: str) -> Mark:
    return _kinds().get(word.casefold(), "reply")


def _gateway_end(text: str) -> int | None:
    """Return where a gateway's tag at the end of a subject begins, None if there is none."""
    tail = text[-_FRONT:]
    if not tail or tail[-1] not in "]】］":
        return None
    start = max(tail.rfind(char) for char in "[【［")
    if start < 0 or tail[start + 1 : -1].strip().casefold() not in _gateway_tags():
        return None
    return len(text) - len(tail) + start


def _is_wrapped(text: str, narrow: str) -> bool:
    """Return whether a forward mark stands around the whole subject: `[Fwd: Subject]` (RFC 5256 §2.1)."""
    if not (text.startswith("[") and text.endswith("]") and mark_pattern().match(narrow, 1)):
        return False
    depth = 0
    for place, char in enumerate(text, 1):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return place == len(text)
    return False


def strip_prefixes(subject: str) -> tuple[str, bool]:
    """Return `subject` without marks and leading tags, and whether a mark says that it continues another one."""
    found = read_subject(subject)
    return found.text, found.continues


def former_key(subject: str) -> str | None:
    """Return the key of the subject that a renamed one names in brackets at its end: `Prices (was: Catalogue)`."""
    found = _FORMER.search(read_subject(subject).text)
    return subject_key(found[1]) or None if found else None


def subject_key(subject: str) -> str:
    """Return the key under which a subject is matched: stripped, NFKC, case-folded, without a former subject."""
    text = read_subject(subject).text
    text = _FORMER.sub("", text) or text
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
