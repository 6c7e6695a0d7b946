"""Answers inside an unmarked original, told by a label at their start: initials, `[FH]`, `回复：`, `ANS:`, `>>>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from stages.dequote.lines import Line
from stages.dequote.markers import label_of
from stages.dequote.packs import RuleBook
from stages.dequote.sender import Sender

_LABELLED = re.compile(
    r"(?:[\[【〔(（<*]{1,2}([^\W\d_]{1,12}(?:[ .][^\W\d_]{1,12})?)[\]】〕)）>*]{1,2}\s?[:：]?"
    r"|([^\W\d_]{1,8})(?:\s?[:：]|\.\s))\s*\S"
)
_ARROWS = re.compile(r"[>＞]{2,4}\s?\S")
_WORDS = frozenset(
    (
        "a", "ans", "answer", "antw", "antwort", "r", "re", "rép", "réponse", "resp", "risposta", "ответ", "odp",
        "回复", "答复", "答", "回", "回答", "回覆", "答覆", "我方回复", "我的回复", "返信", "答え", "답", "답변",
    )
)  # fmt: skip
_INDENT = re.compile(r"[ \t]{2,}|\u3000|\s{1,3}[-*•·]\s")


def find_labelled(
    book: RuleBook,
    lines: Sequence[Line],
    raw: Callable[[Line], str],
    above: str,
    names: Sequence[Sender],
) -> list[int]:
    """Return the lines of an unmarked original that are answers, with lines indented below them.

    A label counts where it stands before two lines or more, never twice in a row, and is a word for an answer,
    the initials of the sender, or named in the sender's own text `above`. A label that is the sender's name
    counts once.
    """
    found: dict[str, list[int]] = {}
    written = [at for at, line in enumerate(lines) if not line.blank]
    for at in written:
        line = lines[at]
        arrows = line.marked and _ARROWS.match(raw(line).lstrip()[:60])
        match = None if line.marked else _LABELLED.match(line.text[:60])
        if arrows:
            found.setdefault(">", []).append(at)
        elif match:
            label = (match.group(1) or match.group(2)).casefold()
            if label in _WORDS or label_of(book, line) is None:
                found.setdefault(label, []).append(at)
    answers: list[int] = []
    for label, places in found.items():
        if label == ">":
            good = len(places) >= 2 and all(at - 1 not in places for at in places)
        elif any(len(label) > 1 and name.is_name(label) for name in names):
            good = True
        else:
            told = label in _WORDS or any(_is_initials(label, name) for name in names) or label in above
            good = told and len(places) >= 2 and _alternates(places, written)
        if good:
            answers += places
    told_lines = set(answers)
    plain = not any(_INDENT.match(raw(lines[at])) for at in written[:2])
    for at in answers:
        for index in range(at + 1, len(lines)):
            if index in told_lines or lines[index].blank or not plain or not _INDENT.match(raw(lines[index])):
                break
            told_lines.add(index)
    return sorted(told_lines)


def _is_initials(label: str, name: Sender) -> bool:
    """Tell whether `label` is made of first letters of the name (`HG`), or a character of a Chinese one."""
    for full in name.names:
        if label == "".join(word[0] for word in full.split()):
            return True
        if len(label) == 1 and not label.isascii() and label in full:
            return True
    return False


def _alternates(places: Sequence[int], written: Sequence[int]) -> bool:
    """Tell whether other lines stand above each of the labelled ones."""
    order = {at: number for number, at in enumerate(written)}
    return order[places[0]] > 0 and all(order[b] - order[a] > 1 for a, b in pairwise(places))
