"""How a cue can begin: the literal beginnings of a pattern, so that it is only tried where one stands.

Cues are written in a small part of the regular expression language: literals, `[classes]`, `(?:one|other)`,
`?`, and any other construct (`.`, `\\d`, `{m,n}`, `*`, anchors), at which a beginning ends.
"""

from __future__ import annotations

DEPTH = 3
"""Characters of a beginning."""
MOST = 200
"""Beginnings of one pattern at most; one that can begin in more ways counts as open."""
_Part = tuple[str, bool]  # a beginning and whether it may still grow


def beginnings(pattern: str) -> set[str]:
    """Return the strings of one to three characters with which every match of `pattern` begins.

    Empty where a match can begin with anything (an anchor, a class of unknown size), or in very many ways.
    """
    place = 0
    parts: set[_Part] = set()
    while place <= len(pattern):
        branch, place = _branch(pattern, place)
        parts |= branch
        place += 1
    found = {text for text, _ in parts}
    return set() if "" in found or len(found) > MOST else found


def _branch(pattern: str, place: int) -> tuple[set[_Part], int]:
    """Return the beginnings of one alternative that starts at `place`, and where it ends (at `|`, `)` or the end)."""
    parts: set[_Part] = {("", True)}
    while place < len(pattern) and pattern[place] not in "|)":
        unit, place = _unit(pattern, place)
        if pattern[place : place + 1] == "?":
            unit = unit | {("", True)}
            place += 1
        elif pattern[place : place + 1] in ("*", "+", "{"):
            unit = {("", False)}
            place = len(pattern) if pattern[place] != "{" else pattern.index("}", place) + 1
        grown = {part for part in parts if not part[1]}
        for text, _ in parts - grown:
            grown |= {((text + more)[:DEPTH], still and len(text + more) < DEPTH) for more, still in unit}
        parts = grown
    return parts, place


def _unit(pattern: str, place: int) -> tuple[set[_Part], int]:
    """Return the beginnings of the one thing that stands at `place`, and where the next thing stands."""
    char = pattern[place]
    if pattern.startswith("(?:", place):
        parts: set[_Part] = set()
        place += 2
        while pattern[place] != ")":
            branch, place = _branch(pattern, place + 1)
            parts |= branch
        return parts, place + 1
    if char == "[":
        end = pattern.index("]", place)
        letters = pattern[place + 1 : end]
        plain = not letters.startswith("^") and "-" not in letters and "\\" not in letters
        return ({(letter, True) for letter in letters} if plain else {("", False)}), end + 1
    if char == "\\":
        literal = pattern[place + 1]
        return ({(literal, True)} if not literal.isalnum() else {("", False)}), place + 2
    return {("", False) if char in ".^$" else (char, True)}, place + 1
