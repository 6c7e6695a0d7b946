"""Merge proposals: which addresses may be one person, with reasons and counter-evidence. Nothing is merged.

A proposal needs more than likeness of strings: the same full name on two addresses, or a Han name whose
pinyin spells the other's Latin name or local part. Single names, role addresses and similar spellings never
propose anything (ePADD's lesson: they fuse strangers).
"""

from __future__ import annotations

import re

from models.addresses import domain_of
from models.base import Record
from models.curated import Alias
from models.report import MergeProposal
from stages.entities.folding import fold, is_han
from stages.entities.people import address_key, is_role_address
from stages.entities.surnames import all_readings, readings_of, surname_readings


class Sighting(Record):
    """One address as seen: display name, message ids, and whether its domain is the company's own."""

    email: str
    name: str = ""
    messages: list[str] = []
    internal: bool = False


def propose_merges(
    sightings: list[Sighting], not_same: list[list[str]], aliases: list[Alias]
) -> list[MergeProposal]:
    """Return the proposals sorted by score (highest first), then addresses.

    Pairs that `not_same` names, that one alias already joins, and role addresses are left out. Up to 20
    addresses that share one name are compared; more than that is a name too common to propose.
    """
    people = _by_address(sightings)
    refused = {tuple(sorted(address_key(address) for address in pair)) for pair in not_same if len(pair) == 2}
    joined = {
        address_key(address): address_key(alias.email)
        for alias in aliases
        for address in (alias.email, *(known for known in alias.also if "@" in known))
    }
    groups: dict[str, list[str]] = {}
    for email in sorted(people):
        for key in _keys(people[email]):
            groups.setdefault(key, []).append(email)
    pairs = {
        (one, two)
        for emails in groups.values()
        if 2 <= len(emails) <= 20
        for index, one in enumerate(emails)
        for two in emails[index + 1 :]
    }
    found = []
    for pair in sorted(pairs):
        if pair in refused or joined.get(pair[0], pair[0]) == joined.get(pair[1], pair[1]):
            continue
        proposal = _compare(people[pair[0]], people[pair[1]])
        if proposal is not None:
            found.append(proposal)
    return sorted(found, key=lambda proposal: (-proposal.score, proposal.a, proposal.b))


def _by_address(sightings: list[Sighting]) -> dict[str, list[Sighting]]:
    people: dict[str, list[Sighting]] = {}
    for sighting in sightings:
        key = address_key(sighting.email)
        if "@" in key and not is_role_address(key):
            people.setdefault(key, []).append(sighting)
    return people


def _keys(rows: list[Sighting]) -> set[str]:
    """Return the keys under which an address may meet another: its full name, and readings of it."""
    keys: set[str] = set()
    local = address_key(rows[0].email).partition("@")[0]
    for name in {row.name for row in rows}:
        keys |= full_name_keys(name)
        keys |= {f"surname:{reading}" for reading in readings_of(name)}
    keys |= {f"surname:{reading}" for reading in _surnames_in_latin({row.name for row in rows}, local)}
    return keys


def full_name_keys(name: str) -> set[str]:
    """Return comparing forms of the full names in a display name; single names give none."""
    name = re.sub(r"[(（\[][^)）\]]{0,40}[)）\]]", " ", name)
    han = "".join(char for char in fold(name) if is_han(char))
    latin = re.sub(r"[^a-zà-öø-ÿ ]", " ", fold(name)).split()
    keys = set()
    if 2 <= len(han) <= 6:
        keys.add(f"han:{han}")
    if len(latin) >= 2 and sum(len(word) > 1 for word in latin) >= 2:
        keys.add("latin:" + " ".join(sorted(latin)))
    return keys


def _surnames_in_latin(names: set[str], local: str) -> set[str]:
    words = {word for name in names for word in re.sub(r"[^a-z ]", " ", fold(name)).split()}
    words |= {word for word in re.split(r"[._+-]", local) if word}
    found = words & all_readings()
    return found | {
        reading
        for reading in all_readings()
        if len(reading) >= 2 and local.startswith(reading) and len(local) > len(reading)
    }


def _compare(one: list[Sighting], two: list[Sighting]) -> MergeProposal | None:
    a, b = address_key(one[0].email), address_key(two[0].email)
    reasons: list[str] = []
    counter: list[str] = []
    score = 0.0
    names_a = {key for row in one for key in full_name_keys(row.name)}
    names_b = {key for row in two for key in full_name_keys(row.name)}
    shared = sorted(names_a & names_b)
    if shared:
        reasons.append(f"same full name: {shared[0].partition(':')[2]}")
        score = 0.8
    local_a, local_b = a.partition("@")[0], b.partition("@")[0]
    if re.sub(r"[._-]", "", local_a) == re.sub(r"[._-]", "", local_b) and len(local_a) > 4 and score:
        reasons.append(f"same local part: {local_a}")
        score = 0.9
    if not score:
        for rows, other in ((one, two), (two, one)):
            reason = _pinyin_reason(rows, other)
            if reason:
                reasons.append(reason[0])
                score = max(score, reason[1])
                break
    if not score:
        return None
    inside_a, inside_b = any(row.internal for row in one), any(row.internal for row in two)
    if domain_of(a) == domain_of(b):
        counter.append("two addresses on one domain")
        score -= 0.2
    elif inside_a and inside_b:
        counter.append("two company addresses")
        score -= 0.15
    elif inside_a != inside_b:
        counter.append("one address is the company's, the other is not")
        score -= 0.05
    together = sorted(
        {msg for row in one for msg in row.messages} & {msg for row in two for msg in row.messages}
    )
    if together:
        counter.append(f"both stand in {len(together)} message{'s' if len(together) > 1 else ''}")
        score -= 0.1
    messages = sorted({msg for row in (*one, *two) for msg in row.messages})[:20]
    return MergeProposal(
        a=a, b=b, score=round(max(score, 0.05), 2), reasons=reasons, counter=counter, messages=messages
    )


def _pinyin_reason(rows: list[Sighting], other: list[Sighting]) -> tuple[str, float] | None:
    """Return why a Han name may be the other address: its family name's pinyin and the given name's length.

    Only family names are in the table, so the given name is checked by the number of its syllables.
    """
    for name in sorted({row.name for row in rows}):
        han = "".join(char for char in fold(name) if is_han(char))
        for reading in readings_of(name):
            given = len(han) - (2 if han[:2] in surname_readings() else 1)
            for row in other:
                words = re.sub(r"[^a-z ]", " ", fold(row.name)).split()
                if len(words) >= 2 and reading in words:
                    rest = "".join(word for word in words if word != reading)
                    if syllables(rest) == given:
                        return f"{name}: family name reads {reading}, {row.name} fits in length", 0.5
            local = address_key(other[0].email).partition("@")[0]
            parts = re.split(r"[._-]", local)
            if len(parts) == 2 and reading in parts:
                rest = parts[0] if parts[1] == reading else parts[1]
                if syllables(rest) == given:
                    return f"{name}: family name reads {reading}, local part {local} fits in length", 0.4
    return None


_SYLLABLE = re.compile(
    r"(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ang|eng|ing|ong|iao|ian|uai|uan|ai|ei|ao|ou|an|en|in|un|vn|ia|ie|iu|ua|uo|ui|ue|ve|er|a|o|e|i|u|v)"
)


def syllables(word: str) -> int:
    """Return the number of pinyin syllables in a word of Latin letters, 0 if it is no pinyin."""
    count = position = 0
    while position < len(word):
        match = _SYLLABLE.match(word, position)
        if match is None or count > 6:
            return 0
        count, position = count + 1, match.end()
    return count
