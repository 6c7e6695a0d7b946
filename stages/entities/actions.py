"""Actions: the verbs (urge, wait, decide, delegate, reject, forward, approve) that a mail performs or asks for."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

VERBS = ("urge", "wait", "decide", "delegate", "reject", "forward", "approve")
_SENTENCE_END = re.compile(r"[。！？!?\n;；]|\.(?=\s)")


@cache
def load_pack() -> dict[str, Any]:
    """Return the pack of cue lists by verb."""
    return tomllib.loads(files(__package__).joinpath("packs/actions.toml").read_text(encoding="utf-8"))


@cache
def _pattern(verb: str, key: str) -> re.Pattern[str] | None:
    cues = load_pack()[verb].get(key, [])
    if not cues:
        return None
    latin = [cue for cue in cues if cue[0].isascii() and cue[0].isalpha()]
    other = [cue for cue in cues if cue not in latin]
    parts = [rf"(?<![A-Za-z])(?:{'|'.join(latin)})(?![A-Za-z])"] if latin and key == "cues" and verb != "deadline" else []
    if latin and not parts:
        parts = [rf"(?<![A-Za-z])(?:{'|'.join(latin)})"]
    return re.compile("|".join(parts + other), re.IGNORECASE)


def find_actions(subject: str, text: str) -> list[str]:
    """Return the verbs in the fixed order of `VERBS`."""
    whole = subject[:300] + "\n" + text
    found = [verb for verb in VERBS if _performs(verb, whole)]
    if "urge" not in found and _asks_with_deadline(whole):
        found.insert(0, "urge")
    return found


def _performs(verb: str, text: str) -> bool:
    cues, unless = _pattern(verb, "cues"), _pattern(verb, "unless")
    assert cues is not None
    for count, match in enumerate(cues.finditer(text)):
        if count >= 50:
            return False
        if unless is None or not unless.search(text, max(0, match.start() - 12), match.end() + 12):
            return True
    return False


def _asks_with_deadline(text: str) -> bool:
    """Return whether one sentence both asks for something and names a time to have it by."""
    request, deadline = _pattern("request", "cues"), _pattern("deadline", "cues")
    assert request is not None and deadline is not None
    for count, match in enumerate(request.finditer(text)):
        if count >= 50:
            return False
        left = max((end.end() for end in _SENTENCE_END.finditer(text, max(0, match.start() - 160), match.start())), default=max(0, match.start() - 160))
        stop = _SENTENCE_END.search(text, match.end(), match.end() + 200)
        right = stop.start() if stop else min(len(text), match.end() + 200)
        if deadline.search(text, left, right):
            return True
    return False
