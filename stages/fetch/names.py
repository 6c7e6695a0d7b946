"""File names as text that is safe in JSON, in a log line and in the ledger, and back."""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote_to_bytes


def text_of(path: bytes) -> str:
    """Return a relative path as printable NFC text, reversible by `bytes_of`.

    Bytes that are not UTF-8, characters that do not print (line ends, controls, direction marks) and `%`
    itself become `%XX`. A name that is not NFC keeps its own identity: two files that differ only in that
    must not become one, so its characters outside ASCII are written as `%XX` too.
    """
    if path.isascii() and b"%" not in path:
        plain = path.decode("ascii")
        if plain.isprintable():
            return plain
    return "/".join(_piece(part) for part in path.split(b"/"))


def bytes_of(text: str) -> bytes:
    """Return the path that `text_of` made `text` of."""
    return unquote_to_bytes(text)


def _piece(name: bytes) -> str:
    text = name.decode("utf-8", "surrogateescape")
    ascii_only = not unicodedata.is_normalized("NFC", text)
    return "".join(
        char
        if char != "%" and char.isprintable() and not (ascii_only and char > "\x7f")
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in text
    )
