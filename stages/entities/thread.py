"""The thread's view of entities: given names that one header person of the conversation bears, one spelling."""

from __future__ import annotations

import msgspec

from models.message import Entities, Person
from stages.entities.folding import fold
from stages.entities.mentions import spellings


def relate_thread(members: list[tuple[str, Entities]]) -> list[Entities]:
    """Return the entities of each member with what the thread knows beside it.

    `members` are (msg_id, entities) in the thread's order (date, id). A mention without an address that
    equals (folded) the full or given name of exactly one header person of the thread gets that person's
    address; keywords that are equal after folding take the earliest spelling. Pure; the input is not changed.
    """
    owners = _name_owners(members)
    spelling: dict[str, str] = {}
    related = []
    for _, entities in members:
        people = [_named(person, owners) for person in entities.people]
        keywords = [spelling.setdefault(fold(word), word) for word in entities.project_keywords]
        related.append(
            msgspec.structs.replace(entities, people=people, project_keywords=list(dict.fromkeys(keywords)))
        )
    return related


def _name_owners(members: list[tuple[str, Entities]]) -> dict[str, dict[str, bool]]:
    """Return folded name → {address: internal} over the header people of all members."""
    owners: dict[str, dict[str, bool]] = {}
    for _, entities in members:
        for person in entities.people:
            if person.role == "mention" or person.email is None:
                continue
            for name in {person.name, *spellings(person.name)}:
                owners.setdefault(fold(name), {})[person.email] = person.internal
    return owners


def _named(person: Person, owners: dict[str, dict[str, bool]]) -> Person:
    if person.role != "mention" or person.email is not None:
        return person
    found = owners.get(fold(person.name), {})
    if len(found) != 1:
        return person
    ((email, internal),) = found.items()
    return msgspec.structs.replace(person, email=email, internal=internal)
