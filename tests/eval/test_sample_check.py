"""The comparison with hand-written values counts what agrees, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from eval.sample_check import Amount, Date, Expected, Figure, Pair, Person, compare, pair_up, read_expected
from models import message
from models.email import Email

SAMPLE = Path(__file__).resolve().parents[2] / "eval/sample/mailbox"
EMPTY: dict[str, Any] = {
    "outcome": "written",
    "quarantine_kind": None,
    "thread": "a",
    "clean": "",
    "clean_also": [],
    "language": "en",
    "category": "conversation",
    "people": [],
    "dates": [],
    "amounts": [],
    "customer": None,
    "keywords": [],
    "intent": "通知",
    "intent_also": [],
    "secondary": [],
    "actions": [],
    "attachments": [],
    "is_forward": False,
    "note": "",
}


def answer(**values: Any) -> Expected:
    return msgspec.convert({**EMPTY, **values}, Expected)


def email(uid: str = "1.eml", **values: Any) -> Email:
    """Return an Email in which nothing was found but what is given (`entities` merged)."""
    lists = "to cc reply_to languages attachments calendar nested references segments ambiguities versions repairs"
    texts = "msg_id thread_id subject subject_normalized body_text_clean body_text content_hash raw"
    flags = "low_confidence is_forward auto_reply signed encrypted unclustered"
    nothing = "internal_date sent_at from sender skip_reason in_reply_to list_id report"
    found = "dates amounts project_keywords people actions customer_matches internal_people external_people"
    entities = {
        **{key: [] for key in found.split()},
        "customer_id_candidate": None,
        **values.pop("entities", {}),
    }
    rules = "dequote_strategy language_method date_method customer_receipt intent_method"
    audit: dict[str, Any] = dict.fromkeys(rules.split(), "")
    audit |= {"thread_method": "root", "thread_parent": None, "subject_changed": False}
    audit |= {"people_methods": [], "category_reasons": [], "models": {}}
    full = {
        **dict.fromkeys(nothing.split()),
        **{key: [] for key in lists.split()},
        **dict.fromkeys(texts.split(), ""),
        **dict.fromkeys(flags.split(), False),
        "language": "en",
        "category": "conversation",
        "entities": entities,
        "intent": {"primary": "通知", "secondary": [], "confidence": 0.9, "ranking": [], "method": ""},
        "guardrails": {"flags": []},
        "locations": [{"account": "a", "folder": "", "uid": uid, "internal_date": None}],
        "extraction_version": "v1",
        "extracted_at": "2026-01-01T00:00:00+00:00",
        "rule_audit": audit,
        **values,
    }
    return msgspec.convert(full, Email)


def figure(field: str, *pairs: Pair) -> Figure:
    return next(one for one in compare(pairs) if one.field == field)


def pair(expected: Expected, found: Email | None, mail: str = "1.eml") -> Pair:
    return Pair(mail=mail, expected=expected, email=found)


def test_white_space_is_no_difference_and_other_readings_count() -> None:
    got = email(body_text_clean="两行\n\n的 文字")
    assert figure("clean text", pair(answer(clean="两行的文字"), got)).share == 1
    assert figure("clean text", pair(answer(clean="x", clean_also=["两行 的文字"]), got)).share == 1
    assert figure("clean text", pair(answer(clean="两行的字"), got)).share == 0


def test_a_mail_without_a_record_is_wrong_in_every_field() -> None:
    full = answer(
        clean="x",
        people=[
            {"name": "A", "email": "a@x.example", "internal": False, "role": role}
            for role in ("from", "mention")
        ],
        dates=[{"text": "today", "iso": "2026-03-09", "iso_start": None, "grain": "day"}],
        amounts=[{"text": "$1", "value": 1, "value_max": None, "currency": "USD", "approx": False}],
        keywords=["x"],
        actions=["wait"],
        attachments=[{"filename": "a.png", "mime": "image/png", "inline": False}],
    )
    for one in compare([pair(full, None), pair(full, None, "2.eml")]):
        assert (one.right, one.share) == (0, 0), one.field
        assert len(one.misses) == 2, one.field


def test_the_right_values_give_full_shares_and_no_misses() -> None:
    for one in compare([pair(answer(), email()), pair(answer(thread="b"), email(thread_id="t2"), "2.eml")]):
        assert one.share == 1, one.field
        assert one.misses == [], one.field


def test_threads_are_compared_by_pairs_of_mails() -> None:
    # expected {1,2,3} {4}; found {1,2} {3,4}: of three pairs one is found, of two found pairs one is right
    labels, threads = ["a", "a", "a", "b"], ["x", "x", "y", "y"]
    pairs = [
        pair(answer(thread=label), email(thread_id=thread), f"{number}.eml")
        for number, (label, thread) in enumerate(zip(labels, threads, strict=True), 1)
    ]
    got = figure("threads", *pairs)
    assert (got.right, got.expected, got.found) == (1, 3, 2)
    assert got.share == pytest.approx(2 / 5)
    assert got.misses[0].mail == "3.eml"  # two pairs lost and one wrong: the worst


@pytest.mark.parametrize(
    ("found", "same"),
    [
        ({"text": "by Friday", "iso": "2026-03-13"}, True),
        ({"text": "Friday", "iso": "2026-03-14"}, False),
        ({"text": "Monday", "iso": "2026-03-13"}, False),
        ({"text": "Friday", "iso": "2026-03-13", "iso_start": "2026-03-09"}, False),
    ],
)
def test_a_date_agrees_by_its_day_and_the_place_of_its_words(found: dict[str, Any], same: bool) -> None:
    expected = answer(dates=[Date(text="Friday", iso="2026-03-13", iso_start=None, grain="day")])
    date = message.DateMention(start=0, end=1, **found)
    got = figure("dates", pair(expected, email(entities={"dates": [msgspec.to_builtins(date)]})))
    assert got.right == int(same)


def test_a_time_agrees_in_another_offset() -> None:
    expected = answer(
        dates=[Date(text="3pm", iso="2026-03-13T15:00:00+08:00", iso_start=None, grain="minute")]
    )
    date = message.DateMention(text="3pm", start=0, end=1, iso="2026-03-13T07:00:00+00:00", grain="minute")
    assert figure("dates", pair(expected, email(entities={"dates": [msgspec.to_builtins(date)]}))).share == 1


def test_items_that_nobody_expected_lower_the_share() -> None:
    amount = Amount(text="$5", value=5, value_max=None, currency="USD", approx=False)
    found = [message.Amount(text=f"${n}", start=0, end=1, value=n, currency="USD") for n in (5, 6)]
    got = figure(
        "amounts", pair(answer(amounts=[amount]), email(entities={"amounts": msgspec.to_builtins(found)}))
    )
    assert (got.recall, got.precision) == (1, 0.5)
    assert got.share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("expected", "header", "found", "same"),
    [
        ("ann@x.example", True, "ann@x.example", True),
        ("ann@x.example", True, None, False),  # who stands in the headers is known
        ("ann@x.example", False, None, True),  # known elsewhere in the mailbox only
        ("ann@x.example", False, "bob@x.example", False),
        (None, False, None, True),
        (None, False, "ann@x.example", False),
    ],
)
def test_a_person_of_the_text_agrees_by_address(
    expected: str | None, header: bool, found: str | None, same: bool
) -> None:
    people = [Person(name="Ann", email=expected, internal=False, role="mention")]
    if header:
        people.append(Person(name="Ann Lee", email=expected, internal=False, role="cc"))
    mention = msgspec.to_builtins(message.Person(name="Ann", email=found, start=0, end=3))
    got = figure(
        "people in the text", pair(answer(people=people), email(entities={"people": [mention, mention]}))
    )
    assert (got.right, got.found) == (int(same), 1)


def test_an_intent_that_is_as_good_counts_and_sure_errors_come_first() -> None:
    sure = {"primary": "抱怨", "secondary": [], "confidence": 0.99, "ranking": [], "method": ""}
    pairs = [
        pair(answer(intent="询问"), email(), "1.eml"),
        pair(answer(intent="询问"), email(intent=sure), "2.eml"),
        pair(answer(intent="询问", intent_also=["通知"]), email(), "3.eml"),
    ]
    got = figure("intent", *pairs)
    assert got.right == 1
    assert [miss.mail for miss in got.misses] == ["2.eml", "1.eml"]


def test_only_mails_with_a_record_of_their_own_are_compared() -> None:
    expected = read_expected(SAMPLE)
    pairs = pair_up(expected, [email("INBOX/001-relaunch-start.eml")])
    assert len(expected) == len(list(SAMPLE.rglob("*.eml")))
    assert len(pairs) == sum(one.outcome == "written" for one in expected.values())
    assert [one.mail for one in pairs if one.email] == ["INBOX/001-relaunch-start.eml"]
