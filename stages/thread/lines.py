"""Digests of what a message says and of what it quotes: evidence for the one message that a reply answers."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b

from models.message import Dequoted

_QUOTED = frozenset({"quote", "forward_body"})
_MARKS = re.compile(r"^[ \t]*(?:[>|＞][ \t]?){1,20}", re.MULTILINE)
_LINES = re.compile(r"\n+")
_SENTENCES = re.compile(r"[.!?;](?:\s+|$)|[。！？；]|\n\s*\n")
_NOISE = re.compile(r"[\W_]+")
_MAX_TEXT = 8000  # characters that are read of each side
_MAX_DIGESTS = 48  # that are kept: the smallest, so that both sides keep the same ones
_MIN_BYTES = 18  # of a piece in UTF-8: 18 Latin letters, 6 Han characters
_LONG_BYTES = 60  # of a piece that hardly two people write alike: 20 Han characters


def is_long(piece: int) -> bool:
    """Return whether a digest is one of a long piece: its last bit says so."""
    return piece % 2 == 1


def said_and_quoted(cut: Dequoted) -> tuple[list[int], list[int]]:
    """Return the digests (48 bits, sorted) of what the sender wrote and of what the message quotes.

    Lines and sentences both count: a quote may be wrapped anew, a list of items has no sentences. Case, width,
    white space and punctuation do not count. Short pieces say nothing; `is_long` knows the long ones.
    """
    quoted = "\n\n".join(cut.text[s.start : s.end] for s in cut.segments if s.kind in _QUOTED)
    return _digests(cut.clean), _digests(_MARKS.sub("", quoted[:_MAX_TEXT]))


def _digests(text: str) -> list[int]:
    folded = unicodedata.normalize("NFKC", text[:_MAX_TEXT]).casefold()
    pieces = set(_LINES.split(folded))
    pieces.update(_SENTENCES.split(folded))
    found = set()
    for piece in pieces:
        if "@" in piece or "://" in piece or "www." in piece:  # footers, signatures, headers
            continue
        data = _NOISE.sub("", piece).encode("utf-8", "surrogatepass")
        if len(data) >= _MIN_BYTES:
            digest = int.from_bytes(blake2b(data, digest_size=6).digest(), "big")
            found.add(digest | 1 if len(data) >= _LONG_BYTES else digest & ~1)
    return sorted(found)[:_MAX_DIGESTS]
