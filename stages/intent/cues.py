"""Cues: words and phrases of `packs/cues.toml` that speak for an intent, found in one pass over a text."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from stages.intent.prefixes import beginnings

NOT_LEARNED = ("instruction_like",)
_BEFORE = "(?<![a-z])"
_AFTER = "(?![a-z])"
_Rules = list[tuple[str, re.Pattern[str]]]


class _Index(NamedTuple):
    """Cue groups with the pattern of their cues, by how these begin; `open` ones can begin with anything.

    `starts` finds the places where one may begin: a first letter at the start of a Latin word, or another first
    sign anywhere. `sizes` are the lengths of the beginnings with a first character.
    """

    starts: re.Pattern[str]
    by_start: dict[str, _Rules]
    sizes: dict[str, list[int]]
    open: _Rules


@cache
def load_pack() -> dict[str, Any]:
    """Return the cue groups as written in the pack (tests read the examples beside each)."""
    return tomllib.loads(files(__package__).joinpath("packs/cues.toml").read_text(encoding="utf-8"))


@cache
def _index() -> _Index:
    cues: dict[str, dict[str, list[str]]] = {}
    for group, rows in load_pack().items():
        for pattern in _patterns(rows):
            for start in beginnings(pattern.removeprefix(_BEFORE).removesuffix(_AFTER)) or {""}:
                cues.setdefault(start.lower(), {}).setdefault(group, []).append(pattern)
    index = {
        start: [(group, re.compile("|".join(patterns), re.IGNORECASE)) for group, patterns in groups.items()]
        for start, groups in cues.items()
    }
    sizes: dict[str, set[int]] = {}
    for start in index:
        sizes.setdefault(start[:1], set()).add(len(start))
    firsts = sorted(filter(None, sizes))
    latin = "".join(char for char in firsts if "a" <= char <= "z")
    other = "".join(re.escape(char) for char in firsts if char not in latin)
    starts = re.compile(f"{_BEFORE}[{latin}]|[{other}]")
    return _Index(starts, index, {first: sorted(found) for first, found in sizes.items()}, index.get("", []))


def _patterns(rows: dict[str, list[str]]) -> list[str]:
    """Return the patterns of a group; Latin cues match whole words, Latin letters in others begin one."""
    others = [
        _BEFORE + cue if cue[0].isascii() and cue[0].isalpha() else cue for cue in rows["zh"] + rows["ja"]
    ]
    return [*(f"{_BEFORE}{cue}{_AFTER}" for cue in rows["en"]), *others]


@cache
def pattern_of(group: str) -> re.Pattern[str]:
    """Return one pattern for all cues of a group, in any case."""
    return re.compile("|".join(_patterns(load_pack()[group])), re.IGNORECASE)


def find_cues(text: str) -> dict[str, set[str]]:
    """Return the cue groups that a lower-case text touches, each with the words that did."""
    index = _index()
    found: dict[str, set[str]] = {}
    for group, pattern in index.open:
        for match in pattern.finditer(text):
            found.setdefault(group, set()).add(match[0])
    rules, sizes = index.by_start, index.sizes
    for match in index.starts.finditer(text):
        place = match.start()
        for size in sizes[match[0]]:
            for group, pattern in rules.get(text[place : place + size], ()):
                hit = pattern.match(text, place)
                if hit:
                    found.setdefault(group, set()).add(hit[0])
    return found


def cue_features(found: dict[str, set[str]], length: int) -> list[str]:
    """Return the names of features: a group, `group+` where two or more distinct cues touch it, `short`."""
    names = [f"cue:{group}" for group in found if group not in NOT_LEARNED]
    names += [f"cue:{group}+" for group, hits in found.items() if len(hits) > 1 and group not in NOT_LEARNED]
    return [*names, "cue:short"] if length < 30 else names
