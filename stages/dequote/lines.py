"""Lines with their quote depth: the unit that every rule looks at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from models.message import QuoteMark

if TYPE_CHECKING:
    from stages.dequote.packs import Rule

# Leading quote marks as mail clients write them (RFC 3676 §4.5), with the full-width form of old
# Japanese and Chinese clients. One character class per step: linear on any input.
_MARKS = re.compile(r"[ \t]{0,3}(?:[>＞][ \t]?)+")
_HAS_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\u034f]")
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x34F, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)

# HTML hooks that raise the depth of their lines as a `>` would; the others only bound a quote.
_DEPTH_HOOKS = frozenset({"blockquote", "cite"})
TAIL = 80  # characters at the end of a line that rules look at
_UNDECODED = re.compile(r"=(?:09|20)|=$")  # quoted-printable that a gateway passed on as text


class Label:
    """A header label at the start of a line, with what follows it."""

    __slots__ = ("role", "rules", "value")

    def __init__(self, role: str, rules: list[str], value: str) -> None:
        self.role = role
        self.rules = rules
        self.value = value


class Line:
    """One line: span (`end` is after its newline), quote depth, words without marks and edges."""

    __slots__ = ("blank", "boxed", "contact", "depth", "end", "first", "label", "marked", "start", "text")

    def __init__(self, start: int, end: int, depth: int, text: str) -> None:
        self.start = start
        self.end = end
        self.first = start  # where the words begin; set where HTML edges are read
        self.depth = depth
        self.text = text
        self.blank = not text
        self.marked = depth > 0  # depth from visible marks, not from the HTML
        self.label: Label | str | None = "unread"  # looked up once, by `markers.label_of`
        self.contact: Rule | Literal[False] | None = None  # looked up once, by `tail`
        self.boxed = 0  # number of the HTML quote container it stands in, 0 for none

    def split_at(self, place: int, words: int) -> Line:
        """Cut the line before `place` (of the text) and `words` (of its own words); return its first part."""
        head = Line(self.start, place, self.depth, self.text[:words].strip())
        head.marked, head.boxed, head.first = self.marked, self.boxed, self.first
        self.start = self.first = place
        self.text = self.text[words:]
        self.label = self.contact = None
        return head


def split_lines(text: str, quote_marks: Sequence[QuoteMark] = ()) -> list[Line]:
    """Return the lines of `text`; their spans cover it without gaps.

    `quote_marks` from blockquotes add to the depth of the lines that they cover wholly.
    """
    lines: list[Line] = []
    at = 0
    undecoded = "=20\n" in text or "=09" in text
    for raw in text.split("\n"):
        end = at + len(raw) + 1
        depth = 0
        words = raw
        if ">" in raw[:8] or "＞" in raw[:8]:
            marks = _MARKS.match(raw)
            if marks:
                run = marks.group()
                depth = run.count(">") + run.count("＞")
                words = raw[marks.end() :]
                if depth == 1 and words.startswith("From ") and not run.endswith(" "):
                    depth = 0  # `>From` is mbox quoting of the sender's own line
        if undecoded and "=" in words:
            words = _UNDECODED.sub(" ", words)
        words = words.strip()
        if words and not words.isascii() and _HAS_INVISIBLE.search(words):
            words = words.translate(_INVISIBLE).strip()
        lines.append(Line(at, end, depth, words))
        at = end
    lines[-1].end = len(text)
    if quote_marks:
        for line in lines:
            raw = text[line.start : line.end]
            line.first = line.start + len(raw) - len(raw.lstrip())
        _apply_marks(lines, quote_marks)
    return lines


def _apply_marks(lines: list[Line], quote_marks: Sequence[QuoteMark]) -> None:
    """Raise depths by blockquotes and number the lines of other quote containers, by one sweep."""
    steps: list[tuple[int, int, int]] = []  # position, change of depth, container that opens or closes
    for number, mark in enumerate(quote_marks[:2000], start=1):
        if mark.end <= mark.start:
            continue
        deep = 1 if mark.hook in _DEPTH_HOOKS else 0
        steps.append((mark.start, deep, 0 if deep else number))
        steps.append((mark.end, -deep, 0 if deep else -number))
    steps.sort(key=lambda step: (step[0], step[1], step[2]))
    at = depth = box = 0
    for line in lines:
        # A line belongs to a container when the edge lies at or before its first word.
        while at < len(steps) and steps[at][0] <= line.first:
            depth += steps[at][1]
            if steps[at][2] > 0 and not box:
                box = steps[at][2]
            elif steps[at][2] == -box:
                box = 0
            at += 1
        if not line.marked:
            line.depth += max(depth, 0)
        line.boxed = box


def next_written(lines: Sequence[Line], at: int, reach: int = 6) -> Line | None:
    """Return the first line from `at` on that is not blank, within `reach` lines."""
    for line in lines[at : at + reach]:
        if not line.blank:
            return line
    return None
