"""HTML table: words and lines of bodies against what a browser shows.

Beside each body in `html/` stands its `innerText` as headless Chromium gives it (`--dump-dom` of a page whose
script replaces the document by it). Recall is the share of the browser's words that come out (as often as
there), lines the share of its lines that come out as exactly one line, white space folded. A list mark at the
start of a line is no difference: the stage keeps them, `innerText` does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from eval.decode.table import Line
from stages.decode.html import render

_LIST_MARK = re.compile(r"^(?:[•◦▪‣*-]|\d{1,3}[.)])\s")
FOLDER = Path(__file__).parent / "html"


def pairs(folder: Path = FOLDER) -> list[tuple[str, str, str]]:
    """Return name, HTML and the browser's text of each body."""
    return [
        (path.stem, path.read_text("utf-8"), path.with_suffix(".txt").read_text("utf-8"))
        for path in sorted(folder.glob("*.html"))
        if path.with_suffix(".txt").is_file()
    ]


def score(convert: Callable[[str], str] | None = None, folder: Path = FOLDER) -> list[Line]:
    """Return a line for words, one for lines, and the bodies in which something is missing.

    `convert` is another converter to be measured on the same bodies.
    """
    convert = convert or (lambda html: render(html).text)
    words, lines = Line("words", 0, 0), Line("lines", 0, 0)
    for name, html, shown in pairs(folder):
        found = convert(html)
        _count(words, name, Counter(shown.split()), Counter(found.split()))
        _count(lines, name, Counter(_lines(shown)), Counter(_lines(found)))
    return [words, lines]


def _count(line: Line, name: str, wanted: Counter[str], found: Counter[str]) -> None:
    missing = wanted - found
    line.total += wanted.total()
    line.right += wanted.total() - missing.total()
    if missing:
        line.misses.append(f"{name}: {', '.join(repr(word[:60]) for word in list(missing)[:4])}")


def _lines(text: str) -> list[str]:
    folded = (_LIST_MARK.sub("", " ".join(line.split())) for line in text.splitlines())
    return [line for line in folded if line]
