"""Family names: their pinyin, and which people of a list bear one that a title names (Ms Fang, Mr. Berg, 方工)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

from stages.entities.folding import fold, is_han
from stages.entities.people import load_pack


@cache
def surname_readings() -> dict[str, list[str]]:
    """Return Han family name → its pinyin spellings (surname readings, ü as v, u and yu)."""
    text = files(__package__).joinpath("packs/surnames.toml").read_text(encoding="utf-8")
    table: dict[str, list[str]] = {}
    for reading, names in tomllib.loads(text)["pinyin"].items():
        for name in names.split():
            table.setdefault(fold(name), []).append(reading)
    return table


@cache
def all_readings() -> frozenset[str]:
    """Return every pinyin spelling of a family name."""
    return frozenset(reading for readings in surname_readings().values() for reading in readings)


def readings_of(name: str) -> list[str]:
    """Return the pinyin spellings of the family name of a Han name of two to four characters."""
    han = "".join(char for char in fold(name) if is_han(char))
    if not 2 <= len(han) <= 4:
        return []
    table = surname_readings()
    return table.get(han[:2], []) or table.get(han[0], [])


@lru_cache(maxsize=4096)
def latin_surnames(name: str) -> frozenset[str]:
    """Return how a Latin title may name a person, folded: Berg for Nora Berg, fang for 方思涵.

    A name written "Fang Szu-han" has two candidates; the pinyin table tells that the first word may be it.
    """
    name = re.sub(r"[(（\[][^)）\]]{0,40}[)）\]]", " ", name)
    last, comma, _ = name.partition(",")
    latin = [word.strip(".'’") for word in re.findall(r"[A-Za-zÀ-ÖØ-öø-ÿ'’.-]+", last if comma else name)]
    words = [fold(word) for word in latin if len(word) > 1]
    found = set()
    if comma and words:
        found.add(words[-1])
    elif len(words) > 1:
        found |= {words[-1]} | ({words[0]} & all_readings())
    if not _is_japanese(name):
        found |= set(readings_of(name))
    return frozenset(found)


def latin_owners(surname: str, people: Iterable[tuple[str, str | None]]) -> set[str | None]:
    """Return the addresses of those of `people` (name, address) whose family name this is."""
    key = fold(surname)
    return {email for name, email in people if key in latin_surnames(name)}


def _is_japanese(name: str) -> bool:
    return name.startswith(tuple(known for known in load_pack()["ja_surnames"] if len(known) > 1))
