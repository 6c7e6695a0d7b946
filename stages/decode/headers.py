"""The header section of a message or part, from raw bytes and 8-bit safe (RFC 5322 §2.2)."""

from __future__ import annotations

import re

_NAME = re.compile(rb"([!-9;-~]{1,200})[ \t]{0,8}:")
_ODD_NAME = re.compile(rb"[^\s:]{1,100}:")  # 8-bit letters or signs in a field's name
_MAX_FIELDS = 5_000
_KNOWN = frozenset(
    b"from to cc bcc subject date sender reply-to message-id in-reply-to references received return-path "
    b"mime-version content-type content-transfer-encoding content-disposition content-id x-mailer".split()
)


class Headers:
    """Fields of one header section in order: lower-case name and unfolded raw value."""

    __slots__ = ("_first", "cut", "fields")

    def __init__(self, fields: list[tuple[str, bytes]], cut: list[str] | None = None) -> None:
        self.fields = fields
        self.cut = cut or []
        self._first: dict[str, bytes] = {}
        for name, value in fields:
            self._first.setdefault(name, value)

    def get(self, name: str) -> bytes | None:
        """Return the first value of a field, None if it is absent."""
        return self._first.get(name)

    def all(self, name: str) -> list[bytes]:
        """Return every value of a field in order."""
        return [value for key, value in self.fields if key == name] if name in self._first else []

    def __contains__(self, name: str) -> bool:
        return name in self._first

    def ascii(self, name: str) -> str:
        """Return the first value with everything but printable ASCII dropped, "" if absent."""
        value = self._first.get(name)
        if value is None:
            return ""
        return "".join(
            c for c in value.decode("ascii", "ignore").replace("\t", " ") if " " <= c <= "~"
        ).strip()


def read_headers(
    data: bytes, start: int, end: int, max_chars: int, *, lenient: bool = False
) -> tuple[Headers, int, list[str]]:
    """Return the header section at `start`, the offset of the body, and what was odd about it.

    The section ends at a blank line, or in front of the first line that is neither a field nor a
    continuation. With `lenient` (the outermost header), such a line that is followed by a well-known field
    counts as a continuation that lost its indent. A value over `max_chars` bytes is cut.
    """
    fields: list[tuple[str, bytes]] = []
    pieces: list[bytes] = []  # lines of the value being read
    name = ""
    size = 0
    cut: list[str] = []
    odd: list[str] = []
    at = start
    while at < end:
        stop = data.find(b"\n", at, end)
        after = end if stop < 0 else stop + 1
        line = data[at : end if stop < 0 else stop].rstrip(b"\r")
        if not line:
            at = after
            break
        if line[0] in b" \t" and name:
            if size <= max_chars:
                pieces.append(line[: max_chars + 1])
                size += len(line)
            at = after
            continue
        match = _NAME.match(line)
        if match is None:
            if name and lenient and _field_follows(data, after, end):
                pieces.append(b" " + line[:max_chars])
                size += len(line)
                odd.append("stray_header_line")
                at = after
                continue
            if name and (line.startswith((b"From ", b">From ")) or (lenient and _ODD_NAME.match(line))):
                odd.append("odd_header_line")
                at = after
                continue
            odd.append("no_blank_line")
            break
        if name:
            fields.append((name, _joined(name, pieces, size, max_chars, cut)))
            if len(fields) >= _MAX_FIELDS:
                odd.append("too_many_fields")
                name = ""
                at = _blank_line(data, at, end)
                break
        name = match[1].decode("ascii").lower()
        value = line[match.end() :]
        pieces = [value if len(value) <= max_chars else value[: max_chars + 1]]
        size = len(value)
        at = after
    if name:
        fields.append((name, _joined(name, pieces, size, max_chars, cut)))
    return Headers(fields, cut), at, odd


def _joined(name: str, pieces: list[bytes], size: int, max_chars: int, cut: list[str]) -> bytes:
    value = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if size > max_chars:
        cut.append(name)
        value = value[:max_chars]
    if b"\0" in value:
        value = value.replace(b"\0", b"")
    if b"\r" in value:  # a bare CR is no line end here: it would let a value forge a field
        value = value.replace(b"\r", b" ")
    return value.strip(b" \t")


def _field_follows(data: bytes, at: int, end: int) -> bool:
    match = _NAME.match(data, at, end)
    return match is not None and match[1].lower() in _KNOWN


def _blank_line(data: bytes, at: int, end: int) -> int:
    found = re.compile(rb"\n\r?\n").search(data, at, end)
    return found.end() if found else end
