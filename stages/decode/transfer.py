"""Content-Transfer-Encoding, undone without ever failing (RFC 2045 §6)."""

from __future__ import annotations

import binascii
import re

_NOT_B64 = re.compile(rb"[^A-Za-z0-9+/=]+")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n"
# What a gateway put below the encoded text: a rule, or a line of several words, after a blank line or padding.
_FOOTER = re.compile(rb"(?:\n[ \t]*\r?\n|=[ \t]*\r?\n)(?=[^\n]{0,200}_{5}|[^\n ]{1,60} [^\n ]{1,60} [^\n ])")
_PADDED_BREAK = re.compile(rb"=[ \t]{1,80}(?=\r?\n)")  # a relay may pad a soft line break (RFC 2045 §6.7)
_UU_BEGIN = re.compile(rb"^begin [0-7]{3,4} [^\r\n]{0,300}\r?\n", re.MULTILINE)


def encoding_of(value: str) -> str:
    """Return the canonical name of a Content-Transfer-Encoding value: base64, quoted-printable, uuencode
    or "" for everything that needs no decoding."""
    name = (
        value.split("(", 1)[0]
        .strip()
        .strip("\"'")
        .lower()
        .split(";", 1)[0]
        .strip()
        .replace("_", "-")
        .replace(" ", "-")
    )
    if name in {"base64", "base-64", "b"}:
        return "base64"
    if name in {"quoted-printable", "quotedprintable", "q"}:
        return "quoted-printable"
    if name in {"uuencode", "x-uuencode", "uue", "x-uue"}:
        return "uuencode"
    return ""


def undo_transfer(data: bytes, encoding: str, *, is_file: bool = False) -> bytes:
    """Return the bytes behind a transfer encoding; what is damaged is skipped. Plain text that a gateway
    put below base64 stays below the decoded text, and is no part of a file."""
    if encoding == "base64":
        return _base64(data, is_file=is_file)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_PADDED_BREAK.sub(b"=", data))
    if encoding == "uuencode":
        return _uuencoded(data)
    return data


def _base64(data: bytes, *, is_file: bool) -> bytes:
    if data.translate(None, _ALPHABET):
        footer = _FOOTER.search(data)
        if footer is not None:
            head = _base64(data[: footer.end()], is_file=True)
            return head if is_file else head + b"\n\n" + data[footer.end() :]
    letters = _NOT_B64.sub(b"", data)
    body = letters.rstrip(b"=")
    if b"=" not in body:
        return _quanta(body)
    # several encoded pieces one after the other: each ended with its own padding
    return b"".join(_quanta(piece) for piece in body.split(b"=") if piece)


def _quanta(letters: bytes) -> bytes:
    rest = len(letters) % 4
    if rest == 1:
        letters = letters[:-1]
    elif rest:
        letters += b"=" * (4 - rest)
    return binascii.a2b_base64(letters)


def _uuencoded(data: bytes) -> bytes:
    begin = _UU_BEGIN.search(data)
    if begin is None:
        return data
    out: list[bytes] = []
    for line in data[begin.end() :].splitlines():
        if line.strip() in {b"end", b"`", b""}:
            break
        try:
            out.append(binascii.a2b_uu(line))
        except binascii.Error:
            # some encoders add a stray character; the count in the first byte says how much is real
            wanted = (((line[0] - 32) & 63) * 4 + 5) // 3
            try:
                out.append(binascii.a2b_uu(line[:wanted]))
            except binascii.Error:
                continue
    return b"".join(out)
