"""The MIME tree (RFC 2045-2049), split by offsets over one buffer: no recursion, no copies, capped.

The standard library's parser recurses once per level and tests every line against every open boundary, so
a small hostile message stops it; here the outermost boundary is searched first and each level is one
forward search, with the caps on parts and depth checked while the tree grows.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from models.errors import ResourceLimit
from models.message import Repair
from stages.decode.cms import MIMES as SMIME
from stages.decode.cms import signed_content
from stages.decode.config import DecodePolicy
from stages.decode.containers import open_container
from stages.decode.headers import Headers, read_headers
from stages.decode.params import media_type
from stages.decode.part import NESTED, Part

_GUESS = re.compile(rb"^--([!-~][ -~]{3,69}?)[ \t]{0,20}\r?\n(?=[Cc]ontent-)", re.MULTILINE)
_MAX_REPAIRS = 100
_LONGEST_TAIL = 200  # bytes of white space that may follow a delimiter


def parse_tree(data: bytes, policy: DecodePolicy) -> tuple[Part, list[Repair]]:
    """Return the root part of a message and what had to be mended.

    Raises ResourceLimit for more than `policy.max_parts` parts or `policy.max_depth` levels.
    """
    repairs: list[Repair] = []
    headers, body, odd = read_headers(data, 0, len(data), policy.max_header_chars, lenient=True)
    _note_headers(headers, odd, repairs)
    root = Part(data, body, len(data), headers, None, "text/plain")
    count = 1
    waiting = deque([root])
    while waiting:
        part = waiting.popleft()
        _split(part, policy, repairs)
        count += len(part.children)
        if count > policy.max_parts:
            raise ResourceLimit(
                f"more than {policy.max_parts} MIME parts",
                stage="decode",
                remedy="look at the message by hand",
            )
        if part.children and part.depth + 1 > policy.max_depth:
            raise ResourceLimit(
                f"MIME parts nested more than {policy.max_depth} deep",
                stage="decode",
                remedy="look at the message by hand",
            )
        waiting.extend(part.children)
    return root, repairs


def _note_headers(headers: Headers, odd: list[str], repairs: list[Repair]) -> None:
    for kind in odd:
        if kind != "no_blank_line" or headers.fields:
            repairs.append(Repair(kind=kind))
    for name in headers.cut[:10]:
        repairs.append(Repair(kind="header_cut", detail=name))


def _split(part: Part, policy: DecodePolicy, repairs: list[Repair]) -> None:
    """Give `part` its children, or make it a leaf that can be read."""
    if part.children:
        return  # opened together with its container
    if part.mime in NESTED:
        _open_nested(part, policy, repairs)
    elif part.mime.startswith("multipart/"):
        _open_multipart(part, policy, repairs)
    elif part.mime in SMIME:
        _open_signed(part, policy)
    elif part.mime.startswith("application/") and open_container(part):
        _note(repairs, "container_opened", "winmail.dat")


def _open_signed(part: Part, policy: DecodePolicy) -> None:
    """Give an opaque S/MIME signature the entity that it wraps as its child; an encrypted one stays a leaf."""
    content = signed_content(part.payload())
    if content:
        headers, body, _ = read_headers(content, 0, len(content), policy.max_header_chars)
        part.children = [Part(content, body, len(content), headers, part, "text/plain")]


def _open_nested(part: Part, policy: DecodePolicy, repairs: list[Repair]) -> None:
    source, start, end = part.source, part.start, part.end
    if part.transfer:
        source = part.payload()
        start, end = 0, len(source)
        _note(repairs, "encoded_message", f"{part.mime} in {part.transfer}")
    while start < end and source[start] in b"\r\n":
        start += 1
    if source.startswith((b"From ", b">From "), start):
        start = source.find(b"\n", start, end) + 1 or end
    headers, body, _ = read_headers(source, start, end, policy.max_header_chars, lenient=True)
    if not headers.fields:
        part.mime = "text/plain" if start < end else part.mime
        _note(repairs, "nested_without_headers", "read as text")
        return
    part.children = [Part(source, body, end, headers, part, "text/plain")]


def _open_multipart(part: Part, policy: DecodePolicy, repairs: list[Repair]) -> None:
    default = "message/rfc822" if part.mime == "multipart/digest" else "text/plain"
    for boundary, kind in _boundaries(part):
        open_end = kind == "boundary_prefix"
        spans = _spans(part.source, part.start, part.end, boundary, policy.max_parts, open_end=open_end)
        if spans:
            if kind:
                _note(repairs, kind, part.mime)
            part.children = [_child(part, span, policy, default) for span in spans]
            _keep_preamble(part, boundary, spans[0][0], repairs)
            return
    if part.transfer:
        source = part.payload()
        if source != part.source[part.start : part.end]:
            _note(repairs, "encoded_multipart", f"{part.mime} in {part.transfer}")
            part.source, part.start, part.end, part.transfer = source, 0, len(source), ""
            part._payload = None
            _open_multipart(part, policy, repairs)
            return
    _note(repairs, "multipart_without_parts", f"{part.mime} read as text")
    part.mime = "text/plain"


def _keep_preamble(part: Part, boundary: bytes, first: int, repairs: list[Repair]) -> None:
    """Make the preamble a part where two Content-Type fields contend: the first one may mean just it."""
    types = part.headers.all("content-type")
    if len(types) < 2:
        return
    _note(repairs, "two_content_types", part.mime)
    stop = part.source.rfind(b"--" + boundary, part.start, first)
    if part.source[part.start : stop].strip() and media_type(types[0], "")[0].startswith("text/"):
        headers = Headers([("content-type", types[0])])
        part.children.insert(0, Part(part.source, part.start, stop, headers, part, "text/plain"))


def _boundaries(part: Part) -> Iterator[tuple[bytes, str | None]]:
    """Yield boundaries to try, with the repair that each but the declared one stands for."""
    declared = part.params.get("boundary", "").encode("utf-8", "surrogateescape")
    if declared:
        yield declared, None
        tight = b" ".join(declared.split())
        for form in (declared.strip(), tight, declared.replace(b"\t", b" "), tight.replace(b" ", b"")):
            if form and form != declared:
                yield form, "boundary_folded"
    seen = _GUESS.search(part.source, part.start, part.end)
    if seen and seen[1] != declared:
        yield seen[1], "boundary_guessed"
    if declared:
        yield declared, "boundary_prefix"  # RFC 2046 §5.1.1 compares the beginning of the line only


def _spans(
    source: bytes, start: int, end: int, boundary: bytes, max_parts: int, *, open_end: bool = False
) -> list[tuple[int, int]]:
    """Return the spans between the delimiter lines of `boundary`; [] if there is none. With `open_end` a
    line that only begins with the delimiter is one too.

    The line end in front of a delimiter belongs to it (RFC 2046 §5.1.1). A missing close delimiter ends
    the last part at `end`.
    """
    spans: list[tuple[int, int]] = []
    delimiter = b"--" + boundary
    opened = -1
    at = start
    while len(spans) <= max_parts:
        found = source.find(delimiter, at, end)
        if found < 0:
            break
        at = found + len(delimiter)
        if found != start and source[found - 1] != 10:
            continue
        stop = source.find(b"\n", found, end)
        line_end = end if stop < 0 else stop
        tail = source[at : min(line_end, at + _LONGEST_TAIL)]
        if not open_end and tail.strip(b" \t\r") not in {b"", b"--"}:
            continue
        at = line_end
        if opened >= 0:
            spans.append((opened, max(opened, _before_line_end(source, opened, found))))
        opened = min(line_end + 1, end)
        if tail.strip(b" \t\r") == b"--":
            opened = -1
            break
    if opened >= 0 and len(spans) <= max_parts and source[opened:end].strip():
        spans.append((opened, end))
    return spans


def _before_line_end(source: bytes, start: int, at: int) -> int:
    if at > start and source[at - 1] == 10:
        at -= 1
    if at > start and source[at - 1] == 13:
        at -= 1
    return at


def _child(parent: Part, span: tuple[int, int], policy: DecodePolicy, default: str) -> Part:
    headers, body, _ = read_headers(parent.source, span[0], span[1], policy.max_header_chars)
    return Part(parent.source, body, span[1], headers, parent, default)


def _note(repairs: list[Repair], kind: str, detail: str) -> None:
    if len(repairs) < _MAX_REPAIRS:
        repairs.append(Repair(kind=kind, detail=detail))
