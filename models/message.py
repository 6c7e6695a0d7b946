"""What the message-level stages hand on: decoded, dequoted, entities, intent."""

from __future__ import annotations

from typing import Literal

import msgspec

from models.base import Record

Category = Literal["conversation", "newsletter", "auto_reply", "bounce", "calendar", "notification"]
SegmentKind = Literal[
    "reply",
    "attribution",
    "quote",
    "forward_header",
    "forward_body",
    "signoff",
    "signature",
    "disclaimer",
    "list_footer",
    "banner",
    "device_line",
]
Role = Literal["from", "sender", "reply_to", "to", "cc", "mention"]
UNREADABLE_SHARE = 0.2  # more replacements than this among the non-ASCII characters: no text could be read
INTENTS = ("催办", "决策", "转交", "询问", "抱怨", "表扬", "通知", "闲聊")


class Address(Record):
    """One mailbox of a header: decoded display name ("" if none) and address (domain lower-cased)."""

    name: str = ""
    email: str = ""


class Attachment(Record):
    """One attached or inline part; `mime` as declared, `sniffed` as its first bytes tell (None where they tell
    nothing); `size` in bytes, `hash` of the decoded bytes. `original_filename` is the name as written where
    it was made safe."""

    filename: str | None = None
    mime: str = "application/octet-stream"
    size: int = 0
    hash: str = ""
    disposition: str | None = None
    content_id: str | None = None
    inline: bool = False
    sniffed: str | None = None
    original_filename: str | None = None


class Attendee(Record):
    """One ATTENDEE of an event; `partstat` as in RFC 5545 §3.2.12 (`ACCEPTED`, `NEEDS-ACTION` …)."""

    name: str = ""
    email: str = ""
    partstat: str | None = None


class CalendarEvent(Record):
    """One event of a text/calendar part (RFC 5545); times ISO 8601, a date alone for whole days.

    `change` tells what the mail does to the calendar: new, updated, cancelled, reply, counter, published.
    `zone` is the name that the start was written with, `recurrence` the RRULE as written, `recurrence_id` the
    occurrence of a series that is meant.
    """

    method: str | None = None
    uid: str | None = None
    sequence: int | None = None
    summary: str | None = None
    start: str | None = None
    end: str | None = None
    location: str | None = None
    organizer: str | None = None
    attendees: list[Attendee] = []
    status: str | None = None
    change: str | None = None
    zone: str | None = None
    recurrence: str | None = None
    recurrence_id: str | None = None


class Nested(Record):
    """A message inside the message (message/rfc822); its text is not part of the outer body."""

    msg_id: str | None = None
    subject: str = ""
    from_: Address | None = msgspec.field(name="from", default=None)
    body_text: str = ""
    attachments: list[Attachment] = []


class DeliveryReport(Record):
    """A DSN, MDN or ARF report (RFC 3464, RFC 8098, RFC 5965)."""

    kind: str
    recipient: str | None = None
    action: str | None = None
    status: str | None = None


class QuoteMark(Record):
    """An edge of a quote seen in the HTML, mapped onto characters of `body_text`; `hook` names the mark."""

    hook: str
    start: int
    end: int


class Repair(Record):
    """An oddity that was mended; never a failure."""

    kind: str
    detail: str = ""


class Share(Record):
    """Share (0-1) of one language in the text, of words; a CJK character counts as about half a word."""

    language: str
    share: float


class DateCandidate(Record):
    """A time that the message may be of (ISO 8601 with offset), and where it comes from."""

    label: str
    valid_from: str | None = None


class Ambiguity(Record):
    """Doubt about the message's own date, with candidates, best first."""

    kind: Literal["conflicting_dates", "undated", "low_confidence_extraction"]
    candidates: list[DateCandidate] = []
    detector_confidence: float = 0.0
    applied_candidate_confidence: float = 0.0


class Flag(Record):
    """Something in the mail that a reader should be warned of (hidden text, instruction-like text …)."""

    kind: str
    evidence: str = ""


class Decoded(Record):
    """A message after decode: headers as text, one body as text (NFC, LF), everything else described.

    `message_id` is the Message-ID without brackets, None if the message has none; `msg_id` never is
    (`blake3:…` of the raw bytes then). `received_at` is the earliest parseable Received time.
    """

    raw: str
    msg_id: str
    message_id: str | None = None
    subject: str = ""
    from_: Address | None = msgspec.field(name="from", default=None)
    sender: Address | None = None
    reply_to: list[Address] = []
    to: list[Address] = []
    cc: list[Address] = []
    sent_at: str | None = None
    received_at: str | None = None
    received_count: int = 0
    date_method: str = "none"
    in_reply_to: str | None = None
    references: list[str] = []
    thread_index: str | None = None
    thread_topic: str | None = None
    list_id: str | None = None
    original_from: Address | None = None
    body_text: str = ""
    body_html: str | None = None
    quote_marks: list[QuoteMark] = []
    language: str | None = None
    languages: list[Share] = []
    language_method: str = "none"
    replaced_share: float = 0.0
    attachments: list[Attachment] = []
    calendar: list[CalendarEvent] = []
    nested: list[Nested] = []
    category: Category = "conversation"
    category_reasons: list[str] = []
    skip_reason: str | None = None
    auto_reply: bool = False
    report: DeliveryReport | None = None
    signed: bool = False
    encrypted: bool = False
    ambiguities: list[Ambiguity] = []
    flags: list[Flag] = []
    repairs: list[Repair] = []


class Segment(Record):
    """A run of characters of the full text with one kind (dequote policy §1); `rule` names pack and rule.

    `depth` is the quote depth (0 for the sender's own words), `answers` the index of the quote segment
    that an inline answer replies to.
    """

    kind: SegmentKind
    start: int
    end: int
    rule: str = ""
    depth: int = 0
    answers: int | None = None


class Dequoted(Record):
    """Segments that cover `text` without gaps, and the clean text that the policy keeps."""

    text: str
    clean: str
    segments: list[Segment] = []
    strategy: str = "none"
    is_forward: bool = False
    truncated: bool = False


class DateMention(Record):
    """A date in the clean text. `iso` is a day or a time with offset; a period has `iso_start` too."""

    text: str
    start: int
    end: int
    iso: str
    iso_start: str | None = None
    grain: Literal["day", "minute", "range"] = "day"
    confidence: float = 1.0
    rule: str = ""


class Amount(Record):
    """An amount of money in the clean text; `value` is the full number, `currency` ISO 4217 or None."""

    text: str
    start: int
    end: int
    value: float
    value_max: float | None = None
    currency: str | None = None
    inferred: bool = False
    approx: bool = False


class Person(Record):
    """One occurrence of a person: a header row (spans None) or a mention in the clean text."""

    name: str
    email: str | None = None
    internal: bool = False
    role: Role = "mention"
    start: int | None = None
    end: int | None = None


class CustomerMatch(Record):
    """A customer that a header address belongs to; `reason` is a clause that names header and rule."""

    customer_id: str
    reason: str


class Candidate(Record):
    """An outside domain that the domain map does not know: a customer to be confirmed."""

    domain: str
    people: list[Address] = []


class Entities(Record):
    """What was found in one message. `people_methods` names the rules that canonicalised header people;
    `canonical` maps each header address to the address that stands for the person (where it differs)."""

    canonical: dict[str, str] = {}
    people: list[Person] = []
    dates: list[DateMention] = []
    amounts: list[Amount] = []
    project_keywords: list[str] = []
    actions: list[str] = []
    customer_id_candidate: str | None = None
    customer_matches: list[CustomerMatch] = []
    customer_receipt: str = ""
    candidates: list[Candidate] = []
    people_methods: list[str] = []
    models: dict[str, str] = {}


class Ranked(Record):
    """One intent with its probability (0-1)."""

    label: str
    p: float


class Intent(Record):
    """Primary intent after the 0.6 rule; `ranking` (8 rows, sums to 1) keeps what the classifier thought.

    `unknown` (with an empty ranking) where no text could be read.
    """

    primary: str
    secondary: list[str] = []
    confidence: float = 0.0
    low_confidence: bool = False
    ranking: list[Ranked] = []
    method: str = ""
    flags: list[Flag] = []
    models: dict[str, str] = {}
