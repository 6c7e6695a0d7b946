"""Date rules: the language packs compiled, and the scan that finds atoms (days, clocks, parts of a day)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from stages.entities.calendar import ABSOLUTE, RESOLVERS, Found, add_workdays, one, week, weekday
from stages.entities.numerals import DIGITS, TENS, is_numeral, read_number

_NEXT_WORD = re.compile(r"[ \t\u00a0]{1,3}([A-Za-z]{1,12}|[0-9])")
LANGUAGES = ("en", "zh", "ja")
_NAMED = re.compile(r"\(\?P<\w+>")
_REPEATED = re.compile(r"\(\?P=\w+\)")
_TOKEN_START = "[A-Za-z]+|[0-9]+"
_HALF_WIDTH = {
    ord(wide): narrow for wide, narrow in zip("０１２３４５６７８９：／", "0123456789:/", strict=True)
}  # same length


@dataclass(frozen=True)
class DateRule:
    """One rule of a pack; `unless` refuses by the text found, `unless_before` by the ten characters before.

    `source` is compiled at first use: most mail needs the rules of one language only.
    """

    name: str
    resolve: str
    source: str
    words: dict[str, dict[str, Any]]
    unless: re.Pattern[str] | None
    unless_before: re.Pattern[str] | None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source, re.IGNORECASE)


@dataclass(slots=True)
class Atom:
    """Something found: a date (`found`), a clock (`hour`, `minute`) or a part of a day (`part`)."""

    start: int
    end: int
    rule: str
    kind: str
    found: Found | None = None
    hour: int = 0
    minute: int = 0
    part: str | None = None
    zone: str | None = None
    follows: str | None = None


def load_pack(language: str) -> dict[str, Any]:
    """Return the raw pack of a language (tests read the examples beside each rule)."""
    text = files(__package__).joinpath(f"packs/dates_{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def compile_rules(language: str) -> list[tuple[list[str], DateRule]]:
    """Return the rules of a language with the start tokens of each, in the order of the pack."""
    pack = load_pack(language)
    pieces, triggers, rules = pack["pieces"], pack["triggers"], []
    for row in pack["rule"]:
        pattern = row["pattern"]
        for _ in range(2):  # a piece may hold a piece
            pattern = re.sub(r"\{\{(\w+)\}\}", lambda hit: pieces[hit[1]], pattern)
        flags = 0 if row.get("cased") else re.IGNORECASE
        rule = DateRule(
            f"{language}.{row['name']}",
            row["resolve"],
            pattern.replace(" ", r"[ \u00a0\t]").replace(r"\s", r"[ \u00a0\u3000\t]"),
            pack["words"],
            re.compile(row["unless"], flags) if "unless" in row else None,
            re.compile(row["unless_before"]) if "unless_before" in row else None,
        )
        rules.append(([token for word in row["on"] for token in triggers.get(word, [word])], rule))
    return rules


class Trigger:
    """The rules that one start token may open; `quick` matches wherever one of them does, at a tenth of the cost."""

    def __init__(self) -> None:
        self.rules: list[DateRule] = []

    @cached_property
    def quick(self) -> re.Pattern[str]:
        """One pattern without named groups; a piece that must repeat an earlier one may be anything short."""
        sources = (_REPEATED.sub(".{1,3}", _NAMED.sub("(?:", rule.source)) for rule in self.rules)
        return re.compile("|".join(f"(?:{source})" for source in sources), re.IGNORECASE)


@cache
def rule_table() -> tuple[dict[str, Trigger], re.Pattern[str]]:
    """Return the rules by start token and the pattern that finds start tokens."""
    table: dict[str, Trigger] = {}
    for language in LANGUAGES:
        for tokens, rule in compile_rules(language):
            for token in dict.fromkeys(tokens):
                table.setdefault(token, Trigger()).rules.append(rule)
    singles = "".join(sorted(token for token in table if len(token) == 1 and not token.isascii()))
    return table, re.compile(f"{_TOKEN_START}|[{singles}]")


@cache
def follow_words() -> dict[str, frozenset[str]]:
    """Return, for frequent start words, the words of which one must come next."""
    return {word: frozenset(after) for word, after in load_pack("en")["follow"].items()}


def read_values(rule: DateRule, match: re.Match[str]) -> dict[str, float | str]:
    """Return the groups of a match as numbers, words of the pack, or text; `name2` stands in for `name`."""
    values: dict[str, float | str] = {}
    for group, text in match.groupdict().items():
        if text is None:
            continue
        base, key = group.rstrip("0123456789"), " ".join(text.lower().split())
        words = rule.words.get(base)
        value: float | str | None = None
        if words is not None:
            value = words.get(key)
            if value is None and key[:3] in words and base in ("month", "weekday"):
                value = words[key[:3]]
        if value is None:
            digits = "".join(char for char in text if char.isalnum() or char in "〇○").replace("○", "〇")
            value = read_number(digits)
        if value is None:
            value = key
        values[group] = value
        if base != group:
            values.setdefault(base, value)
    return values


def resolve(rule: DateRule, values: dict[str, float | str], ref: date | None) -> Found | None:
    """Return the days that the values name; None where they name none or need a sent day that is missing."""
    if ref is None:
        if rule.resolve not in ABSOLUTE or not isinstance(values.get("year"), (int, float)):
            return None
        ref = date(2000, 1, 1)
    if rule.resolve == "offset_week":
        return week({"week_shift": 2}, ref)
    if rule.resolve == "weekday_monday":
        return weekday({"weekday": 0}, ref)
    if rule.resolve == "next_workday":
        return one(add_workdays(ref, 1), 0.9)
    return RESOLVERS[rule.resolve](values, ref)


def scan(text: str, ref: date | None) -> list[Atom]:
    """Return the atoms of `text` in order, none overlapping; at each place the longest rule wins."""
    table, tokens = rule_table()
    follow = follow_words()
    text = text.translate(_HALF_WIDTH)
    atoms: list[Atom] = []
    done = 0
    for token in tokens.finditer(text):
        start = token.start()
        if start < done:
            continue
        word = token[0]
        first = word[0]
        if first.isdigit():
            if start and not _may_start_number(text, start, done):
                continue
            key = "#"
        else:
            key = word.lower() if first.isascii() else word
        trigger = table.get(key)
        if trigger is None:
            continue
        wanted = follow.get(key)
        if wanted is not None:
            after = _NEXT_WORD.match(text, token.end())
            if after is None or not (after[1][0].isdigit() or after[1].lower() in wanted):
                continue
        if trigger.quick.match(text, start) is None:
            continue
        best = _longest(trigger.rules, text, start, ref)
        if best is not None:
            atoms.append(best)
            done = best.end
    return atoms


def _may_start_number(text: str, start: int, done: int) -> bool:
    before = text[start - 1]
    if before in "./-_#:+$€£¥￥@":
        return done == start - 1 and done > 0 and before in "-/:"
    if is_numeral(before):
        return False
    return not (before.isascii() and before.isalnum())


def _longest(rules: list[DateRule], text: str, start: int, ref: date | None) -> Atom | None:
    best: Atom | None = None
    cjk_before = start > 0 and (
        text[start - 1] in DIGITS or text[start - 1] in TENS or text[start - 1] == "第"
    )
    for rule in rules:
        match = rule.pattern.match(text, start)
        if match is None or (best is not None and match.end() <= best.end):
            continue
        if rule.unless is not None and rule.unless.match(match[0]):
            continue
        if rule.unless_before is not None and rule.unless_before.search(text[max(0, start - 10) : start]):
            continue
        if cjk_before and is_numeral(text[start]):
            continue
        if _cut_word(text, match.end()):
            continue
        atom = _atom(rule, match, ref)
        if atom is not None:
            best = atom
    return best


def _cut_word(text: str, end: int) -> bool:
    """Return whether a match ends inside a Latin word or number."""
    if end >= len(text):
        return False
    last, after = text[end - 1], text[end]
    return last.isascii() and last.isalnum() and after.isascii() and after.isalpha() and last.isalpha()


def _atom(rule: DateRule, match: re.Match[str], ref: date | None) -> Atom | None:
    values = read_values(rule, match)
    if rule.resolve == "clock":
        hour, minute = values.get("hour"), values.get("minute", 0)
        ampm, zone = values.get("ampm"), values.get("zone")
        if (
            not isinstance(hour, (int, float))
            or not isinstance(minute, (int, float))
            or hour > 24
            or minute > 59
        ):
            return None
        return Atom(
            match.start(), match.end(), rule.name, "clock", hour=int(hour), minute=int(minute),
            part=str(ampm)[:2].replace(".", "m") if ampm else None, zone=str(zone).upper() if zone else None,
        )  # fmt: skip
    if rule.resolve == "part":
        return Atom(match.start(), match.end(), rule.name, "part", part=str(values["part"]))
    if rule.resolve == "following":
        return Atom(match.start(), match.end(), rule.name, "date", follows=str(values.get("unit")))
    found = resolve(rule, values, ref)
    if found is None:
        return None
    return Atom(match.start(), match.end(), rule.name, "date", found=found)
