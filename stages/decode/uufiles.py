"""Files that old mailers wrote into the text as uuencode (IEEE Std 1003.1, `uuencode`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from stages.decode.headers import Headers
from stages.decode.part import Part

_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\r\n]{1,200}?)[ \t]*\r?\n", re.MULTILINE)
_MAX_FILES = 20  # of one text; more stay in it


class UuFile(NamedTuple):
    """A file inside a text: its name as written, and the span `[start, end)` of its lines."""

    name: bytes
    start: int
    end: int


def split_files(part: Part) -> tuple[list[Part], list[Part]]:
    """Return the pieces of a plain text between its uuencoded files, and the files, as parts of their own."""
    if part.source.find(b"begin ", part.start, part.end) < 0:
        return [part], []
    text = part.payload()
    files = find_files(text)
    if not files:
        return [part], []
    label = Headers([field for field in part.headers.fields if field[0] == "content-type"])
    words: list[Part] = []
    out: list[Part] = []
    at = 0
    for file in [*files, UuFile(b"", len(text), len(text))]:
        if text[at : file.start].strip():
            words.append(Part(text, at, file.start, label, part.parent, "text/plain"))
        if file.name:
            name = file.name.replace(b'"', b"'").replace(b"\\", b"/")
            fields = [
                ("content-type", b'application/octet-stream; name="' + name + b'"'),
                ("content-transfer-encoding", b"uuencode"),
            ]
            out.append(Part(text, file.start, file.end, Headers(fields), part, "text/plain"))
        at = file.end
    return words, out


def find_files(text: bytes) -> list[UuFile]:
    """Return the uuencoded files of a text in order. Every line must be what its first byte says, and `end`
    must follow: prose that begins with the word is no file."""
    found: list[UuFile] = []
    at = 0
    while len(found) < _MAX_FILES:
        begin = _BEGIN.search(text, at)
        if begin is None:
            break
        at, closed = _past_lines(text, begin.end())
        if closed:
            found.append(UuFile(begin[1], begin.start(), at))
    return found


def _past_lines(text: bytes, at: int) -> tuple[int, bool]:
    """Return the offset behind the last good line, and whether that was `end` below at least one line."""
    lines = 0
    while at < len(text):
        stop = text.find(b"\n", at)
        after = len(text) if stop < 0 else stop + 1
        if after - at > 100:
            break
        line = text[at:after].rstrip(b"\r\n")
        if line.rstrip() == b"end":
            return after, lines > 0
        size = (line[0] - 32) & 63 if line.strip() else 0
        letters = (size + 2) // 3 * 4
        # trailing blanks stand for zeros and get lost on the way; some encoders add a check character
        if size and not (letters - 2 <= len(line) - 1 <= letters + 2 and max(line) <= 96 and min(line) >= 32):
            break
        lines += 1
        at = after
    return at, False
