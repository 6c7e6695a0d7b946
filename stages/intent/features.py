"""What the classifier reads of a mail: its pieces (subject, sentences, lines), their n-grams and cues."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from stages.intent.cues import cue_features, find_cues

HEAD, TAIL = 900, 300
MAX_CHARS, MAX_SENTENCES = 3000, 16
SHORTEST, LONGEST = 8, 400
"""Characters of a piece that is read as a sentence by itself, and those that are read of any piece."""
_PREFIX = re.compile(
    r"^(?:\s?(?:re|fwd?|aw|wg|回复|回覆|答复|答覆|转发|轉發|轉寄|返信|転送)\s?[:：]\s?){1,5}", re.IGNORECASE
)
_END = re.compile(r"(?<=[。！？!?;；])(?![。！？!?;；])|(?<=\.)(?=\s)|\n")
_WORD = re.compile(r"[a-zà-öø-ÿ']{2,20}")
_NUMBER = re.compile(r"[0-9]+")
_SPACE = re.compile(r"\s+")


class Piece(NamedTuple):
    """A subject, sentence or line in normal form: NFKC, lower case.

    `whole`: it stands in the head or tail, which are read as one text; `alone`: it is read as a sentence too.
    """

    text: str
    whole: bool
    alone: bool


class Reading(NamedTuple):
    """The features of one piece or of several: places of known n-grams, cue groups with their words, length in
    characters."""

    grams: set[int]
    cues: dict[str, set[str]]
    length: int


def split_pieces(subject: str, text: str) -> list[Piece]:
    """Return the subject without prefixes, the pieces of the head and tail of a text, and its first 16 sentences."""
    subject = _normal(_PREFIX.sub("", subject[:200]))
    pieces = [Piece(subject, True, False)] if subject else []
    tail, alone, place = len(text) - TAIL, 0, 0
    for part in _END.split(text[:MAX_CHARS]):
        start, place = place, place + len(part)
        normal = _normal(part)
        whole = start < HEAD or place > tail
        sentence = len(normal) >= SHORTEST and alone < MAX_SENTENCES
        if normal and (whole or sentence):
            pieces.append(Piece(normal, whole, sentence))
            alone += sentence
    rest = text[max(tail, MAX_CHARS) :]
    pieces += [Piece(normal, True, False) for part in _END.split(rest) if (normal := _normal(part))]
    return pieces


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text.strip()[:LONGEST]).lower().strip()


def read(piece: Piece, places: Mapping[str, int]) -> Reading:
    """Return the features of one piece. `places`: known n-grams, counted from 1."""
    known = set(map(places.get, ngrams(piece.text)))
    known.discard(None)
    return Reading(cast("set[int]", known), find_cues(piece.text), len(piece.text))


def join(readings: Iterable[Reading]) -> Reading:
    """Return the features of several pieces as those of one text."""
    grams: set[int] = set()
    cues: dict[str, set[str]] = {}
    length = 0
    for reading in readings:
        grams |= reading.grams
        for group, hits in reading.cues.items():
            cues[group] = cues.get(group, set()) | hits
        length += reading.length
    return Reading(grams, cues, length)


def cues_of(reading: Reading) -> list[str]:
    """Return the names of the cue features of a reading."""
    return cue_features(reading.cues, reading.length)


def ngrams(text: str) -> list[str]:
    """Return character 1- to 4-grams (spaces and numbers as one sign) and word 1- and 2-grams (`w:`)."""
    flat = _NUMBER.sub("0", _SPACE.sub(" ", text))
    grams = list(flat)
    for size in (2, 3, 4):
        grams += [flat[index : index + size] for index in range(len(flat) - size + 1)]
    words = _WORD.findall(flat)
    grams += [f"w:{word}" for word in words]
    grams += [f"w:{one} {two}" for one, two in itertools.pairwise(words)]
    return grams
