"""Split an mbox into its messages without holding it in memory, and undo its quoting.

Python's own `mailbox.mbox` splits at every line that begins with `From `. Writers forget to quote such lines
in bodies, so here a separator must look like one (`packs/mbox.toml`), follow a blank line, and stand before
a header.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from functools import cache
from typing import BinaryIO, NamedTuple

from stages.fetch.sniff import field_name, pack

CHUNK = 1 << 20
LINE = 998
"""The longest separator or header line that is looked at (RFC 5322 §2.1.1)."""
WINDOW = 10 * LINE
BOM = b"\xef\xbb\xbf"

_QUOTED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_YEAR = re.compile(r"(19|20)\d\d")
_ZONE = re.compile(r"\(?[+-]\d{4}\)?|[A-Z]{1,5}")
_DAYS = frozenset(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
_MONTHS = frozenset(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))


class Span(NamedTuple):
    """Where a message stands, in bytes: after its separator, before the blank line that ends it."""

    offset: int
    length: int


class _Separator(NamedTuple):
    start: int
    message: int
    blank: int


def separator_kind(line: bytes) -> str | None:
    """Return "dated" or "bare" if `line` (without its line end) can separate messages, else None."""
    if not line.startswith(b"From ") or len(line) > LINE:
        return None
    words = line[5:].decode("latin-1").replace(",", " ").split()
    if not words:
        return "bare"
    return "dated" if _ends_with_date(words) else None


def _ends_with_date(words: list[str]) -> bool:
    tail = words[-7:]  # weekday, month, day, clock, year, and up to two words of zone
    while len(tail) > 1 and _ZONE.fullmatch(tail[-1]):
        tail.pop()
    if _YEAR.fullmatch(tail[-1]):
        timed = any(_CLOCK.fullmatch(word) for word in tail[-4:-1])
    else:
        timed = len(tail) > 1 and bool(_CLOCK.fullmatch(tail[-1]) and _YEAR.fullmatch(tail[-2]))
    names = {word.lower() for word in tail}
    if not timed or names.isdisjoint(_MONTHS):
        return False
    return not names.isdisjoint(_DAYS) or "@" in words[0] or words[0] == "-"


def find_messages(file: BinaryIO) -> Iterator[Span]:
    """Yield the place of every message of an open mbox, in order; memory stays bounded by a few MB.

    Text before the first separator is a message too (a damaged head must not be silent), unless it is blank.
    A separator with nothing behind it, as a torn copy leaves it, starts no message.
    """
    start, size = 0, file.seek(0, 2)
    for mark in _find_separators(file, size):
        yield from _span(file, start, mark.start - mark.blank)
        start = mark.message
    yield from _span(file, start, size - _blank_end(file, size))


def read_message(file: BinaryIO, span: Span) -> Iterator[bytes]:
    """Yield the bytes of one message in pieces, one level of `>From ` quoting undone.

    mboxo and mboxrd cannot be told apart, so one rule holds for both: a line `>…>From ` loses one `>`.
    Raises OSError where the file ends before the message does.
    """
    place, left, carry, fresh = span.offset, span.length, b"", True
    while left:
        file.seek(place)
        chunk = file.read(min(left, CHUNK))
        if not chunk:
            raise OSError(errno.ESTALE, "the file became shorter while it was read")
        place += len(chunk)
        left -= len(chunk)
        carry += chunk
        cut = carry.rfind(b"\n") + 1 if left else len(carry)
        if not cut and len(carry) < CHUNK:
            continue
        piece, carry = carry[: cut or len(carry)], carry[cut or len(carry) :]
        if not fresh:  # the first bytes belong to a line that began in an earlier piece
            head, end, piece = piece.partition(b"\n")
            yield head + end
            if not end:
                continue
        if piece:
            yield _QUOTED.sub(b"", piece) if b">From " in piece else piece
        fresh = True if not piece else piece.endswith(b"\n")


def _find_separators(file: BinaryIO, size: int) -> Iterator[_Separator]:
    file.seek(0)
    first = file.read(CHUNK)
    skipped = len(BOM) if first.startswith(BOM) else 0
    # Two line ends before the first byte let the start of the file pass for "after a blank line".
    buffer, base = b"\n\n" + first[skipped:], skipped - 2
    place = 0
    while True:
        last = base + len(buffer) >= size
        limit = len(buffer) if last else len(buffer) - WINDOW
        while (found := buffer.find(b"\nFrom ", place, max(limit, 0))) >= 0:
            place = found + 1
            mark = _separator_at(buffer, place, base, last)
            if mark:
                yield mark
        if last:
            return
        file.seek(base + len(buffer))  # the caller may read the same file between two messages
        chunk = file.read(CHUNK)
        if not chunk:  # shorter than it was a moment ago
            size = base + len(buffer)
            continue
        keep = max(limit - 16, 0)  # what stands before a separator decides too
        place = max(place, limit - 6, 0) - keep
        buffer, base = buffer[keep:] + chunk, base + keep


def _separator_at(buffer: bytes, place: int, base: int, last: bool) -> _Separator | None:
    """Return the separator at `place`, which follows a line end, or None. `last`: the file ends here."""
    line, after = _line_at(buffer, place)
    kind = separator_kind(line)
    before = buffer[max(place - 3, 0) : place]
    blank = 2 if before == b"\n\r\n" else 1 if before.endswith(b"\n\n") else 0
    at_start = base + place in (0, len(BOM))
    if (kind is None and not at_start) or (kind == "dated" and not blank):
        return None
    message = _after_old_envelopes(buffer, after)
    following, end = _line_at(buffer, message)
    name = field_name(following)
    torn = last and end == len(buffer) and (message == end or not buffer.endswith(b"\n"))
    if torn and kind and blank and b" " not in following:  # a copy that broke off within the first name
        return _Separator(base + place, base + message, blank)
    if name is None and message == after:
        return None
    if kind == "bare" and not blank and not _begins_message(name):
        return None
    return _Separator(base + place, base + message, 0 if at_start else blank)


def _line_at(buffer: bytes, place: int) -> tuple[bytes, int]:
    """Return the line at `place` without its end, cut at a length limit, and where the next begins."""
    end = buffer.find(b"\n", place, place + 2 * LINE)
    if end < 0:
        end = min(place + 2 * LINE, len(buffer))
        return buffer[place:end], end
    return buffer[place:end].rstrip(b"\r"), end + 1


def _after_old_envelopes(buffer: bytes, place: int) -> int:
    """Return the place behind `>From ` lines: envelopes of earlier hops that some mailers put first."""
    for _ in range(3):
        end = buffer.find(b"\n", place, place + LINE) if buffer.startswith(b">From ", place) else -1
        if end < 0:
            break
        place = end + 1
    return place


@cache
def _first_names() -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    rules = pack("mbox")["bare"]
    return frozenset(name.encode() for name in rules["names"]), tuple(p.encode() for p in rules["prefixes"])


def _begins_message(name: bytes | None) -> bool:
    names, prefixes = _first_names()
    return name is not None and (name in names or name.startswith(prefixes))


def _blank_end(file: BinaryIO, size: int) -> int:
    """Return the length of the blank line that ends the last message, 0 if it has none."""
    file.seek(max(size - 3, 0))
    tail = file.read(3)
    return 2 if tail == b"\n\r\n" else 1 if tail.endswith(b"\n\n") else 0


def _span(file: BinaryIO, start: int, end: int) -> Iterator[Span]:
    if end <= start:
        return
    if end - start <= WINDOW:
        file.seek(start)
        if not file.read(end - start).removeprefix(BOM).strip():
            return
    yield Span(start, end - start)
