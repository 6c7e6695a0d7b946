"""On which line of a JSON file a value stands, so that an error can name it."""

from __future__ import annotations

import json
import re

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def line_of(text: str, place: tuple[int | str, ...]) -> int:
    """Return the line of the value at `place` (indices and keys, outermost first) in valid JSON.

    Where a step is not there (a missing key), it is the line of what it is missing from.
    """
    at = _skip(text, 0)
    for step in place:
        found = _find(text, at, step)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _find(text: str, at: int, step: int | str) -> int | None:
    """Return where the member `step` of the array or object at `at` begins; of equal keys the last counts."""
    closing = {"[": "]", "{": "}"}.get(text[at])
    if closing is None:
        return None
    found = None
    number = 0
    at = _skip(text, at + 1)
    while text[at] != closing:
        name: int | str = number
        if closing == "}":
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        if name == step:
            found = at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1
    return found


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
