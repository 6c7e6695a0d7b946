"""The canonical Email of one message: every field is where the contract says, and says what the parts say."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.email import Email, Location, Party, Version
from models.message import (
    INTENTS,
    UNREADABLE_SHARE,
    Address,
    Amount,
    Attachment,
    CalendarEvent,
    CustomerMatch,
    DateMention,
    Decoded,
    DeliveryReport,
    Dequoted,
    Entities,
    Flag,
    Intent,
    Nested,
    Person,
    Ranked,
    Repair,
    Segment,
    Share,
)
from models.schema import schema_of
from models.thread import Link
from stages.normalize import EmailParts, compose_email
from stages.normalize.config import NormalizePolicy

RAW, CONTENT = "blake3:" + "1" * 64, "blake3:" + "2" * 64
POLICY = NormalizePolicy(company_domains=["us.example"])
TEXT = "Bo met Pia on Friday.\nCost: 5 EUR.\n\n> Shall we?"
CLEAN = "Bo met Pia on Friday.\nCost: 5 EUR."

DECODED = Decoded(
    raw=RAW,
    msg_id="one@us.example",
    message_id="one@us.example",
    subject="Re: Plan",
    from_=Address(name="Ann Vale", email="ann@us.example"),
    sender=Address(name="", email="desk@us.example"),
    reply_to=[Address(name="Desk", email="desk@us.example")],
    to=[Address(name="Bo", email="bo@north.example")],
    cc=[Address(name="", email="info@lab.us.example")],
    sent_at="2026-03-02T17:00:00+08:00",
    received_at="2026-03-02T09:00:07+00:00",
    received_count=1,
    date_method="date",
    in_reply_to="zero@north.example",
    references=["zero@north.example"],
    list_id="plan.lists.example",
    body_text=TEXT,
    body_html="<p>Bo met Pia</p>",
    language="en",
    languages=[Share(language="en", share=1.0)],
    language_method="model",
    attachments=[Attachment(filename="plan.pdf", size=3, hash=RAW)],
    calendar=[CalendarEvent(method="REQUEST", summary="Visit")],
    nested=[Nested(subject="Inner")],
    category="conversation",
    category_reasons=["nothing speaks against it"],
    report=DeliveryReport(kind="mdn"),
    signed=True,
    flags=[Flag(kind="hidden_text", evidence="white on white")],
    repairs=[Repair(kind="charset", detail="gb2312 read as gb18030")],
)
DEQUOTED = Dequoted(
    text=TEXT,
    clean=CLEAN,
    segments=[
        Segment(kind="reply", start=0, end=36, rule="rest"),
        Segment(kind="quote", start=36, end=47, depth=1),
    ],
    strategy="marks",
)
ENTITIES = Entities(
    people=[
        Person(name="Ann Vale", email="ann@us.example", internal=True, role="from"),
        Person(name="Bo Lind", email="bo@north.example", role="to"),
        Person(name="Bo", email="bo@north.example", start=0, end=2),
        Person(name="Pia", start=7, end=10),
    ],
    dates=[DateMention(text="Friday", start=14, end=20, iso="2026-03-06")],
    amounts=[Amount(text="5 EUR", start=28, end=33, value=5.0, currency="EUR")],
    project_keywords=["Visit"],
    actions=["call Bo"],
    customer_id_candidate="C001",
    customer_matches=[CustomerMatch(customer_id="C001", reason="to: north.example")],
    customer_receipt="north.example is a domain of C001",
    people_methods=["alias"],
    models={"names": "v1"},
)
INTENT = Intent(
    primary="通知",
    secondary=["询问"],
    confidence=0.4,
    low_confidence=True,
    ranking=[Ranked(label=label, p=0.4 if label == "催办" else 0.6 / 7) for label in INTENTS],
    method="linear",
    flags=[Flag(kind="instruction", evidence="ignore all")],
    models={"intent": "v2"},
)
LOCATIONS = [
    Location(account="ann", folder="Sent", uid="7"),
    Location(account="ann", folder="INBOX", uid="9"),
]


def parts(**more: Any) -> EmailParts:
    """Return the parts of one plain reply; `decoded` and `entities` may be dicts of fields to set otherwise."""
    values: dict[str, Any] = {
        "decoded": {},
        "dequoted": DEQUOTED,
        "entities": {},
        "intent": INTENT,
        "link": Link(
            key="one@us.example", parent="zero@north.example", method="in_reply_to", subject_changed=True
        ),
        "key": "one@us.example",
        "thread_id": "thr-2026-03-02-0123456789ab",
        "subject_normalized": "Plan",
        "content_hash": CONTENT,
        "locations": LOCATIONS,
        "copies": [Version(content_hash=CONTENT, received="2026-03-02T09:00:07+00:00")],
        "alone": False,
        "extraction_version": "1.1.1",
        **more,
    }
    values["decoded"] = msgspec.structs.replace(DECODED, **values["decoded"])
    values["entities"] = msgspec.structs.replace(ENTITIES, **values["entities"])
    return EmailParts(**values)


def composed(policy: NormalizePolicy = POLICY, **more: Any) -> Email:
    """Return the Email of such parts; it is as the schema says."""
    email = compose_email(parts(**more), policy)
    jsonschema.validate(msgspec.to_builtins(email), schema_of("email"))
    return email


def test_every_field_says_what_its_part_says() -> None:
    email = composed()
    for name in [
        "sent_at",
        "subject",
        "language",
        "languages",
        "attachments",
        "calendar",
        "nested",
        "category",
        "skip_reason",
        "in_reply_to",
        "references",
        "list_id",
        "auto_reply",
        "report",
        "signed",
        "encrypted",
        "ambiguities",
        "raw",
        "repairs",
    ]:
        assert getattr(email, name) == getattr(DECODED, name), name
    for name in [
        "dates",
        "amounts",
        "project_keywords",
        "people",
        "actions",
        "customer_id_candidate",
        "customer_matches",
    ]:
        assert getattr(email.entities, name) == getattr(ENTITIES, name), name
    for name in ["primary", "secondary", "confidence", "ranking", "method"]:
        assert getattr(email.intent, name) == getattr(INTENT, name), name
    assert (email.msg_id, email.thread_id) == ("one@us.example", "thr-2026-03-02-0123456789ab")
    assert (email.body_text, email.body_text_clean, email.segments) == (TEXT, CLEAN, DEQUOTED.segments)
    assert email.guardrails.flags == [*DECODED.flags, *INTENT.flags]
    assert (email.content_hash, email.versions) == (CONTENT, parts().copies)
    assert (email.subject_normalized, email.extraction_version, email.extracted_at) == ("Plan", "1.1.1", "")
    assert email.low_confidence and not email.is_forward and not email.unclustered


def test_the_audit_names_what_decided() -> None:
    audit = composed().rule_audit
    assert msgspec.to_builtins(audit) == {
        "dequote_strategy": "marks",
        "thread_method": "in_reply_to",
        "thread_parent": "zero@north.example",
        "subject_changed": True,
        "language_method": "model",
        "date_method": "date",
        "people_methods": ["alias"],
        "customer_receipt": "north.example is a domain of C001",
        "intent_method": "linear",
        "category_reasons": ["nothing speaks against it"],
        "models": {"names": "v1", "intent": "v2"},
    }


def test_low_confidence_keeps_what_the_classifier_thought() -> None:
    email = composed()
    assert email.intent.primary == "通知" and email.low_confidence
    assert [row.label for row in email.intent.ranking] == list(INTENTS)
    assert sum(row.p for row in email.intent.ranking) == pytest.approx(1)


def test_a_mail_of_nothing_is_an_email() -> None:
    empty = compose_email(
        EmailParts(
            decoded=Decoded(raw=RAW, msg_id=RAW),
            dequoted=Dequoted(text="", clean=""),
            entities=Entities(),
            intent=Intent(primary="通知"),
            link=Link(key=RAW),
            key=RAW,
            thread_id="thr-undated-0123456789ab",
            subject_normalized="",
            content_hash=CONTENT,
            locations=[],
            copies=[],
            alone=True,
            extraction_version="1",
        ),
        NormalizePolicy(),
    )
    found = msgspec.to_builtins(empty)
    jsonschema.validate(found, schema_of("email"))
    assert [name for name, value in found.items() if value is None] == [
        *(
            "internal_date",
            "sent_at",
            "from",
            "sender",
            "language",
            "skip_reason",
            "in_reply_to",
            "list_id",
            "report",
        )
    ]
    assert not empty.unclustered


# ---- people --------------------------------------------------------------------------------------------------


def test_header_people_in_every_role_are_inside_or_outside_by_their_domain() -> None:
    email = composed()
    assert email.from_ == Party(name="Ann Vale", email="ann@us.example", internal=True)
    assert email.sender == Party(name="", email="desk@us.example", internal=True)
    assert email.reply_to == [Party(name="Desk", email="desk@us.example", internal=True)]
    assert email.to == [Party(name="Bo", email="bo@north.example", internal=False)]
    assert email.cc == [Party(name="", email="info@lab.us.example", internal=True)]


@pytest.mark.parametrize(
    "address",
    ["ann@notus.example", "ann@us.example.net", "us.example", "", "ann@", "us.example@north.example"],
)
def test_a_domain_that_only_looks_like_ours_is_outside(address: str) -> None:
    found = composed(decoded={"from_": Address(name="Ann", email=address)}).from_
    assert found is not None and not found.internal


def test_without_company_domains_everybody_is_outside() -> None:
    email = composed(NormalizePolicy())
    assert not any(party.internal for party in [*email.to, *email.cc, *email.reply_to] if party)


def test_an_alias_stands_with_its_canonical_address_and_the_name_as_written() -> None:
    private = {"from_": Address(name="Annie", email="annie@mail.example")}
    found = composed(decoded=private, entities={"canonical": {"annie@mail.example": "ann@us.example"}}).from_
    assert found == Party(name="Annie", email="ann@us.example", internal=True)


def test_an_address_without_address_and_name_is_nobody() -> None:
    email = composed(decoded={"from_": Address(), "to": [Address(), Address(name="Undisclosed")]})
    assert email.from_ is None
    assert email.to == [Party(name="Undisclosed", email="", internal=False)]


def test_names_are_listed_once_inside_and_outside_header_people_first() -> None:
    people = [
        Person(name="Ann Vale", email="ann@us.example", internal=True, role="from"),
        Person(name="BO  Lind", email="bo@north.example", role="to"),
        Person(name="", email="cai@south.example", role="cc"),
        Person(name="Bo Lind", email="bo@north.example", start=0, end=2),
        Person(name="ann vale", internal=True, start=3, end=5),
        Person(name="Pia", start=7, end=10),
    ]
    found = composed(entities={"people": people}).entities
    assert found.internal_people == ["Ann Vale"]
    assert found.external_people == ["BO Lind", "cai@south.example", "Pia"]
    assert found.people == people


# ---- dates and places ----------------------------------------------------------------------------------------


def place(date: str | None, folder: str = "INBOX") -> Location:
    return Location(account="ann", folder=folder, uid="1", internal_date=date)


def test_the_earliest_server_date_counts_whatever_its_zone() -> None:
    places = [place("2026-03-02T09:30:00+00:00"), place("2026-03-02T17:20:00+08:00"), place(None)]
    assert composed(locations=places).internal_date == "2026-03-02T17:20:00+08:00"


def test_without_a_server_date_the_earliest_received_of_any_copy_counts() -> None:
    sent = {"received_at": None, "received_count": 0}  # the copy in the Sent folder gave the text
    copies = [
        Version(content_hash=CONTENT, received=when)
        for when in (None, "2026-03-02T09:00:09+00:00", "2026-03-02T17:00:08+08:00")
    ]
    assert composed(decoded=sent, copies=copies).internal_date == "2026-03-02T17:00:08+08:00"


def test_without_both_the_date_of_the_mail_counts() -> None:
    copies = [Version(content_hash=CONTENT, received=None)]
    assert composed(decoded={"received_at": None}, copies=copies).internal_date == DECODED.sent_at
    assert composed(decoded={"received_at": None, "sent_at": None}, copies=copies).internal_date is None


def test_places_are_sorted_by_account_folder_and_uid() -> None:
    rows = [Location(account=a, folder=f, uid=u) for a, f, u in ("b11", "a21", "a12", "a11")]
    found = composed(locations=rows).locations
    assert [one.account + one.folder + one.uid for one in found] == ["a11", "a12", "a21", "b11"]


# ---- text that could not be read ------------------------------------------------------------------------------


def test_where_no_text_could_be_read_there_is_no_clean_text_and_nothing_found_in_it() -> None:
    email = composed(decoded={"replaced_share": 0.21})
    assert email.body_text_clean == ""
    assert email.body_text == TEXT and email.segments == DEQUOTED.segments  # what there is stays
    found = email.entities
    assert (found.dates, found.amounts, found.project_keywords, found.actions) == ([], [], [], [])
    assert [person.role for person in found.people] == ["from", "to"]
    assert (found.internal_people, found.external_people) == (["Ann Vale"], ["Bo Lind"])
    assert found.customer_id_candidate == "C001"


def test_a_fifth_of_replacements_can_still_be_read() -> None:
    assert composed(decoded={"replaced_share": UNREADABLE_SHARE}).body_text_clean == CLEAN


@pytest.mark.parametrize(
    ("share", "alone", "unclustered"),
    [(1.0, True, True), (1.0, False, False), (0.2, True, False), (0.0, True, False)],
)
def test_only_an_unreadable_mail_that_is_alone_is_unclustered(
    share: float, alone: bool, unclustered: bool
) -> None:
    email = composed(decoded={"replaced_share": share}, alone=alone, link=Link(key="one@us.example"))
    assert email.unclustered is unclustered


def test_a_body_that_was_cut_says_so_among_the_repairs() -> None:
    cut = msgspec.structs.replace(DEQUOTED, truncated=True)
    assert composed(dequoted=cut).repairs == [
        *DECODED.repairs,
        Repair(kind="body_cut", detail=f"only the first {len(TEXT)} characters were read"),
    ]


# ---- the HTML body ----------------------------------------------------------------------------------------------


def test_the_html_body_is_written_only_when_asked_for() -> None:
    asked = NormalizePolicy(body_html=True)
    assert "body_html" not in msgspec.to_builtins(composed())
    assert msgspec.to_builtins(composed(asked))["body_html"] == "<p>Bo met Pia</p>"
    assert "body_html" not in msgspec.to_builtins(composed(asked, decoded={"body_html": None}))


# ---- spans -------------------------------------------------------------------------------------------------------


@given(st.floats(0, 1))
@settings(deadline=None)
def test_every_span_lies_in_its_text(share: float) -> None:
    email = compose_email(parts(decoded={"replaced_share": share}), POLICY)
    found = email.entities
    mentions: list[DateMention | Amount] = [*found.dates, *found.amounts]
    for mention in mentions:
        assert email.body_text_clean[mention.start : mention.end] == mention.text
    for person in found.people:
        if person.start is not None:
            assert email.body_text_clean[person.start : person.end] == person.name
    assert "".join(email.body_text[one.start : one.end] for one in email.segments) == email.body_text


def test_composing_changes_none_of_its_parts() -> None:
    given_, again = parts(), parts()
    compose_email(given_, POLICY)
    assert given_ == again
