"""The thread's view of entities: who is meant by a name that only the conversation knows, one spelling each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.base import Record
from models.message import Entities, Person
from stages.entities.config import MAX_CHARS
from stages.entities.folding import fold
from stages.entities.mentions import known_people, places, spellings

_MAX_FOUND = 50


class Member(Record):
    """One message of a thread: its entities, and the clean text that their spans point into."""

    entities: Entities
    text: str


def relate_thread(members: Sequence[Member]) -> list[Entities]:
    """Return the entities of each member with what the thread knows beside it.

    `members` stand in the thread's order (date, id). People of the thread's headers are found in texts whose
    own headers do not name them; a mention without an address that equals (folded) the full or given name of
    exactly one header person of the thread gets that person's address; keywords that are equal after folding
    take the earliest spelling. Pure; the input is not changed.
    """
    if len(members) == 1:
        return [members[0].entities]
    people = _header_people(members)
    owners = _name_owners(people)
    spelling: dict[str, str] = {}
    related = []
    for member in members:
        entities = member.entities
        named = [_named(person, owners) for person in entities.people]
        keywords = [spelling.setdefault(fold(word), word) for word in entities.project_keywords]
        related.append(
            msgspec.structs.replace(
                entities,
                people=[*named, *_absent(member, people)],
                project_keywords=list(dict.fromkeys(keywords)),
            )
        )
    return related


def _header_people(members: Sequence[Member]) -> list[Person]:
    """Return each header person of the thread once, with an address."""
    found = {
        (person.name, person.email): person
        for member in members
        for person in member.entities.people
        if person.role != "mention" and person.email is not None
    }
    return list(found.values())


def _name_owners(people: Sequence[Person]) -> dict[str, dict[str, bool]]:
    """Return folded name → {address: internal}."""
    owners: dict[str, dict[str, bool]] = {}
    for person in people:
        for name in {person.name, *spellings(person.name)}:
            owners.setdefault(fold(name), {})[person.email or ""] = person.internal
    return owners


def _named(person: Person, owners: dict[str, dict[str, bool]]) -> Person:
    if person.role != "mention" or person.email is not None:
        return person
    found = owners.get(fold(person.name), {})
    if len(found) != 1:
        return person
    ((email, internal),) = found.items()
    return msgspec.structs.replace(person, email=email, internal=internal)


def _absent(member: Member, people: Sequence[Person]) -> list[Person]:
    """Return mentions of people of the thread who are in none of this message's headers."""
    own = {person.email for person in member.entities.people if person.role != "mention"}
    table = known_people([person for person in people if person.email not in own], [], {})
    taken = [
        (person.start, person.end)
        for person in member.entities.people
        if person.start is not None and person.end is not None
    ]
    text = member.text[:MAX_CHARS]
    found: list[Person] = []
    for name in sorted(table, key=lambda word: (-len(word), word)):
        owners = table[name]
        if len({owner.email for owner in owners}) != 1:
            continue
        for start in places(text, name):
            end = start + len(name)
            if len(found) >= _MAX_FOUND or any(start < right and left < end for left, right in taken):
                continue
            taken.append((start, end))
            owner = owners[0]
            found.append(
                Person(
                    name=name,
                    email=owner.email,
                    internal=owner.internal,
                    role="mention",
                    start=start,
                    end=end,
                )
            )
    return sorted(found, key=lambda person: person.start or 0)
