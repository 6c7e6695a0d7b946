"""Language packs: rules as data, read once from `packs/*.toml` and joined into one rule book.

A pack is one language. Its tables are `header`, `separator`, `attribution`, `signoff`, `contact`,
`disclaimer`, `list_footer`, `banner`, `device_line`; each entry has a name, its `phrases` or `patterns`,
inputs that it must `match` and near misses that must `survive`. `words` are beginnings of words (four letters)
of which one stands in every text that the patterns match: they save time. A new language is a new file and no code.
All packs apply to every mail, because headers and body often differ in language.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any

ROLES = ("from", "sent", "to", "cc", "subject", "other")
_LINE_KINDS = (
    "signoff",
    "contact",
    "disclaimer",
    "list_footer",
    "banner",
    "device_line",
    "answer",
    "postscript",
    "own_below",
)
_SPACE = re.compile(r"[\s\u3000*_]+")
_WORD = re.compile(r"\w+")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def label_key(text: str) -> str:
    """Return a header label as it is looked up: no spaces (`日　期`), no bold marks, lower case."""
    return _SPACE.sub("", text).casefold()


def phrase_key(text: str) -> str:
    """Return a line as phrases are looked up: edges without punctuation or emoji, single spaces, lower case."""
    if text.isalpha():
        return text.casefold()
    return " ".join(_EDGES.sub("", text).casefold().replace("’", "'").split())


class Rule:
    """One named rule of one pack: its patterns and its identity (`en:attribution.gmail`).

    Patterns are compiled when the joined pattern of their kind has found something, not before.
    """

    __slots__ = ("_compiled", "forward", "id", "sources", "weak", "words")

    def __init__(self, pack: str, kind: str, entry: dict[str, Any]) -> None:
        self.id = f"{pack}:{kind}.{entry['name']}"
        self.sources: list[str] = entry.get("patterns", [])
        self.words: list[str] = entry.get("words", [])
        self._compiled: list[re.Pattern[str]] | None = None
        self.forward = entry.get("means") == "forward"
        self.weak = bool(entry.get("weak", False))

    @property
    def patterns(self) -> list[re.Pattern[str]]:
        """The compiled patterns."""
        if self._compiled is None:
            self._compiled = [re.compile(source, re.IGNORECASE) for source in self.sources]
        return self._compiled

    def matches(self, text: str) -> bool:
        """Tell whether one of the patterns matches from the start of `text`."""
        return any(pattern.match(text) for pattern in self.patterns)


class _Joined:
    """Patterns of several rules as one; its groups tell which rule it was."""

    __slots__ = ("_pattern", "_rules")

    def __init__(self, rules: list[Rule]) -> None:
        parts = [f"({source})" for rule in rules for source in rule.sources]
        self._rules = [rule for rule in rules for _ in rule.sources]
        self._pattern = re.compile("|".join(parts) if parts else r"(?!)", re.IGNORECASE)

    def match(self, text: str) -> Rule | None:
        found = self._pattern.match(text)
        return self._rules[found.lastindex - 1] if found and found.lastindex else None


class RuleBook:
    """All packs joined. Look-ups by phrase are one dictionary access; patterns run after a cheap test."""

    def __init__(self, packs: list[dict[str, Any]]) -> None:
        self.labels: dict[str, list[tuple[str, str]]] = {}  # label key → (role, header rule id)
        self.separators: dict[str, Rule] = {}
        self.openings: dict[str, Rule] = {}  # the same as bare words, without dashes around them
        self.separator_rules: list[Rule] = []
        self.attributions: list[Rule] = []
        self.phrases: dict[str, dict[str, Rule]] = {kind: {} for kind in _LINE_KINDS}
        self.rules: dict[str, list[Rule]] = {kind: [] for kind in _LINE_KINDS}
        verbs: set[str] = set()
        stamps: set[str] = set()
        no_names: set[str] = set()
        colours: set[str] = set()
        for pack in packs:
            name = pack["language"]
            verbs.update(pack.get("verbs", []))
            stamps.update(pack.get("stamp_words", []))
            no_names.update(pack.get("no_names", []))
            colours.update(pack.get("colours", []))
            for entry in pack.get("header", []):
                self._add_header(name, entry)
            for entry in pack.get("separator", []):
                rule = Rule(name, "separator", entry)
                for phrase in entry.get("phrases", []):
                    self.separators.setdefault(phrase_key(phrase), rule)
                    self.openings.setdefault(phrase.casefold().rstrip(" :："), rule)
                if rule.sources:
                    self.separator_rules.append(rule)
            self.attributions += [Rule(name, "attribution", entry) for entry in pack.get("attribution", [])]
            for kind in _LINE_KINDS:
                for entry in pack.get(kind, []):
                    rule = Rule(name, kind, entry)
                    for phrase in entry.get("phrases", []):
                        self.phrases[kind].setdefault(phrase_key(phrase), rule)
                    if rule.sources:
                        self.rules[kind].append(rule)
        self._joined = {
            kind: _Joined([rule for rule in rules if not rule.words]) for kind, rules in self.rules.items()
        }
        self._worded = {
            kind: _Joined([rule for rule in rules if rule.words]) for kind, rules in self.rules.items()
        }
        self._words = {
            kind: frozenset(word for rule in rules for word in rule.words)
            for kind, rules in self.rules.items()
        }
        self.any_attribution = _joined(self.attributions)
        self.label_length = max(map(len, self.labels))
        self.phrase_length = {kind: max(map(len, table), default=0) for kind, table in self.phrases.items()}
        self.verbs = tuple(sorted(verb.casefold() for verb in verbs))  # an attribution may end in one
        self.no_names = frozenset(word.casefold() for word in no_names | stamps)
        self.colours = tuple(sorted(colours))  # words with which a sender announces answers in colour
        self.stamp_word = re.compile(rf"(?<!\w)(?:{_any_of(stamps)})(?!\w)", re.IGNORECASE)

    def _add_header(self, pack: str, entry: dict[str, Any]) -> None:
        identity = f"{pack}:header.{entry['name']}"
        for role in ROLES:
            for label in entry.get(role, []):
                self.labels.setdefault(label_key(label), []).append((role, identity))

    def line_rule(self, kind: str, text: str) -> Rule | None:
        """Return the rule of `kind` that a whole line answers to, by phrase first, then by pattern."""
        if len(text) <= self.phrase_length[kind] + 8:
            found = self.phrases[kind].get(phrase_key(text))
            if found:
                return found
        rule = self._joined[kind].match(text)
        words = self._words[kind]
        if rule is None and words and any(word[:4] in words for word in _WORD.findall(text.lower())):
            rule = self._worded[kind].match(text)
        return rule


def _joined(rules: list[Rule]) -> re.Pattern[str]:
    """Return one pattern that matches wherever one of the rules does: a cheap first test."""
    parts = [f"(?:{source})" for rule in rules for source in rule.sources]
    return re.compile("|".join(parts) if parts else r"(?!)", re.IGNORECASE)


def _any_of(words: set[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def read_packs() -> list[dict[str, Any]]:
    """Return the packs as they stand in the files, sorted by language."""
    folder = resources.files("stages.dequote") / "packs"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )
    return [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]


@cache
def rule_book() -> RuleBook:
    """Return the joined rule book; it is read once per process."""
    return RuleBook(read_packs())
