"""Putting the canonical Email together, field by field (CONTRACTS §1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from models.addresses import domain_of, is_under
from models.base import Record
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
from models.message import UNREADABLE_SHARE, Address, Decoded, Dequoted, Entities, Intent, Person
from models.thread import Link
from stages.normalize.config import NormalizePolicy


class EmailParts(Record):
    """All that one Email is made of. `copies` are (content hash, earliest Received) of every copy, sorted."""

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
    extraction_version: str


def compose_email(parts: EmailParts, policy: NormalizePolicy) -> Email:
    """Return the canonical Email; `extracted_at` is "" until it is published."""
    message, entities, intent = parts.decoded, parts.entities, parts.intent
    people = {(person.role, _folded(person.name), person.email): person for person in entities.people}
    readable = message.replaced_share <= UNREADABLE_SHARE
    return Email(
        msg_id=parts.key,
        thread_id=parts.thread_id,
        internal_date=internal_date(parts.locations, message),
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
            internal_people=_names(people.values(), internal=True),
            external_people=_names(people.values(), internal=False),
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
        unclustered=not readable and parts.link.method == "root",
        segments=parts.dequoted.segments,
        body_text=parts.dequoted.text,
        ambiguities=message.ambiguities,
        guardrails=Guardrails(flags=[*message.flags, *intent.flags]),
        locations=parts.locations,
        content_hash=parts.content_hash,
        raw=message.raw,
        versions=parts.copies,
        repairs=message.repairs,
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


def internal_date(locations: list[Location], message: Decoded) -> str | None:
    """Return the smallest date that a server gave, else the earliest Received, else Date."""
    server = [place.internal_date for place in locations if place.internal_date]
    return min(server) if server else message.received_at or message.sent_at


def _party(address: Address | None, entities: Entities, policy: NormalizePolicy) -> Party | None:
    """Return a header person: the name as written, the canonical address, whether its domain is the company's."""
    if address is None or not (address.email or address.name):
        return None
    email = entities.canonical.get(address.email, address.email)
    return Party(name=address.name, email=email, internal=is_under(domain_of(email), policy.company_domains))


def _parties(addresses: Sequence[Address], entities: Entities, policy: NormalizePolicy) -> list[Party]:
    return [party for address in addresses if (party := _party(address, entities, policy))]


def _names(people: Iterable[Person], *, internal: bool) -> list[str]:
    """Return display names once each, header people first."""
    names = [person.name or person.email or "" for person in people if person.internal is internal]
    return list(dict.fromkeys(name for name in names if name))


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
