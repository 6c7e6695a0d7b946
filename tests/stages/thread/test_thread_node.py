"""The index row of a message: what it is called, when it counts, what it names, what makes two of them one."""

from __future__ import annotations

import base64
import quopri
from typing import Any

import pytest

from models.base import content_hash
from models.message import Address, Attachment, Decoded, Dequoted, Segment
from models.thread import Node, hard_keys
from stages import decode, dequote
from stages.decode.config import DecodePolicy
from stages.dequote.config import DequotePolicy
from stages.thread import make_node
from stages.thread.config import ThreadPolicy
from stages.thread.node import effective_date

ANN, BO = Address(name="Ann", email="ann@us.example"), Address(name="Bo", email="bo@north.example")
DATE = "2026-03-02T09:00:00+00:00"
POLICY = ThreadPolicy()


def row_of(
    message: dict[str, Any] | None = None, *, segments: list[Segment] | None = None, clean: str = ""
) -> Node:
    """Return the row of a decoded message with these fields."""
    values: dict[str, Any] = {"msg_id": "one@north.example", "from_": BO, "to": [ANN], "sent_at": DATE}
    values |= {"subject": "Plan", "body_text": "The plan is ready.", **(message or {})}
    decoded = Decoded(raw="blake3:" + "0" * 64, **values)
    return make_node(decoded, Dequoted(text=decoded.body_text, clean=clean, segments=segments or []), POLICY)


def row_of_bytes(raw: bytes) -> Node:
    """Return the row that the pipeline makes of a mail."""
    message = decode.decode(raw, DecodePolicy())
    return make_node(message, dequote.dequote(dequote.input_of(message), DequotePolicy()), POLICY)


# ---- dates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "received", "wanted"),
    [
        ("2026-03-02T09:00:00+08:00", None, "2026-03-02T01:00:00Z"),
        ("2026-03-02T09:00:00+08:00", "2026-03-02T01:00:05+00:00", "2026-03-02T01:00:00Z"),
        (
            "2025-03-02T09:00:00+00:00",
            "2026-03-02T09:00:00+00:00",
            "2025-03-02T09:00:00Z",
        ),  # late, not absurd
        ("2026-03-03T09:00:00+00:00", "2026-03-02T09:00:00+00:00", "2026-03-03T09:00:00Z"),
        ("2026-03-03T09:00:01+00:00", "2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00Z"),
        ("2099-01-01T00:00:00+00:00", "2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00Z"),
        ("1979-12-31T23:59:59+00:00", "2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00Z"),
        ("1980-01-01T00:00:00+00:00", "2026-03-02T09:00:00+00:00", "1980-01-01T00:00:00Z"),
        ("1970-01-01T00:00:00+00:00", None, "1970-01-01T00:00:00Z"),
        (None, "2026-03-02T09:00:00+02:00", "2026-03-02T07:00:00Z"),
        (None, None, None),
        ("9999-12-31T23:59:59+00:00", "9999-12-31T12:00:00-12:00", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00+14:00", None, "0001-01-01T00:00:00Z"),
    ],
)
def test_an_absurd_date_gives_way_to_the_first_server(
    sent: str | None, received: str | None, wanted: str | None
) -> None:
    assert effective_date(sent, received) == wanted


# ---- what it names ------------------------------------------------------------------------------------------


def test_a_reply_names_its_ancestors_oldest_first_and_its_parent_last() -> None:
    row = row_of({"references": ["a@x", "b@x", "a@x"], "in_reply_to": "c@x"})
    assert (row.refs, row.parent_ref) == (["a@x", "b@x", "c@x"], "c@x")
    assert hard_keys(row) == ["one@north.example", "a@x", "b@x", "c@x", row.twin_key]


def test_a_parent_among_the_references_keeps_its_place() -> None:
    row = row_of({"references": ["a@x", "b@x"], "in_reply_to": "a@x"})
    assert (row.refs, row.parent_ref) == (["a@x", "b@x"], "a@x")


def test_references_alone_name_no_direct_parent() -> None:
    row = row_of({"references": ["a@x", "b@x"]})
    assert (row.refs, row.parent_ref) == (["a@x", "b@x"], None)


def test_a_message_does_not_answer_itself() -> None:
    row = row_of({"references": ["a@x", "one@north.example"], "in_reply_to": "one@north.example"})
    assert (row.refs, row.parent_ref) == (["a@x"], None)


@pytest.mark.parametrize("role", ["from_", "sender", "to", "cc", "reply_to", "original_from"])
def test_a_mail_address_of_the_message_is_no_id(role: str) -> None:
    cai = Address(email="Cai@south.example")
    party = cai if role in ("from_", "sender", "original_from") else [cai]
    row = row_of(
        {role: party, "references": ["CAI@south.example", "a@x"], "in_reply_to": "cai@South.example"}
    )
    assert (row.refs, row.parent_ref) == (["a@x"], None)


@pytest.mark.parametrize(
    "header",
    ["your message of Monday", "Your message of Mon, 2 Mar 2026 from ann <ann@us.example>", "ann", "<>", ""],
)
def test_prose_in_in_reply_to_names_nothing(header: str) -> None:
    raw = f"Message-ID: <one@x>\nIn-Reply-To: {header}\nFrom: bo@north.example\nTo: ann@us.example\n\nYes.\n"
    row = row_of_bytes(raw.encode())
    assert (row.refs, row.parent_ref) == ([], None)


def test_a_list_longer_than_any_chain_joins_its_parent_alone() -> None:
    many = [f"{number}@x" for number in range(5000)]
    assert row_of({"references": many, "in_reply_to": "last@x"}).refs == ["last@x"]
    assert row_of({"references": many}).refs == ["4999@x"]
    assert row_of({"references": many[:40]}).refs == many[:40]


def test_copies_share_a_twin_key_and_other_mail_under_the_id_has_another() -> None:
    row = row_of()
    assert (
        row_of({"subject": "[EXTERNAL] Plan", "body_text": "The plan.", "to": [BO]}).twin_key == row.twin_key
    )
    assert row_of({"sent_at": "2026-03-09T09:00:00+00:00"}).twin_key > row.twin_key
    assert row_of({"from_": ANN}).twin_key != row.twin_key
    undated = {"sent_at": None, "received_at": DATE}
    assert row_of(undated).twin_key == row_of({**undated, "received_at": None}).twin_key
    assert row_of({**undated, "body_text": "Else."}).twin_key != row_of(undated).twin_key


def test_a_mail_without_an_id_is_called_by_its_bytes() -> None:
    raw = b"From: bo@north.example\nDate: Mon, 2 Mar 2026 09:00:00 +0000\n\nHello.\n"
    row = row_of_bytes(raw)
    assert row.msg_id == row.raw == content_hash(raw)
    assert hard_keys(row) == [row.raw, row.twin_key]
    assert row.nameless and not row_of({"message_id": "one@north.example"}).nameless


# ---- Outlook -------------------------------------------------------------------------------------------------

START = b"\x01" + bytes(range(5)) + bytes(range(100, 116))


def index_of(start: bytes, *children: bytes) -> str:
    return base64.b64encode(start + b"".join(children)).decode()


def group_of(index: str | None, topic: str | None) -> list[str]:
    return row_of({"thread_index": index, "thread_topic": topic}).group_keys


def test_a_reply_has_the_outlook_conversation_of_what_it_answers() -> None:
    first = group_of(index_of(START), "Plan")
    assert len(first) == 1
    assert group_of(index_of(START, b"12345"), "Re: PLAN") == first
    assert group_of(index_of(START, b"12345", b"67890"), "plan") == first
    assert group_of(index_of(START, b"12345")[:20] + "\n\t" + index_of(START, b"12345")[20:], "Plan") == first


def test_another_conversation_or_topic_is_another_group() -> None:
    first = group_of(index_of(START), "Plan")
    assert group_of(index_of(START[:-1] + b"!"), "Plan") != first
    assert group_of(index_of(START), "Another plan") != first


@pytest.mark.parametrize("index", [None, "", "A", "AdqX", "????????", index_of(START[:21]), "ж" * 40])
def test_a_broken_thread_index_makes_no_group(index: str | None) -> None:
    assert group_of(index, "Plan") == []


def test_a_thread_index_without_a_topic_makes_no_group() -> None:
    assert group_of(index_of(START), None) == []


# ---- people, signs of a reply, words --------------------------------------------------------------------------


def test_everybody_in_the_headers_takes_part() -> None:
    cai, dee = Address(email="cai@south.example"), Address(email="dee@east.example")
    row = row_of({"cc": [cai], "reply_to": [dee], "sender": Address(name="nobody")})
    assert row.people == ["ann@us.example", "bo@north.example", "cai@south.example", "dee@east.example"]
    assert row.sender == "bo@north.example"


def test_the_author_of_what_a_list_sent_on_is_its_sender() -> None:
    munged = {"from_": Address(name="Bo via plan", email="plan@lists.example"), "original_from": BO}
    assert row_of(munged).sender == "bo@north.example"
    assert set(row_of(munged).people) >= {"bo@north.example", "plan@lists.example"}


def test_a_mail_without_a_sender_has_a_row() -> None:
    row = row_of({"from_": None, "to": [], "subject": "", "sent_at": None, "body_text": ""})
    assert (row.sender, row.people, row.date, row.subject_key) == ("", [], None, "")


@pytest.mark.parametrize(
    ("subject", "kind", "sign"),
    [
        ("Plan", "reply", False),
        ("Plan", "signature", False),
        ("Re: Plan", "reply", True),
        ("Plan", "quote", True),
        ("Plan", "attribution", True),
        ("Plan", "forward_header", True),
        ("[list] Plan", "reply", False),
    ],
)
def test_a_prefix_or_a_quote_is_the_sign_of_a_reply(subject: str, kind: Any, sign: bool) -> None:
    assert row_of({"subject": subject}, segments=[Segment(kind=kind, start=0, end=5)]).reply_sign is sign


@pytest.mark.parametrize(
    ("category", "auto_reply", "joins"),
    [
        ("conversation", False, True),
        ("calendar", False, True),
        ("conversation", True, False),
        ("newsletter", False, False),
        ("notification", False, False),
        ("auto_reply", True, False),
        ("bounce", False, False),
    ],
)
def test_mail_of_machines_never_joins_by_subject(category: str, auto_reply: bool, joins: bool) -> None:
    assert row_of({"category": category, "auto_reply": auto_reply}).joins_by_subject is joins


def test_the_words_of_the_clean_text_are_sampled_in_every_script() -> None:
    assert row_of(clean="Die STRASSE, 2 ab").tokens == ["ab", "die", "strasse"]
    assert row_of(clean="会议纪要").tokens == ["会议", "会议纪要", "纪要", "议纪"]
    assert (
        len(row_of(clean=" ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400))).tokens) == 64
    )


# ---- one message or two ---------------------------------------------------------------------------------------

TEXT = (
    "Dear Ann,\n\nthe drawings are ready, and the café is booked for Friday.\nShall we meet at ten?\n\nBo\n"
)
LIST_FOOTER = (
    "\n_______________________________________________\nplanning mailing list\nplanning@lists.example\n"
    "https://lists.example/mailman/listinfo/planning\n"
)
GROUP_FOOTER = (
    '\n-- \nYou received this message because you are subscribed to the Google Groups "planning" group.\n'
    "To unsubscribe from this group and stop receiving emails from it, send an email to planning+out@groups.example.\n"
)
WARNING = (
    "CAUTION: This email originated from outside of the organization. Do not click links or open attachments "
    "unless you recognize the sender.\n\n"
)
PRIVACY = (
    "\nThis email and any files transmitted with it are confidential and intended solely for the use of the "
    "individual or entity to whom they are addressed. If you have received this email in error please notify the "
    "sender.\n"
)


def mail(
    text: str = TEXT, *, coding: str = "8bit", charset: str = "utf-8", before: str = "", **more: str
) -> bytes:
    """Return one mail from Bo; `more` are headers to set otherwise, `before` what servers put on top."""
    headers = {
        "Message-ID": "<drawings@north.example>",
        "Date": "Mon, 2 Mar 2026 09:00:00 +0000",
        "From": "Bo Lind <bo@north.example>",
        "To": "ann@us.example",
        "Subject": "Drawings",
        **{name.replace("_", "-"): value for name, value in more.items()},
        "MIME-Version": "1.0",
        "Content-Type": f"text/plain; charset={charset}",
        "Content-Transfer-Encoding": coding,
    }
    body = text.encode(charset)
    if coding == "base64":
        body = base64.encodebytes(body)
    if coding == "quoted-printable":
        body = quopri.encodestring(body)
    return (before + "".join(f"{name}: {value}\n" for name, value in headers.items()) + "\n").encode() + body


RECEIVED = "Received: from b.example by c.example; Mon, 2 Mar 2026 09:02:00 +0000\n"
COPIES = {
    "received": mail(before=RECEIVED + RECEIVED.replace(":02:", ":01:")),
    "base64": mail(coding="base64"),
    "quoted-printable": mail(coding="quoted-printable"),
    "latin-1": mail(coding="quoted-printable", charset="iso-8859-1"),
    "crlf": mail().replace(b"\n", b"\r\n"),
    "wrapped anew": mail(TEXT.replace("booked for Friday.\n", "booked\nfor  Friday. ")),
    "list footer": mail(
        TEXT + LIST_FOOTER, Subject="[planning] Drawings", List_Id="<planning.lists.example>"
    ),
    "group footer": mail(TEXT + GROUP_FOOTER, List_Id="<planning.groups.example>"),
    "warning": mail(WARNING + TEXT, Subject="[EXTERNAL] Drawings"),
    "tag in the text": mail("[EXTERNAL]\n\n" + TEXT),
    "disclaimer": mail(TEXT + PRIVACY),
    "sent on by a list": mail(
        From="Bo Lind via planning <planning@lists.example>",
        Reply_To="Bo Lind <bo@north.example>",
        List_Id="<planning.lists.example>",
    ),
    "case of the address": mail(From="Bo Lind <Bo@North.Example>"),
    "another zone": mail(Date="Mon, 2 Mar 2026 17:00:00 +0800"),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_that_differ_in_transport_are_one_message(name: str) -> None:
    assert row_of_bytes(COPIES[name]).identity == row_of_bytes(mail()).identity


OTHERS = {
    "text": mail(TEXT + "PS. Bring the key.\n"),
    "sender": mail(From="Pia Norr <pia@north.example>"),
    "date": mail(Date="Mon, 2 Mar 2026 09:00:01 +0000"),
    "no date": mail(Date=""),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_sender_date_or_text_under_one_id_is_another_message(name: str) -> None:
    assert row_of_bytes(OTHERS[name]).identity != row_of_bytes(mail()).identity


def test_the_content_hash_is_of_from_date_subject_text_and_attachments() -> None:
    plain = row_of()
    assert (
        row_of({"received_count": 3, "received_at": DATE, "to": [BO], "message_id": "x"}).content_hash
        == plain.content_hash
    )
    assert row_of({"sent_at": "2026-03-02T10:00:00+01:00"}).content_hash == plain.content_hash
    changes: list[dict[str, Any]] = [
        {"from_": ANN},
        {"from_": None},
        {"sent_at": None},
        {"subject": "Re: Plan"},
        {"body_text": "The plan is ready!"},
        {"attachments": [Attachment(hash="blake3:1")]},
        {"attachments": [Attachment(hash="blake3:2")]},
    ]
    hashes = [row_of(change).content_hash for change in changes]
    assert len({plain.content_hash, *hashes}) == len(changes) + 1
    assert all(found.startswith("blake3:") and len(found) == 71 for found in hashes)
