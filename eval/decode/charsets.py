"""Charset table: texts × encodings × labels, each sent through the stage as a mail.

A long text is the body of a mail (8-bit), a short one its subject, as an encoded word (RFC 2047) or, without
a label, as raw bytes. A row is right if the very text comes out.
"""

from __future__ import annotations

import tomllib
import unicodedata
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eval.decode.table import Line, joined
from stages.decode import DecodePolicy, decode

DATA = Path(__file__).parent / "charsets.toml"


class Row(NamedTuple):
    """One text in one encoding under one label."""

    language: str
    text: str
    encoding: str
    label: str
    rightly: bool
    short: bool


def rows() -> Iterator[Row]:
    """Yield all rows of the table; a text that an encoding cannot hold is left out."""
    for language in tomllib.loads(DATA.read_text("utf-8"))["language"]:
        for form in language["form"]:
            for short in (True, False):
                for text in language["short" if short else "long"]:
                    if not _holds(form["encoding"], text):
                        continue
                    for rightly in (True, False):
                        for label in form["right" if rightly else "wrong"]:
                            yield Row(language["name"], text, form["encoding"], label, rightly, short)


def _holds(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def mail_of(row: Row) -> bytes:
    """Return the mail that carries the text of a row."""
    data = row.text.encode(row.encoding)
    if not row.short:
        label = f'; charset="{row.label}"' if row.label else ""
        head = (
            f"Subject: table\r\nContent-Type: text/plain{label}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        )
        return head.encode("ascii") + b64encode(data)
    if row.label:
        return f"Subject: =?{row.label}?B?".encode("ascii") + b64encode(data) + b"?=\r\n\r\n.\r\n"
    return b"Subject: " + data + b"\r\n\r\n.\r\n"


def score() -> list[Line]:
    """Return one line for each encoding and way of labelling, and the sums that the stage is judged by."""
    lines: dict[tuple[bool, str], Line] = {}
    policy = DecodePolicy()
    for row in rows():
        if row.short and not row.label and row.encoding == "utf-16":
            continue  # a header line cannot hold NUL bytes
        record = decode(mail_of(row), policy)
        found = record.subject if row.short else record.body_text
        key = (row.rightly, f"{row.language} {row.encoding}")
        line = lines.setdefault(key, Line(name=key[1], right=0, total=0))
        line.total += 1
        if _same(found, row.text):
            line.right += 1
        else:
            line.misses.append(f"{row.label or 'no label'}: {row.text[:24]!r} read as {found[:24]!r}")
    out: list[Line] = []
    for rightly, name in ((True, "rightly labelled"), (False, "mislabelled or not labelled")):
        part = [line for (kind, _), line in lines.items() if kind is rightly]
        out.extend(Line(f"{name}: {line.name}", line.right, line.total, line.misses) for line in part)
        out.append(joined(f"{name}, all", part))
    return out


def _same(found: str, text: str) -> bool:
    return " ".join(unicodedata.normalize("NFC", text).split()) == " ".join(found.split())
