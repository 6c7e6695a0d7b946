"""The thread's view of entities: who is meant by a name that only the conversation knows, one spelling each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from models.base import Record
from models.message import Entities, Person
from stages.entities.config import MAX_CHARS
from stages.entities.folding import fold, has_han
from stages.entities.mentions import (
    Known,
    find_titled,
    known_people,
    places,
    spellings,
    split_title,
    surname_table,
)
from stages.entities.surnames import latin_owners

_MAX_FOUND = 50


class Member(Record):
    """One message of a thread: its entities, and the clean text that their spans point into."""

    entities: Entities
    text: str


def relate_thread(members: Sequence[Member]) -> list[Entities]:
    """Return the entities of each member with what the thread knows beside it.

    `members` stand in the thread's order (date, id). People of the thread's headers are found in texts whose
    own headers do not name them; a mention without an address that equals (folded) the full or given name of
    exactly one header person of the thread, or its family name with a title (Ms Fang, 方工), gets that person's
    address; keywords that are equal after folding
    take the earliest spelling. Pure; the input is not changed.
    """
    if len(members) == 1:
        return [members[0].entities]
    people = _header_people(members)
    owners = _name_owners(people)
    surnames = surname_table(known_people(people, [], {}))
    spelling: dict[str, str] = {}
    related = []
    for member in members:
        entities = member.entities
        named = [_named(person, owners, surnames, people) for person in entities.people]
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


def _named(
    person: Person,
    owners: dict[str, dict[str, bool]],
    surnames: dict[str, list[Known]],
    people: Sequence[Person],
) -> Person:
    if person.role != "mention" or person.email is not None:
        return person
    found = owners.get(fold(person.name), {}) or _titled(person.name, owners, surnames, people)
    if len(found) != 1:
        return person
    ((email, internal),) = found.items()
    return msgspec.structs.replace(person, email=email, internal=internal)


def _titled(
    name: str, owners: dict[str, dict[str, bool]], surnames: dict[str, list[Known]], people: Sequence[Person]
) -> dict[str, bool]:
    """Return {address: internal} of those whom a name with a title may mean; the family name goes first."""
    split = split_title(name)
    if split is None:
        return {}
    bare, latin = split
    if latin:
        emails = latin_owners(bare, [(person.name, person.email) for person in people])
        family = {person.email or "": person.internal for person in people if person.email in emails}
    else:
        family = {row.email or "": row.internal for row in surnames.get(fold(bare), [])}
    return family or owners.get(fold(bare), {})


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

    def add(start: int, end: int, owner: Known) -> None:
        if len(found) >= _MAX_FOUND or any(start < right and left < end for left, right in taken):
            return
        taken.append((start, end))
        found.append(
            Person(
                name=text[start:end],
                email=owner.email,
                internal=owner.internal,
                role="mention",
                start=start,
                end=end,
            )
        )

    for name in sorted(table, key=lambda word: (-len(word), word)):
        owners = table[name]
        if len({owner.email for owner in owners}) != 1:
            continue
        for start in places(text, name):
            add(start, start + len(name), owners[0])
    if table and has_han(text):
        for start, end, known in find_titled(text, surname_table(table)):
            if known is not None:
                add(start, end, known)
    return sorted(found, key=lambda person: person.start or 0)
