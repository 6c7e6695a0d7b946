"""Putting the canonical Email together, field by field (CONTRACTS §1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from models.addresses import domain_of, is_under
from models.base import Record, earliest
from models.email import (
    Email,
    EmailEntities,
    EmailIntent,
    Guardrails,
    Location,
    Party,
    RuleAudit,
    Version,
)
from models.message import UNREADABLE_SHARE, Address, Decoded, Dequoted, Entities, Intent, Person, Repair
from models.thread import Link
from stages.normalize.config import NormalizePolicy


class EmailParts(Record):
    """All that one Email is made of. `copies` are (content hash, earliest Received) of every copy; `alone` says
    that its thread holds no other message."""

    decoded: Decoded
    dequoted: Dequoted
    entities: Entities
    intent: Intent
    link: Link
    key: str
    thread_id: str
    subject_normalized: str
    content_hash: str
    locations: list[Location]
    copies: list[Version]
    alone: bool
    extraction_version: str


def compose_email(parts: EmailParts, policy: NormalizePolicy) -> Email:
    """Return the canonical Email; `extracted_at` is "" until it is published."""
    message, intent = parts.decoded, parts.intent
    readable = message.replaced_share <= UNREADABLE_SHARE
    entities = parts.entities if readable else _without_text(parts.entities)
    return Email(
        msg_id=parts.key,
        thread_id=parts.thread_id,
        internal_date=internal_date(parts),
        sent_at=message.sent_at,
        from_=_party(message.from_, entities, policy),
        to=_parties(message.to, entities, policy),
        cc=_parties(message.cc, entities, policy),
        sender=_party(message.sender, entities, policy),
        reply_to=_parties(message.reply_to, entities, policy),
        subject=message.subject,
        subject_normalized=parts.subject_normalized,
        language=message.language,
        languages=message.languages,
        body_text_clean=parts.dequoted.clean if readable else "",
        entities=EmailEntities(
            dates=entities.dates,
            amounts=entities.amounts,
            project_keywords=entities.project_keywords,
            internal_people=_names(entities.people, internal=True),
            external_people=_names(entities.people, internal=False),
            customer_id_candidate=entities.customer_id_candidate,
            people=entities.people,
            actions=entities.actions,
            customer_matches=entities.customer_matches,
        ),
        intent=EmailIntent(
            primary=intent.primary,
            secondary=intent.secondary,
            confidence=intent.confidence,
            ranking=intent.ranking,
            method=intent.method,
        ),
        low_confidence=intent.low_confidence,
        attachments=message.attachments,
        calendar=message.calendar,
        nested=message.nested,
        category=message.category,
        skip_reason=message.skip_reason,
        is_forward=parts.dequoted.is_forward,
        in_reply_to=message.in_reply_to,
        references=message.references,
        list_id=message.list_id,
        auto_reply=message.auto_reply,
        report=message.report,
        signed=message.signed,
        encrypted=message.encrypted,
        unclustered=not readable and parts.alone,
        segments=parts.dequoted.segments,
        body_text=parts.dequoted.text,
        ambiguities=message.ambiguities,
        guardrails=Guardrails(flags=[*message.flags, *intent.flags]),
        locations=sorted(parts.locations, key=lambda place: (place.account, place.folder, place.uid)),
        content_hash=parts.content_hash,
        raw=message.raw,
        versions=parts.copies,
        repairs=[*message.repairs, *_cut(parts.dequoted)],
        extraction_version=parts.extraction_version,
        extracted_at="",
        rule_audit=RuleAudit(
            dequote_strategy=parts.dequoted.strategy,
            thread_method=parts.link.method,
            thread_parent=parts.link.parent,
            subject_changed=parts.link.subject_changed,
            language_method=message.language_method,
            date_method=message.date_method,
            people_methods=entities.people_methods,
            customer_receipt=entities.customer_receipt,
            intent_method=intent.method,
            category_reasons=message.category_reasons,
            models={**entities.models, **intent.models},
        ),
        body_html=message.body_html if policy.body_html and message.body_html is not None else msgspec.UNSET,
    )


def _cut(dequoted: Dequoted) -> list[Repair]:
    """Return the note that a body was too long to be taken whole; the raw bytes hold the rest."""
    if not dequoted.truncated:
        return []
    return [Repair(kind="body_cut", detail=f"only the first {len(dequoted.text)} characters were read")]


def internal_date(parts: EmailParts) -> str | None:
    """Return the earliest date that a server gave, else the earliest Received of any copy, else Date."""
    server = earliest(place.internal_date for place in parts.locations)
    received = earliest([parts.decoded.received_at, *(copy.received for copy in parts.copies)])
    return server or received or parts.decoded.sent_at


def _without_text(entities: Entities) -> Entities:
    """Return what the headers say: where no text could be read, nothing was found in it."""
    people = [person for person in entities.people if person.role != "mention"]
    return msgspec.structs.replace(
        entities, people=people, dates=[], amounts=[], project_keywords=[], actions=[]
    )


def _party(address: Address | None, entities: Entities, policy: NormalizePolicy) -> Party | None:
    """Return a header person: the name as written, the canonical address, whether its domain is the company's."""
    if address is None or not (address.email or address.name):
        return None
    email = entities.canonical.get(address.email, address.email)
    return Party(name=address.name, email=email, internal=is_under(domain_of(email), policy.company_domains))


def _parties(addresses: Sequence[Address], entities: Entities, policy: NormalizePolicy) -> list[Party]:
    return [party for address in addresses if (party := _party(address, entities, policy))]


def _names(people: Iterable[Person], *, internal: bool) -> list[str]:
    """Return display names once each whatever their case, in the order of `people` (header people first)."""
    names: dict[str, str] = {}
    for person in people:
        name = " ".join((person.name or person.email or "").split())
        if name and person.internal is internal:
            names.setdefault(name.casefold(), name)
    return list(names.values())
