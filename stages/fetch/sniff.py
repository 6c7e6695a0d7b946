"""Tell by name and first bytes whether a file is mail, an mbox, or neither."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Literal

Kind = Literal["mail", "mbox"]

HEAD = 4096
"""Bytes of a file that are looked at."""

FIELD = re.compile(rb"([!-9;-~]{1,76})[ \t]{0,8}:(?!//)")
"""A header field's name (RFC 5322 §2.2, with §4.5's space before the colon), but not a web address."""


@cache
def pack(name: str) -> dict[str, Any]:
    """Return one of this stage's rule packs."""
    return tomllib.loads((resources.files("stages.fetch") / "packs" / f"{name}.toml").read_text("utf-8"))


@cache
def _extensions() -> dict[str, Kind]:
    return {row["suffix"]: row["kind"] for row in pack("files")["extension"]}


@cache
def _names() -> frozenset[bytes]:
    return frozenset(name.encode() for name in pack("files")["sniff"]["names"])


def extension(name: bytes) -> str:
    """Return the lower-cased extension of a file name, "" if it has none (`17`, `17.`, `.hidden`)."""
    suffix = os.path.splitext(name)[1].lower().decode("latin-1")
    return "" if suffix == "." else suffix


def kind_by_name(name: bytes) -> Kind | None:
    """Return what the extension says; None where it says nothing."""
    return _extensions().get(extension(name))


def field_name(line: bytes) -> bytes | None:
    """Return the lower-cased field name if `line` looks like a header field."""
    found = FIELD.match(line)
    return found.group(1).lower() if found else None


def kind_by_content(head: bytes) -> Kind | None:
    """Return what the first `HEAD` bytes of a file say: an mbox, a message, or neither."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    lines = head.split(b"\n")
    if lines[0].startswith(b"From ") and len(lines) > 1:
        return "mbox" if field_name(lines[1]) or lines[1].startswith(b">From ") else None
    if field_name(lines[0]) is None:
        return None
    for line in lines:
        if not line.strip():
            break
        if field_name(line) in _names():
            return "mail"
    return None
