"""Actions: the verbs (urge, wait, decide, delegate, reject, forward, approve) that a mail performs or asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

VERBS = ("urge", "wait", "decide", "delegate", "reject", "forward", "approve")
_SENTENCE_END = re.compile(r"[。！？!?\n;；]|\.(?=\s)")


@cache
def load_pack() -> dict[str, Any]:
    """Return the pack of cue lists by verb."""
    return tomllib.loads(files(__package__).joinpath("packs/actions.toml").read_text(encoding="utf-8"))


class Cue(NamedTuple):
    """One cue: the literal text that it begins with, its pattern, and whether it must match whole words."""

    literal: str
    pattern: re.Pattern[str]
    whole: bool


@cache
def cues(verb: str, key: str = "cues") -> tuple[Cue, ...]:
    """Return the cues of a verb; patterns have no look-behind, so that the literal start is found fast."""
    found = []
    for cue in load_pack()[verb].get(key, []):
        literal = re.split(r"[(\[.?*+{\\\\|]", cue, maxsplit=1)[0]
        if literal != cue and cue[len(literal) : len(literal) + 1] == "?":
            literal = literal[:-1]
        found.append(Cue(literal, re.compile(cue), cue[0].isascii() and cue[0].isalpha()))
    return tuple(found)


def find_cues(text: str, verb: str, key: str = "cues") -> Iterator[tuple[int, int]]:
    """Return the spans of a verb's cues in lower-cased `text`, cue by cue, at most 20 of each."""
    for cue in cues(verb, key):
        if cue.literal not in text:
            continue
        for count, match in enumerate(cue.pattern.finditer(text)):
            if count >= 20:
                break
            start, end = match.span()
            if cue.whole and (_letter(text, start - 1) or (verb != "deadline" and _letter(text, end))):
                continue
            yield start, end


def _letter(text: str, index: int) -> bool:
    return 0 <= index < len(text) and text[index].isascii() and text[index].isalpha()


def find_actions(subject: str, text: str) -> list[str]:
    """Return the verbs in the fixed order of `VERBS`."""
    whole = (subject[:300] + "\n" + text).lower()
    found = [verb for verb in VERBS if _performs(verb, whole)]
    if "urge" not in found and _asks_with_deadline(whole):
        found.insert(0, "urge")
    return found


def _performs(verb: str, text: str) -> bool:
    for start, end in find_cues(text, verb):
        near = text[max(0, start - 12) : end + 12]
        if not any(True for _ in find_cues(near, verb, "unless")):
            return True
    return False


def _asks_with_deadline(text: str) -> bool:
    """Return whether one sentence both asks for something and names a time to have it by."""
    times = sorted(start for start, _ in find_cues(text, "deadline"))
    if not times:
        return False
    for start, end in find_cues(text, "request"):
        near = [time for time in times if start - 160 <= time <= end + 200]
        if any(_SENTENCE_END.search(text, min(start, time), max(end, time)) is None for time in near[:20]):
            return True
    return False
