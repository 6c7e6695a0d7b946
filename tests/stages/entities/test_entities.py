"""The entities stage as a whole: people, customers, keywords, actions, the thread's view, merge proposals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.curated import Alias, Customer, Seed
from models.message import Address, Entities, Person
from stages.entities import EntitiesInput, EntitiesPolicy, extract_entities
from stages.entities.actions import find_actions, load_pack
from stages.entities.merge import Sighting, propose_merges
from stages.entities.thread import Member, relate_thread

POLICY = EntitiesPolicy(
    company_domains=["harbor.example"],
    customers=[Customer(id="C7", domains=["orchid.example"], contacts=["mia@gmail.com"])],
    aliases=[
        Alias(name="周启航", email="qihang.zhou@harbor.example", also=["zqh@old.example", "Kevin Zhou"])
    ],
    seeds=[Seed(keyword="海燕计划", synonyms=["Petrel"])],
)


def mail(**fields: Any) -> EntitiesInput:
    base: dict[str, Any] = {
        "from_": Address(name="Lea Brandt", email="lea@harbor.example"),
        "to": [Address(name="Tom Sand", email="tom@eu.orchid.example")],
        "sent": "2026-10-14T10:00:00+08:00",
    }
    return EntitiesInput(**(base | fields))


def named(entities: Entities) -> list[tuple[str, str | None, str]]:
    return [(person.name, person.email, person.role) for person in entities.people]


def test_header_people_come_first_with_their_canonical_address() -> None:
    found = extract_entities(
        mail(from_=Address(name="K", email="ZQH@old.example"), text="Hi Tom, thanks."), POLICY
    )
    assert named(found) == [
        ("周启航", "qihang.zhou@harbor.example", "from"),
        ("Tom Sand", "tom@eu.orchid.example", "to"),
        ("Tom", "tom@eu.orchid.example", "mention"),
    ]
    assert found.people[0].internal and not found.people[1].internal
    assert found.people_methods == ["alias"]


def test_role_addresses_are_no_people() -> None:
    found = extract_entities(mail(to=[Address(name="Support", email="no-reply@x.example")]), POLICY)
    assert [person.role for person in found.people] == ["from"]


def test_behind_a_list_the_real_sender_counts() -> None:
    found = extract_entities(
        mail(
            from_=Address(name="Ana Ruiz via Builders", email="builders@lists.orchid.example"),
            reply_to=[Address(name="Ana Ruiz", email="ana@orchid.example")],
            list_id="builders.lists.orchid.example",
        ),
        POLICY,
    )
    assert found.people[0].email == "ana@orchid.example"
    assert "via-list" in found.people_methods


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("王总您好", "王总"),
        ("田中様、お世話になっております。", "田中様"),
        ("请找陈经理签字", "陈经理"),
        ("Dear Ingrid,\nhello", "Ingrid"),
        ("@李娜 麻烦看下", "李娜"),
    ],
)
def test_strangers_are_found_by_cues(text: str, name: str) -> None:
    mentions = [
        person for person in extract_entities(mail(text=text), POLICY).people if person.role == "mention"
    ]
    assert [person.name for person in mentions] == [name]
    assert mentions[0].email is None


@pytest.mark.parametrize("text", ["总结一下项目总额", "Hi all, see below", "皆様へ", "开工作会"])
def test_words_that_look_like_names_are_left(text: str) -> None:
    assert [
        person for person in extract_entities(mail(text=text), POLICY).people if person.role == "mention"
    ] == []


def test_a_subdomain_inherits_its_customer_and_the_reason_is_told() -> None:
    found = extract_entities(mail(), POLICY)
    assert found.customer_id_candidate == "C7"
    assert "subdomain of orchid.example" in found.customer_matches[0].reason
    assert found.candidates == []


def test_free_mail_gives_a_customer_only_by_contact() -> None:
    known = extract_entities(mail(to=[Address(email="mia@gmail.com")]), POLICY)
    unknown = extract_entities(mail(to=[Address(email="zoe@gmail.com")]), POLICY)
    assert (known.customer_id_candidate, unknown.customer_id_candidate) == ("C7", None)
    assert unknown.customer_receipt == "free mail domain, no contact known"


def test_an_unknown_domain_becomes_a_candidate_of_conversations_only() -> None:
    to = [Address(name="Ugo", email="ugo@fresh.example")]
    assert [row.domain for row in extract_entities(mail(to=to), POLICY).candidates] == ["fresh.example"]
    assert extract_entities(mail(to=to, category="newsletter"), POLICY).candidates == []


def test_keywords_are_seeds_as_listed_then_the_subjects_object() -> None:
    found = extract_entities(mail(subject="Re: Fwd: Warehouse lease", text="petrel 的进度"), POLICY)
    assert found.project_keywords == ["海燕计划", "Warehouse lease"]
    assert extract_entities(mail(subject="Lunch"), POLICY).project_keywords == []
    assert extract_entities(mail(subject="回复:【通知】关于仓储系统上线的通知"), POLICY).project_keywords == [
        "仓储系统上线"
    ]


@pytest.mark.parametrize("verb", ["urge", "wait", "decide", "delegate", "reject", "forward", "approve"])
def test_action_cues_keep_their_near_misses_out(verb: str) -> None:
    for text in load_pack()[verb]["miss"]:
        assert verb not in find_actions("", text), text


def test_a_request_with_a_deadline_is_an_urge() -> None:
    assert find_actions("", "Send me the drawings by Monday.") == ["urge"]
    assert find_actions("", "The lease ends in June. Please see the file.") == []


def test_more_text_than_the_limit_is_told() -> None:
    found = extract_entities(mail(text="x " * 11_000 + "tomorrow"), POLICY)
    assert found.dates == [] and "text-truncated" in found.people_methods


def test_the_thread_names_a_given_name_and_keeps_the_earliest_spelling() -> None:
    first = extract_entities(mail(subject="Port Audit"), POLICY)
    second = Entities(people=[Person(name="Lea", start=0, end=3)], project_keywords=["port audit"])
    related = relate_thread([Member(entities=first, text=""), Member(entities=second, text="Lea")])
    assert related[1].people[0].email == "lea@harbor.example"
    assert related[1].project_keywords == ["Port Audit"]
    assert second.people[0].email is None


def test_the_thread_names_people_who_are_in_none_of_a_messages_headers() -> None:
    first = extract_entities(mail(text="See you there."), POLICY)
    text = "Ask Lea Brandt, or Tom. Not tom@elsewhere.example."
    second = extract_entities(
        mail(from_=Address(name="Ana Ruiz", email="ana@harbor.example"), to=[], text=text), POLICY
    )
    related = relate_thread(
        [Member(entities=first, text="See you there."), Member(entities=second, text=text)]
    )
    mentions = [(p.name, p.email, text[p.start : p.end]) for p in related[1].people if p.role == "mention"]
    assert mentions == [
        ("Lea Brandt", "lea@harbor.example", "Lea Brandt"),
        ("Tom", "tom@eu.orchid.example", "Tom"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "email"),
    [
        ("I met Mr. Sand there.", "Mr. Sand", "tom@eu.orchid.example"),
        ("Thanks to Ms Fang.", "Ms Fang", "fang@orchid.example"),
        ("Ask Mr Sand Tuesday.", "Mr Sand", "tom@eu.orchid.example"),
        ("Ask Mr Tom Sand.", "Mr Tom Sand", "tom@eu.orchid.example"),
        ("Ask Dr Lea.", "Dr Lea", "lea@harbor.example"),
        ("Ask Mrs Olsen.", "Mrs Olsen", None),
    ],
)
def test_a_latin_title_belongs_to_the_name_and_the_family_name_decides(
    text: str, name: str, email: str | None
) -> None:
    cc = [Address(name="方思涵", email="fang@orchid.example")]
    found = extract_entities(mail(cc=cc, text=text), POLICY)
    mentions = [person for person in found.people if person.role == "mention"]
    assert [(p.name, p.email, text[p.start : p.end]) for p in mentions] == [(name, email, name)]


def test_a_family_name_that_two_share_stays_open() -> None:
    cc = [Address(name="Fang, Li", email="li@a.example"), Address(name="方思涵", email="fang@a.example")]
    (*_, mention) = extract_entities(mail(cc=cc, text="Ms Fang knows."), POLICY).people
    assert (mention.name, mention.email) == ("Ms Fang", None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("昨天又问过邱工，在走流程。", "邱工"),
        ("邱总说可以。", "邱总"),
        ("请联系邱经理。", "邱经理"),
        ("谢谢邱姐！", "邱姐"),
        ("感谢邱总。", "邱总"),
        ("彤姐，合同收到。", "彤姐"),
        ("I asked Ms Qiu.", "Ms Qiu"),
    ],
)
def test_the_thread_knows_a_family_name_with_a_title(text: str, name: str) -> None:
    first = extract_entities(mail(cc=[Address(name="邱彤", email="qiu@orchid.example")]), POLICY)
    second = extract_entities(mail(text=text), POLICY)
    related = relate_thread([Member(entities=first, text=""), Member(entities=second, text=text)])
    mentions = [(p.name, p.email) for p in related[1].people if p.role == "mention"]
    assert mentions == [(name, "qiu@orchid.example")]


def test_the_thread_leaves_a_title_open_that_two_people_fit() -> None:
    cc = [Address(name="邱彤", email="qiu@orchid.example"), Address(name="邱宁", email="ning@orchid.example")]
    first = extract_entities(mail(cc=cc), POLICY)
    second = extract_entities(mail(text="邱总说可以。"), POLICY)
    related = relate_thread([Member(entities=first, text=""), Member(entities=second, text="邱总说可以。")])
    assert [(p.name, p.email) for p in related[1].people if p.role == "mention"] == [("邱总", None)]


@pytest.mark.parametrize(
    ("text", "name"),
    [("敏姐，收到。", "敏姐"), ("蘇敏姐好", "蘇敏姐"), ("@苏敏 收到", "苏敏"), ("他很灵敏哥", None)],
)
def test_a_given_name_of_one_character_takes_a_title_where_it_stands_alone(
    text: str, name: str | None
) -> None:
    to = [Address(name="苏敏", email="min@orchid.example")]
    found = extract_entities(mail(to=to, text=text), POLICY)
    mentions = [(p.name, p.email) for p in found.people if p.role == "mention"]
    assert mentions == ([(name, "min@orchid.example")] if name else [])


def test_a_title_after_a_role_is_found() -> None:
    found = extract_entities(mail(text="请财务林小姐留意，竣工后再说。"), POLICY)
    assert [person.name for person in found.people if person.role == "mention"] == ["林小姐"]


def test_merges_are_proposed_with_reasons_and_never_against_a_no() -> None:
    rows = [
        Sighting(email="zhang.wei@a.example", name="Zhang Wei", messages=["m1"]),
        Sighting(email="zw@b.example", name="Wei Zhang", messages=["m2"]),
        Sighting(email="x@c.example", name="张伟", messages=["m3"]),
        Sighting(email="tom@d.example", name="Tom"),
        Sighting(email="tom@e.example", name="Tom"),
    ]
    found = propose_merges(rows, [], [])
    assert (found[0].a, found[0].b) == ("zhang.wei@a.example", "zw@b.example")
    assert found[0].reasons == ["same full name: wei zhang"] and found[0].messages == ["m1", "m2"]
    assert any({row.a, row.b} == {"x@c.example", "zw@b.example"} for row in found)
    assert not any("tom@d.example" in (row.a, row.b) for row in found)
    left = propose_merges(rows, [["zw@b.example", "zhang.wei@a.example"]], [])
    assert ("zhang.wei@a.example", "zw@b.example") not in {(row.a, row.b) for row in left}
    assert propose_merges(list(reversed(rows)), [], []) == found


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_is_answered_and_spans_point_at_it(text: str, subject: str) -> None:
    found = extract_entities(mail(text=text, subject=subject), POLICY)
    for row in (
        *found.dates,
        *found.amounts,
        *(person for person in found.people if person.role == "mention"),
    ):
        start, end = row.start, row.end
        assert start is not None and end is not None
        assert 0 <= start < end <= len(text)
    assert msgspec.msgpack.encode(found) == msgspec.msgpack.encode(
        extract_entities(mail(text=text, subject=subject), POLICY)
    )
