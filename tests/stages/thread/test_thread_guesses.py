"""Guesses: a reply that lost its headers hangs on an earlier mail of its subject, people and days, or on none."""

from __future__ import annotations

from typing import Any

import pytest
from thread_worlds import MemoryIndex, node, outcome_in, reply

from models.thread import Node
from stages.thread import place, settle, withdraw
from stages.thread.config import ThreadPolicy

ANN, BO, CAI, LU = "ann@us.example", "bo@north.example", "cai@south.example", "lu@us.example"
LIST = "plan@lists.example"
POLICY = ThreadPolicy()
COMPANY = ThreadPolicy(company_domains=["us.example"])


def written(by: str, *to: str) -> dict[str, Any]:
    """Return the fields of a mail from somebody to others."""
    return {"sender": by, "people": sorted({by, *to})}


def threads_of(*nodes: Node, policy: ThreadPolicy = POLICY) -> list[list[str]]:
    """Return the ids of the messages, thread by thread, after they arrived one by one."""
    index = MemoryIndex()
    for one in nodes:
        place([one], index, policy)
    names = {one.raw: one.msg_id.partition("@")[0] for one in nodes}
    return sorted(sorted(names[raw] for raw in group) for group in outcome_in(index, names, {})["threads"])


def test_a_reply_without_headers_joins_what_it_answers() -> None:
    assert threads_of(node(1, **written(BO, ANN)), reply(2, **written(ANN, BO))) == [["n1", "n2"]]


def test_a_mail_that_is_no_reply_starts_a_conversation_of_its_own() -> None:
    assert threads_of(node(1, **written(BO, ANN)), node(2, **written(ANN, BO))) == [["n1"], ["n2"]]


def test_a_reply_never_hangs_on_a_later_mail() -> None:
    assert threads_of(reply(1, **written(ANN, BO)), node(2, **written(BO, ANN))) == [["n1"], ["n2"]]


def test_of_one_second_the_mail_that_is_no_reply_comes_first() -> None:
    """Archives that kept the day alone give every mail one time."""
    noon = {"date": "2026-03-02T12:00:00Z"}
    for number in (1, 3):
        original, answer = node(number, **written(BO, ANN), **noon), reply(2, **written(ANN, BO), **noon)
        assert threads_of(original, answer) == [sorted([f"n{number}", "n2"])]


def test_a_reply_that_names_a_mail_or_a_group_is_not_guessed() -> None:
    elsewhere = node(3, msg_id="n3@x", subject_key="other")
    assert threads_of(node(1), elsewhere, reply(2, "n3@x")) == [["n1"], ["n2", "n3"]]
    assert threads_of(node(1), reply(2, group_keys=["g"])) == [["n1"], ["n2"]]


def test_a_reply_whose_parent_is_absent_is_guessed_until_the_parent_comes() -> None:
    first, late, answer = node(1), node(3, msg_id="n3@x", subject_key="other"), reply(2, "n3@x")
    assert threads_of(first, answer) == [["n1", "n2"]]
    assert threads_of(first, answer, late) == [["n1"], ["n2", "n3"]]
    index = MemoryIndex()
    place([first, answer, late], index, POLICY)
    withdraw([late.raw], index, POLICY)
    assert [edge.parent for edge in index.edges.values()] == [first.raw]


@pytest.mark.parametrize("change", [{"date": None}, {"joins_by_subject": False}])
def test_undated_and_automatic_mail_takes_no_part(change: dict[str, Any]) -> None:
    assert threads_of(node(1), reply(2, **change)) == [["n1"], ["n2"]]
    assert threads_of(node(1, **change), reply(2)) == [["n1"], ["n2"]]


def test_newsletters_do_not_push_a_mail_out_of_reach() -> None:
    letters = [node(number, joins_by_subject=False) for number in range(10, 100)]
    assert ["n1", "n200"] in threads_of(node(1), *letters, reply(200))


def test_the_window_is_measured_from_the_nearest_mail() -> None:
    hourly = ThreadPolicy(window_hours=1)
    chain = [node(1), *(reply(1 + 60 * hour) for hour in range(1, 6))]
    assert threads_of(*chain, policy=hourly) == [sorted(f"n{1 + 60 * hour}" for hour in range(6))]
    assert threads_of(*chain[:2], *chain[3:], policy=hourly) == [["n1", "n61"], ["n181", "n241", "n301"]]
    assert threads_of(node(1), reply(62), policy=hourly) == [["n1"], ["n62"]]


@pytest.mark.parametrize("date", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_window_may_reach_beyond_the_calendar(date: str) -> None:
    nodes = [node(1, date=date), reply(2, date=date)]
    assert threads_of(*nodes) == [["n1", "n2"]]
    assert threads_of(*nodes, policy=ThreadPolicy(window_hours=10**12)) == [["n1", "n2"]]


# ---- people ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (written(BO, ANN), written(ANN, BO)),
        (written(BO, ANN, LU), written(LU, BO)),
        (written(BO, ANN), written(ANN, LU)),  # passed on inside
        (written(BO, ANN), written(BO, ANN)),  # a second mail of the same sender
        (written(BO, ANN), written(BO, ANN, CAI)),
        (written(BO, ANN, CAI), written(BO, ANN)),
        (written(BO, LIST), written(CAI, BO, LIST)),  # somebody who reads a list
    ],
)
def test_people_of_one_exchange_meet(first: dict[str, Any], then: dict[str, Any]) -> None:
    assert threads_of(node(1, **first), reply(2, **then)) == [["n1", "n2"]]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (written(BO, LU), written(CAI, ANN)),  # strangers
        (written(ANN, BO), written(CAI, ANN)),  # one subject to two customers: the other one answers
        (written(BO, ANN), written(CAI, ANN)),  # two customers ask under one subject
        (written(ANN, BO), written(ANN, CAI)),
        (written(ANN, BO, LU), written(ANN, CAI, LU)),
        (written("", ANN), written(ANN, BO)),
        (written(BO, ANN), written("", ANN, BO)),
    ],
)
def test_one_subject_does_not_join_strangers(first: dict[str, Any], then: dict[str, Any]) -> None:
    first["people"] = [email for email in first["people"] if email]
    then["people"] = [email for email in then["people"] if email]
    assert threads_of(node(1, **first), reply(2, **then)) == [["n1"], ["n2"]]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            written(ANN, BO, LU),
            written(LU, ANN, CAI),
        ),  # a colleague who got both writes to the other customer
        (written(ANN, BO, LU), written(CAI, ANN, LU)),
        (written(BO, ANN), written(ANN, CAI)),
    ],
)
def test_colleagues_do_not_join_two_customers(first: dict[str, Any], then: dict[str, Any]) -> None:
    assert threads_of(node(1, **first), reply(2, **then), policy=COMPANY) == [["n1"], ["n2"]]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (written(BO, ANN), written(ANN, LU)),  # nobody from outside in one of them
        (written(ANN, LU), written(LU, ANN)),
        (written(BO, ANN), written(ANN, "pia@north.example")),  # somebody else of the same customer
        (written(ANN, BO), written(BO, ANN, CAI)),
    ],
)
def test_one_customer_and_its_company_stay_together(first: dict[str, Any], then: dict[str, Any]) -> None:
    assert threads_of(node(1, **first), reply(2, **then), policy=COMPANY) == [["n1", "n2"]]


# ---- which one ------------------------------------------------------------------------------------------------


def chosen(*candidates: Node, child: Node) -> str:
    index = MemoryIndex()
    place([*candidates, child], index, POLICY)
    [edge] = index.edges.values()
    assert edge.child == child.raw and edge.tier == "subject" and 0.5 <= edge.score <= 1
    return next(one.msg_id for one in candidates if one.raw == edge.parent)


def test_the_nearest_mail_is_chosen() -> None:
    assert chosen(node(1), node(3), node(5), child=reply(6)) == "n5@x.example"


def test_words_in_common_weigh_more_than_an_hour() -> None:
    first, second = node(2, tokens=["crate", "valve"]), node(60, tokens=["lunch"])
    assert chosen(first, second, child=reply(61, tokens=["crate", "valve"])) == "n2@x.example"


def test_people_in_common_weigh_more_than_an_hour() -> None:
    first, second = node(1, **written(BO, ANN)), node(60, **written(BO, ANN, LU, CAI))
    assert chosen(first, second, child=reply(61, **written(ANN, BO))) == "n1@x.example"


def test_a_copy_of_the_reply_itself_is_not_chosen() -> None:
    assert chosen(node(1), node(2, msg_id="n3@x.example"), child=reply(3)) == "n1@x.example"


def test_a_guess_says_why() -> None:
    index = MemoryIndex()
    place([node(1), reply(121)], index, POLICY)
    [edge] = index.edges.values()
    assert edge.reason == "same subject, shared people, 2 h later"


def test_a_better_parent_takes_a_reply_over_and_the_old_thread_lets_it_go() -> None:
    index = MemoryIndex()
    place([node(1), reply(50)], index, POLICY)
    assert len(set(index.home.values())) == 1
    place([node(49)], index, POLICY)
    assert index.home[node(1).raw] != index.home[node(49).raw] == index.home[reply(50).raw]


def test_only_so_many_mails_before_a_reply_are_looked_at() -> None:
    crowd = [node(number, **written(CAI, LIST)) for number in range(2, 66)]
    assert ["n1"] in threads_of(node(1), *crowd, reply(70))
    assert ["n1", "n70"] in threads_of(node(1), *crowd[1:], reply(70))


# ---- what is quoted ------------------------------------------------------------------------------------------


def test_of_two_mails_of_one_subject_the_one_that_is_quoted_is_answered() -> None:
    """A nightly report: the late answer quotes the first of two."""
    first, second = node(2, said=[1, 2, 9], tokens=["night"]), node(60, said=[3, 4, 9], tokens=["night"])
    assert chosen(first, second, child=reply(61, quoted=[1, 2, 9])) == "n2@x.example"
    assert chosen(first, second, child=reply(61, quoted=[9])) == "n60@x.example"


def test_a_quote_joins_whatever_the_subject() -> None:
    first = node(1, said=[1, 2], subject_key="catalogue 9", **written(BO, ANN))
    other = node(2, said=[3], subject_key="catalogue 9", **written(BO, ANN))
    answer = reply(3, quoted=[1, 2], subject_key="prices", **written(ANN, BO))
    assert threads_of(first, other, answer) == [["n1", "n3"], ["n2"]]
    assert threads_of(answer, other, first) == [["n1", "n3"], ["n2"]]


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ([1], [1]),  # one line of a stranger's exchange
        ([1, 2], [1, 2, 3, 4, 5, 6, 7]),  # little of what is quoted
        ([1, 2], []),
    ],
)
def test_a_thin_quote_does_not_join_other_subjects(said: list[int], quoted: list[int]) -> None:
    first = node(1, said=said, subject_key="catalogue", **written(BO, LIST))
    assert threads_of(first, reply(2, quoted=quoted, subject_key="prices", **written(ANN, LIST))) == [
        ["n1"],
        ["n2"],
    ]


def test_what_many_wrote_tells_nobody() -> None:
    forms = [node(number, said=[1, 2], subject_key=f"s{number}") for number in range(1, 8)]
    assert ["n9"] in threads_of(*forms, reply(9, quoted=[1, 2], subject_key="prices"))
    assert ["n9"] in threads_of(reply(9, quoted=[1, 2], subject_key="prices"), *forms)


def test_a_quote_does_not_join_two_customers_of_a_company() -> None:
    first = node(1, said=[1, 2], **written(ANN, BO))
    answer = reply(2, quoted=[1, 2], **written(CAI, ANN))
    assert threads_of(first, answer, policy=COMPANY) == [["n1"], ["n2"]]


# ---- forwards, lists, long windows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "joined"),
    [
        (written(ANN, LU), True),  # to a colleague
        (written(ANN, LU, BO), True),  # somebody of the exchange stays in it
        (written(ANN, CAI), False),  # new people outside: a new question
        (written(ANN, LU, CAI), False),
    ],
)
def test_a_forward_stays_only_with_those_of_the_exchange(then: dict[str, Any], joined: bool) -> None:
    first = node(1, said=[1, 2], **written(BO, ANN))
    found = threads_of(first, reply(2, forward=True, quoted=[1, 2], **then))
    assert found == ([["n1", "n2"]] if joined else [["n1"], ["n2"]])


def test_the_answer_to_a_forward_goes_to_the_forward() -> None:
    first, forward = node(1, **written(BO, ANN)), reply(2, forward=True, **written(ANN, CAI))
    assert threads_of(first, forward, reply(3, **written(CAI, ANN))) == [["n1"], ["n2", "n3"]]


def test_those_who_write_to_one_mailbox_meet_by_a_list_or_a_quote_alone() -> None:
    def worlds(**more: Any) -> list[list[str]]:
        first = node(1, said=[1], list_key=more.get("list_key"), **written(BO, LIST))
        return threads_of(first, reply(2, **more, **written(CAI, LIST)))

    assert worlds() == [["n1"], ["n2"]]
    assert worlds(list_key="plan") == [["n1", "n2"]]
    assert worlds(quoted=[1]) == [["n1", "n2"]]


@pytest.mark.parametrize(("subject", "joined"), [("delivery of the blue crates", True), ("order", False)])
def test_a_specific_subject_reaches_over_months(subject: str, joined: bool) -> None:
    first, answer = node(1, subject_key=subject), reply(60 * 24 * 60, subject_key=subject)
    assert len(threads_of(first, answer)) == (1 if joined else 2)


# ---- ids of many ---------------------------------------------------------------------------------------------


def test_an_id_that_unlike_mails_carry_joins_none_of_them() -> None:
    """A label printer stamps every mail with one id; an answer goes to the one that it fits."""
    label = {"msg_id": "label@x.example"}
    first = node(1, subject_key="crate one", **label, **written(BO, ANN))
    second = node(2, subject_key="crate two", **label, **written(CAI, LU))
    answer = reply(3, "label@x.example", subject_key="crate one", **written(ANN, BO))
    for order in ([first, second, answer], [answer, second, first], [second, answer, first]):
        index = MemoryIndex()
        for one in order:
            place([one], index, POLICY)
        groups = outcome_in(index, index.stored, {})["threads"]
        assert groups == sorted([sorted([first.raw, answer.raw]), [second.raw]])
        withdraw([second.raw], index, POLICY)
        assert index.edges == {}  # the id is one mail's again
        assert len(set(index.threads([first.raw, answer.raw]).values())) == 1


def test_records_of_one_id_in_several_threads_have_keys_of_their_own() -> None:
    mails = [node(number, msg_id="label@x.example", subject_key=f"crate {number}") for number in (3, 1, 2)]
    index = MemoryIndex()
    place(mails, index, POLICY)
    keys = set()
    for one in mails:
        home = index.of_threads([index.home[one.raw]])
        assert home == [one]
        keys |= {record.key for record in settle(home, [], twins=index.twins([one.msg_id])).records}
    assert keys == {"label@x.example", "label@x.example#00000002", "label@x.example#00000003"}


# ---- answers that do not look like one ---------------------------------------------------------------------

LONG, OTHER_LONG = 101, 103  # odd: digests of long pieces


@pytest.mark.parametrize(
    ("said", "then", "joined"),
    [
        ([2, LONG, 201], written(ANN, BO), True),  # the old text stands below, unmarked
        ([2, 201], written(ANN, BO), False),  # a phrase that both use
        ([2, LONG, 201], written(CAI, ANN), False),  # one form, filled in by two
        ([2, LONG, 201], written(BO, ANN), False),  # the next issue of the same sender
    ],
)
def test_a_mail_that_repeats_what_it_answers_joins_it(
    said: list[int], then: dict[str, Any], joined: bool
) -> None:
    first = node(1, said=[2, LONG], subject_key="burr", **written(BO, ANN))
    answer = node(2, said=said, subject_key="measures", **then)
    for order in ([first, answer], [answer, first]):
        assert len(threads_of(*order)) == (1 if joined else 2)


@pytest.mark.parametrize(("minutes", "joined"), [(7, True), (7 * 60, False)])
def test_a_mail_that_was_sent_again_joins_the_first(minutes: int, joined: bool) -> None:
    """With what was missing; the same text the next day is the next issue."""
    first, again = node(2, said=[2, LONG, 201]), node(2 + 2 * minutes // 2, said=[2, 5, LONG, 201])
    again.sender = first.sender
    assert len(threads_of(first, again)) == (1 if joined else 2)


def test_a_renamed_subject_leads_to_the_mail_that_had_it() -> None:
    first = node(1, subject_key="catalogue", **written(BO, ANN))
    answer = reply(2, subject_key="prices", former="catalogue", begins_subject=True, **written(ANN, BO))
    for order in ([first, answer], [answer, first]):
        assert threads_of(*order) == [["n1", "n2"]]


@pytest.mark.parametrize(
    ("minutes", "subject", "quoted", "joined"),
    [
        (30, "delivery of the blue crates", [], True),
        (30, "order", [LONG], True),
        (30, "order", [], False),
        (90, "delivery of the blue crates", [LONG], False),
    ],
)
def test_an_answer_by_a_clock_that_runs_behind_joins_what_it_answers(
    minutes: int, subject: str, quoted: list[int], joined: bool
) -> None:
    answer = reply(1, subject_key=subject, quoted=quoted, **written(ANN, BO))
    first = node(1 + minutes, subject_key=subject, said=[LONG], **written(BO, ANN))
    for order in ([first, answer], [answer, first]):
        assert len(threads_of(*order)) == (1 if joined else 2)


def test_an_answer_to_one_of_many_machine_mails_under_one_id_goes_to_its_subject() -> None:
    """A scanner stamps every mail with one id; its mails never join by subject."""
    scan = {"msg_id": "scan@x.example", "joins_by_subject": False}
    first, second = (
        node(number, subject_key=f"scan {number}", **scan, **written(LIST, BO)) for number in (1, 2)
    )
    answer = reply(3, "scan@x.example", subject_key="scan 1", forward=True, **written(BO, CAI))
    for order in ([first, second, answer], [answer, second, first]):
        index = MemoryIndex()
        for one in order:
            place([one], index, POLICY)
        assert sorted(map(len, outcome_in(index, index.stored, {})["threads"])) == [1, 2]
        assert index.home[answer.raw] == index.home[first.raw]


def test_who_answers_for_a_shared_mailbox_is_of_its_exchange() -> None:
    first = node(1, **written(BO, "sales@us.example"))
    assert threads_of(first, reply(2, **written(ANN, BO))) == [["n1", "n2"]]
    assert threads_of(first, reply(2, **written(CAI, BO))) == [["n1"], ["n2"]]
