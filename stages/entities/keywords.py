"""Keywords: the seed phrases that a mail mentions, then the business object that its subject names."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from models.curated import Seed
from models.message import Person
from stages.entities.dates import find_dates
from stages.entities.folding import fold, has_cjk, is_cjk

_MAX_SUBJECT = 300
_SPLIT = re.compile(r"[:：|｜—–;；,，。!！?？/／()（）\[\]【】「」『』《》<>\"“”]|\s-\s|\.\s|\s{3,}")
_REFERENCE = re.compile(r"#?\b(?:[A-Z]{1,6}-?\d[\dA-Z-]{0,20}|\d{3,})\b")


@cache
def load_pack() -> dict[str, Any]:
    """Return the pack of prefixes, fillers and empty subjects."""
    return tomllib.loads(files(__package__).joinpath("packs/keywords.toml").read_text(encoding="utf-8"))


@cache
def _empty() -> frozenset[str]:
    return frozenset(fold(word) for word in load_pack()["empty"])


def find_keywords(
    subject: str, text: str, seeds: list[Seed], people: list[Person], sent: str | None, zone: str
) -> list[str]:
    """Return the keywords: seeds as the seed list writes them (subject first), then the subject's object."""
    found = find_seeds(subject, text, seeds)
    phrase = subject_phrase(subject[:_MAX_SUBJECT], people, sent, zone)
    if phrase:
        folded = fold(phrase)
        if not any(folded == fold(word) for word in found):
            found.append(phrase)
    return found


def find_seeds(subject: str, text: str, seeds: list[Seed]) -> list[str]:
    """Return the seed keywords that subject or text contain, by NFKC, case and character variant folding."""
    if not seeds:
        return []
    haystack = fold(subject) + "\n" + fold(text)
    places: list[tuple[int, str]] = []
    for seed in seeds:
        spots = [_position(haystack, fold(word)) for word in (seed.keyword, *seed.synonyms)]
        hits = [spot for spot in spots if spot >= 0]
        if hits:
            places.append((min(hits), seed.keyword))
    return list(dict.fromkeys(keyword for _, keyword in sorted(places)))


def _position(haystack: str, needle: str) -> int:
    """Return where `needle` stands in `haystack`, whole words for Latin letters; -1 if nowhere."""
    start = haystack.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        left = start == 0 or not (_latin(needle[0]) and _latin(haystack[start - 1]))
        right = end == len(haystack) or not (_latin(needle[-1]) and _latin(haystack[end]))
        if left and right:
            return start
        start = haystack.find(needle, start + 1)
    return -1


def _latin(char: str) -> bool:
    return char.isalnum() and not is_cjk(char)


def strip_prefixes(subject: str) -> str:
    """Return the subject without reply prefixes and noise tags at its start."""
    pack = load_pack()
    prefixes, noise = frozenset(pack["prefixes"]), frozenset(pack["noise_tags"])
    subject = " ".join(subject.split())
    for _ in range(12):
        head = re.match(r"([A-Za-z\u3040-\u9fff]{1,6})(?:\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：]\s?", subject)
        if head and head[1].lower() in prefixes:
            subject = subject[head.end() :]
            continue
        tag = re.match(r"[\[【(（]([^\]】)）]{1,24})[\]】)）]\s?", subject)
        if tag and tag[1].strip().lower() in noise and subject[tag.end() :]:
            subject = subject[tag.end() :]
            continue
        break
    return subject


def subject_phrase(subject: str, people: list[Person], sent: str | None, zone: str) -> str | None:
    """Return the noun phrase that a subject names, None where only filler, dates or names are left."""
    pack = load_pack()
    rest = strip_prefixes(subject)
    for mention in reversed(find_dates(rest, sent or "2000-01-01T00:00:00+00:00", zone)):
        rest = rest[: mention.start] + " | " + rest[mention.end :]
    names = {part for person in people for part in (person.name, *person.name.split()) if len(part) > 1}
    for name in sorted((name for name in names if name in rest), key=lambda name: (-len(name), name)):
        rest = re.sub(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", " | ", rest)
    rest = _REFERENCE.sub(" | ", rest)
    best: str | None = None
    for piece in _SPLIT.split(rest)[:12]:
        phrase = _peel(piece.strip(" '’-_*#~…|"), pack)
        if phrase and fold(phrase) not in _empty():
            best = phrase
            break
    return best


@cache
def _ends(name: str) -> tuple[str, ...]:
    """Return the words of a pack (`lead`, `tail`) in Chinese and Japanese."""
    pack = load_pack()
    return (*pack[f"{name}_zh"], *pack[f"{name}_ja"])


def _peel(piece: str, pack: dict[str, Any]) -> str | None:
    if not piece or len(piece) > 80:
        return None
    if not has_cjk(piece):
        return _peel_english(piece, pack)
    changed = piece.startswith(_ends("lead")) or piece.endswith(_ends("tail"))
    while changed and piece:
        changed = False
        for word in (*pack["lead_zh"], *pack["lead_ja"]):
            if piece.startswith(word) and len(piece) > len(word) + 1:
                piece, changed = piece[len(word) :].lstrip(" 的"), True
        for word in (*pack["tail_zh"], *pack["tail_ja"]):
            if piece.endswith(word) and len(piece) > len(word) + 1:
                piece, changed = piece[: -len(word)].rstrip(" "), True
    if len(piece) < 2 or len(piece) > 24 or not any(char.isalpha() for char in piece):
        return None
    if (
        piece in pack["lead_zh"]
        or piece in pack["tail_zh"]
        or any(mark in piece for mark in ("我", "你", "您", "吗", "怎么", "什么", "ですか", "ます", "ました"))
    ):
        return None
    return piece


def _peel_english(piece: str, pack: dict[str, Any]) -> str | None:
    words = piece.split()
    lead, tail = frozenset(pack["lead_en"]), frozenset(pack["tail_en"])
    while words and words[0].lower().strip("'") in lead:
        words.pop(0)
    while words and words[-1].lower() in tail:
        words.pop()
    for index, word in enumerate(words):  # a clause ends the noun phrase
        if index and word.lower() in (
            "is",
            "are",
            "was",
            "has",
            "have",
            "will",
            "by",
            "for",
            "from",
            "before",
            "with",
            "at",
            "on",
            "to",
            "and",
            "in",
            "can",
            "not",
            "needs",
        ):
            words = words[:index]
            break
    if not 1 <= len(words) <= 6 or not any(char.isalpha() for char in words[0]) or len("".join(words)) < 3:
        return None
    return " ".join(words)
