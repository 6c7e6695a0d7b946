"""Header text: 8-bit values and encoded words (RFC 2047)."""

from __future__ import annotations

import binascii
import re
import unicodedata
from itertools import groupby
from operator import itemgetter

from stages.decode.charset import codec_of, decode_bytes

WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")
_Q = re.compile(rb"=([0-9A-Fa-f]{2})")
_NOT_B64 = re.compile(r"[^A-Za-z0-9+/]+")
_MAX_SNIFFED = 20  # runs of words in one field whose charset may be looked for: a real field has a few
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def header_text(value: bytes, hint: str | None = None) -> str:
    """Return a raw value as text, its encoded words untouched; `hint` is the charset label to try for
    8-bit values (most often that of the body)."""
    if value.isascii():
        seven_bit = b"\x1b" in value or b"~{" in value
        return decode_bytes(value, hint) if seven_bit else value.decode("ascii")
    return decode_bytes(value, hint)


def decoded_text(value: bytes | None, hint: str | None = None) -> str:
    """Return an unstructured field (Subject …) fully decoded: one line, NFC, "" if absent."""
    if not value:
        return ""
    return one_line(decode_words(header_text(value, hint)))


def one_line(text: str) -> str:
    """Return `text` in NFC on one line; a control character becomes a space."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return _CONTROL.sub(" ", text).strip()


def decode_words(text: str) -> str:
    """Return `text` with its encoded words decoded.

    Neighbouring words of one charset, however it is spelt, are joined before the charset is undone, for
    many senders cut inside a character. White space between two words is dropped (RFC 2047 §6.2).
    """
    if "=?" not in text:
        return text
    out: list[str] = []
    runs = 0
    run: list[tuple[str, str]] = []  # encoding and payload of neighbouring words
    charset = ""
    last = 0
    for word in WORD.finditer(text):
        between = text[last : word.start()]
        here = word[1].split("*", 1)[0].lower()
        if last and not between.strip():
            between = ""
        if run and (between or (here != charset and codec_of(here) != codec_of(charset))):
            out.append(_decode_run(charset, run, sniff=runs < _MAX_SNIFFED))
            runs += 1
            run = []
        out.append(between)
        run.append((word[2].lower(), word[3]))
        charset = here
        last = word.end()
    if run:
        out.append(_decode_run(charset, run, sniff=runs < _MAX_SNIFFED))
    out.append(text[last:])
    return "".join(out)


def _decode_run(charset: str, words: list[tuple[str, str]], *, sniff: bool) -> str:
    data = _joined(words, carry=True)
    if not sniff:
        text = data.decode(codec_of(charset) or "utf-8", "replace")
        return text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
    if not _reads(data, charset):
        apart = _joined(words, carry=False)
        data = apart if apart != data and _reads(apart, charset) else data
    return decode_bytes(data, charset)


def _joined(words: list[tuple[str, str]], *, carry: bool) -> bytes:
    """Return the bytes of neighbouring words. An unpadded base64 word either lost its padding or, with
    `carry`, was cut inside a quantum that the next word goes on with."""
    data = b""
    for encoding, group in groupby(words, key=itemgetter(0)):
        payloads = [payload for _, payload in group]
        if encoding == "q":
            data += b"".join(map(_decode_q, payloads))
        else:
            data += _decode_b(payloads) if carry else b"".join(_decode_b([one]) for one in payloads)
    return data


def _reads(data: bytes, charset: str) -> bool:
    try:
        data.decode(codec_of(charset) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


def _decode_q(payload: str) -> bytes:
    raw = payload.replace("_", " ").encode("utf-8", "surrogateescape")
    return _Q.sub(lambda match: bytes([int(match[1], 16)]), raw)


def _decode_b(payloads: list[str]) -> bytes:
    data = b""
    carry = ""  # a quantum that was cut between two words
    for payload in payloads:
        letters = carry + _NOT_B64.sub("", payload)
        carry = ""
        rest = len(letters) % 4
        if rest and not payload.rstrip().endswith("="):
            letters, carry = letters[:-rest], letters[-rest:]
        data += _b64(letters)
    return data + _b64(carry)


def _b64(letters: str) -> bytes:
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    return binascii.a2b_base64(letters + "=" * (-len(letters) % 4))
