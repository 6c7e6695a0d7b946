"""Language table: short business lines, each sent through the stage as the body of a mail."""

from __future__ import annotations

import tomllib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eval.decode.table import Line, joined
from stages.decode import DecodePolicy, decode

DATA = Path(__file__).parent / "languages.toml"


class Row(NamedTuple):
    """One line, its main language, and the language mixed in ("" for none)."""

    text: str
    language: str
    mixed: str = ""


def rows() -> Iterator[Row]:
    """Yield all lines."""
    data = tomllib.loads(DATA.read_text("utf-8"))
    for language, lines in data["lines"].items():
        for text in lines:
            yield Row(text, language)
    for group in data["mixed"]:
        for text in group["lines"]:
            yield Row(text, group["main"], group["with"])


def score() -> list[Line]:
    """Return a line for each language, for mixed ones, for Chinese variants, and for all.

    A mixed line is right if its main language is found; how often the other one is listed too stands apart.
    """
    lines: dict[str, Line] = {}
    policy = DecodePolicy()

    def count(name: str, right: bool, miss: str) -> None:
        line = lines.setdefault(name, Line(name=name, right=0, total=0))
        line.total += 1
        line.right += right
        if not right:
            line.misses.append(miss)

    for row in rows():
        found = decode(_mail_of(row.text), policy)
        miss = f"{row.language}: {row.text[:50]!r} is said to be {found.language}"
        right = found.language == row.language
        count(f"mixed, {row.language} with {row.mixed}" if row.mixed else row.language, right, miss)
        if row.language.startswith("zh"):
            count("variants of Chinese", right, miss)
        if row.mixed:
            listed = {share.language.partition("-")[0] for share in found.languages}
            both = {row.language.partition("-")[0], row.mixed} <= listed
            count("both languages listed", both, f"{row.text[:50]!r} lists {sorted(listed)}")
    apart = ("variants of Chinese", "both languages listed")
    out = [line for name, line in lines.items() if name not in apart]
    return [*out, *(lines[name] for name in apart), joined("all lines", out)]


def _mail_of(text: str) -> bytes:
    head = b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    return b"Subject: table\r\n" + head + b64encode(text.encode("utf-8"))
