"""Earlier mail recognised by its words: quotes without any mark, and changed lines inside a quoted original.

Optional: only where the texts of earlier messages are given. Words are compared in shingles, so that another
line width, other quote marks or other spaces do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stages.dequote.lines import Line
from stages.dequote.markers import find_attribution, find_header, is_rule_line, label_of
from stages.dequote.packs import RuleBook

_TOKEN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]|[^\W_]+")
_SHINGLE = 4  # words, or CJK characters, in a row
_KNOWN = 0.8  # share of a line's words that stand in an earlier mail, if it is quoted
_NEW = 0.3  # and of a line that is the sender's, inside a quoted original
_RUN = 12  # words that a quote without marks has at least
_MAX = 400_000  # characters of earlier mail that are read

Span = tuple[int, int]


class KnownText:
    """The shingles of earlier messages."""

    def __init__(self, earlier: Sequence[str]) -> None:
        self._shingles: set[tuple[str, ...]] = set()
        left = _MAX
        for text in earlier:
            self._shingles.update(_shingles(_tokens(text[:left])))
            left -= min(left, len(text))

    def shares(self, lines: Sequence[Line]) -> list[tuple[int, int]]:
        """Return for each line how many of its words stand in an earlier message, and how many it has."""
        words: list[str] = []
        owner: list[int] = []
        for number, line in enumerate(lines):
            found = _tokens(line.text[:4000])
            words += found
            owner += [number] * len(found)
        known = bytearray(len(words))
        for at, shingle in enumerate(_shingles(words)):
            if shingle in self._shingles:
                known[at : at + _SHINGLE] = b"\x01" * _SHINGLE
        counts = [[0, 0] for _ in lines]
        for at, number in enumerate(owner):
            counts[number][0] += known[at]
            counts[number][1] += 1
        return [(have, total) for have, total in counts]


def find_known(book: RuleBook, known: KnownText, lines: Sequence[Line], own: Sequence[bool]) -> list[Span]:
    """Return runs of the sender's lines that stand in an earlier message, with the lines that introduce them.

    Nothing is returned where all of the sender's words are known: the message is one sent again.
    """
    shares = known.shares([line if mine else _NOTHING for line, mine in zip(lines, own, strict=True)])
    if not any(total and have < _KNOWN * total for have, total in shares):
        return []
    runs = []
    for start, end in _runs([bool(total) and have >= _KNOWN * total for have, total in shares], lines):
        if sum(total for _, total in shares[start:end]) >= _RUN:
            runs.append((_with_introduction(book, lines, start, own), end))
    return runs


def find_changed(known: KnownText, book: RuleBook, lines: Sequence[Line]) -> list[int]:
    """Return the lines of a quoted original that are not in it: answers that no mark sets apart.

    They stand between two known lines, and most of the original must be known.
    """
    shares = known.shares(lines)
    if sum(have for have, _ in shares) < 0.6 * sum(total for _, total in shares):
        return []
    told = [at for at, (have, total) in enumerate(shares) if total and have >= _KNOWN * total]
    if len(told) < 2:
        return []
    return [
        at
        for at in range(told[0] + 1, told[-1])
        if shares[at][1] >= 2
        and shares[at][0] < _NEW * shares[at][1]
        and not lines[at].marked
        and label_of(book, lines[at]) is None
        and find_attribution(book, lines, at, led=True) is None
    ]


_NOTHING = Line(0, 0, 0, "")


def _runs(flags: Sequence[bool], lines: Sequence[Line]) -> Iterator[Span]:
    """Yield runs of flagged lines; blank lines and drawn lines between them do not end a run."""
    start: int | None = None
    end = 0
    for at, flag in enumerate(flags):
        if flag:
            start = at if start is None else start
            end = at + 1
        elif start is not None and not lines[at].blank and not is_rule_line(lines[at].text):
            yield start, end
            start = None
    if start is not None:
        yield start, end


def _with_introduction(book: RuleBook, lines: Sequence[Line], start: int, own: Sequence[bool]) -> int:
    """Return the line where an attribution or a header right above line `start` begins, else `start`."""
    for at in range(start - 1, max(start - 8, -1), -1):
        if lines[at].blank:
            continue
        if not own[at]:
            break
        attribution = find_attribution(book, lines, at, led=True)
        if attribution is not None:
            return attribution.start
        header = find_header(book, lines, at, led=True)
        if header is not None and header.end >= at + 1:
            return header.start
        if label_of(book, lines[at]) is None:
            break
    return start


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())


def _shingles(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[offset:] for offset in range(_SHINGLE)), strict=False)
