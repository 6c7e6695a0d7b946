"""Records as files: keys in the order of the contract, equal bytes for equal records, a digest without the time."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_normalize_compose import POLICY, composed, parts

from models.email import Email
from models.thread import ThreadFile
from stages.normalize import compose_email, render_email, render_record

AT, LATER = "2026-03-02T09:00:00+00:00", "2026-03-03T09:00:00+00:00"
CONTRACT = [
    "msg_id",
    "thread_id",
    "internal_date",
    "sent_at",
    "from",
    "to",
    "cc",
    "sender",
    "reply_to",
    "subject",
    "subject_normalized",
    "language",
    "languages",
    "body_text_clean",
    "entities",
    "intent",
    "low_confidence",
    "attachments",
    "calendar",
    "nested",
    "category",
    "skip_reason",
    "is_forward",
    "in_reply_to",
    "references",
    "list_id",
    "auto_reply",
    "report",
    "signed",
    "encrypted",
    "unclustered",
    "segments",
    "body_text",
    "ambiguities",
    "guardrails",
    "locations",
    "content_hash",
    "raw",
    "versions",
    "repairs",
    "extraction_version",
    "extracted_at",
    "rule_audit",
]


def test_keys_stand_in_the_order_of_the_contract() -> None:
    _, data = render_email(composed(), AT)
    assert list(json.loads(data)) == CONTRACT
    asked = render_email(msgspec.structs.replace(composed(), body_html="<p>x</p>"), AT)[1]
    assert list(json.loads(asked)) == [*CONTRACT, "body_html"]


def test_the_digest_ignores_the_time_and_the_bytes_do_not() -> None:
    email = composed()
    first, then = render_email(email, AT), render_email(email, LATER)
    assert first[0] == then[0]
    assert json.loads(first[1])["extracted_at"] == AT
    assert first[1].replace(AT.encode(), LATER.encode()) == then[1]


def test_rendering_leaves_the_email_as_it_was() -> None:
    email = composed()
    render_email(email, AT)
    assert email == composed()


def test_equal_records_are_equal_bytes() -> None:
    email = composed()
    again = msgspec.json.decode(msgspec.json.encode(email), type=Email)
    assert again is not email
    assert render_email(email, AT) == render_email(again, AT)


@pytest.mark.parametrize(
    "change", [{"subject": "Re: Plan!"}, {"unclustered": True}, {"extraction_version": "2"}]
)
def test_any_other_field_changes_digest_and_bytes(change: dict[str, object]) -> None:
    known, data = render_email(composed(), AT)
    other = render_email(msgspec.structs.replace(composed(), **change), AT)
    assert other[0] != known and other[1] != data


def test_a_file_is_utf_8_that_a_person_can_read() -> None:
    data = render_record(
        ThreadFile(
            thread_id="t", subject="催办 é", first_date=None, last_date=None, participants=[], members=[]
        )
    )
    assert data.decode() == (
        '{\n  "thread_id": "t",\n  "subject": "催办 é",\n  "first_date": null,\n  "last_date": null,\n'
        '  "participants": [],\n  "members": []\n}\n'
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(deadline=None)
def test_any_text_comes_back_from_the_file(text: str) -> None:
    email = compose_email(parts(), POLICY)
    _, data = render_email(msgspec.structs.replace(email, body_text=text, subject=text), AT)
    back = json.loads(data)
    assert (back["body_text"], back["subject"]) == (text, text)
