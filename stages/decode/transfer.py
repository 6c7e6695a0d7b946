"""Content-Transfer-Encoding, undone without ever failing (RFC 2045 §6)."""

from __future__ import annotations

import binascii
import re

_NOT_B64 = re.compile(rb"[^A-Za-z0-9+/=]+")
_UU_BEGIN = re.compile(rb"^begin [0-7]{3,4} [^\r\n]{0,300}\r?\n", re.MULTILINE)


def encoding_of(value: str) -> str:
    """Return the canonical name of a Content-Transfer-Encoding value: base64, quoted-printable, uuencode
    or "" for everything that needs no decoding."""
    name = value.strip().strip("\"'").lower().split(";", 1)[0].strip().replace("_", "-").replace(" ", "-")
    if name in {"base64", "base-64", "b"}:
        return "base64"
    if name in {"quoted-printable", "quotedprintable", "q"}:
        return "quoted-printable"
    if name in {"uuencode", "x-uuencode", "uue", "x-uue"}:
        return "uuencode"
    return ""


def undo_transfer(data: bytes, encoding: str) -> bytes:
    """Return the bytes behind a transfer encoding; what is damaged is skipped."""
    if encoding == "base64":
        return _base64(data)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    if encoding == "uuencode":
        return _uuencoded(data)
    return data


def _base64(data: bytes) -> bytes:
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
