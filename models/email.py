"""The canonical Email: the contract with everything downstream (CONTRACTS §1)."""

from __future__ import annotations

import msgspec

from models.base import Record
from models.message import (
    Ambiguity,
    Amount,
    Attachment,
    CalendarEvent,
    Category,
    CustomerMatch,
    DateMention,
    DeliveryReport,
    Flag,
    Nested,
    Person,
    Ranked,
    Repair,
    Segment,
    Share,
)
from models.thread import Method


class Party(Record):
    """A header person: display name, canonical address, and whether the domain is the company's own."""

    name: str
    email: str
    internal: bool


class EmailEntities(Record):
    """What was found in one message, with spans into `body_text_clean`; what its thread knows is in it too."""

    dates: list[DateMention]
    amounts: list[Amount]
    project_keywords: list[str]
    internal_people: list[str]
    external_people: list[str]
    customer_id_candidate: str | None
    people: list[Person]
    actions: list[str]
    customer_matches: list[CustomerMatch]


class EmailIntent(Record):
    """The intent after the 0.6 rule, and the whole ranking (8 rows, sums to 1)."""

    primary: str
    secondary: list[str]
    confidence: float
    ranking: list[Ranked]
    method: str


class Guardrails(Record):
    """What a reader, above all a language model, should be warned of."""

    flags: list[Flag]


class Location(Record):
    """Where a copy was found: account, folder, uid (never an absolute path), the server's date if any."""

    account: str
    folder: str
    uid: str
    internal_date: str | None = None


class Version(Record):
    """A copy of the message: the hash of its content and its earliest Received time."""

    content_hash: str
    received: str | None


class RuleAudit(Record):
    """Which rule decided what."""

    dequote_strategy: str
    thread_method: Method
    thread_parent: str | None
    subject_changed: bool
    language_method: str
    date_method: str
    people_methods: list[str]
    customer_receipt: str
    intent_method: str
    category_reasons: list[str]
    models: dict[str, str]


class Email(Record):
    """One message, clean, threaded, labelled. Spans count characters of `body_text_clean` for entities
    and of `body_text` for segments, end exclusive. Times are ISO 8601 with an offset."""

    msg_id: str
    thread_id: str
    internal_date: str | None
    sent_at: str | None
    from_: Party | None = msgspec.field(name="from")
    to: list[Party]
    cc: list[Party]
    sender: Party | None
    reply_to: list[Party]
    subject: str
    subject_normalized: str
    language: str | None
    languages: list[Share]
    body_text_clean: str
    entities: EmailEntities
    intent: EmailIntent
    low_confidence: bool
    attachments: list[Attachment]
    calendar: list[CalendarEvent]
    nested: list[Nested]
    category: Category
    skip_reason: str | None
    is_forward: bool
    in_reply_to: str | None
    references: list[str]
    list_id: str | None
    auto_reply: bool
    report: DeliveryReport | None
    signed: bool
    encrypted: bool
    unclustered: bool
    segments: list[Segment]
    body_text: str
    ambiguities: list[Ambiguity]
    guardrails: Guardrails
    locations: list[Location]
    content_hash: str
    raw: str
    versions: list[Version]
    repairs: list[Repair]
    extraction_version: str
    extracted_at: str
    rule_audit: RuleAudit
    body_html: str | msgspec.UnsetType = msgspec.UNSET
