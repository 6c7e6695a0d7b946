"""Guesses: a reply that lost its headers hangs on an earlier mail of its subject, people and days, or on none."""

from __future__ import annotations

from typing import Any

import pytest
from thread_worlds import MemoryIndex, node, outcome_in, reply

from models.thread import Node
from stages.thread import place
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
    assert threads_of(node(1), reply(2, "absent@x")) == [["n1"], ["n2"]]
    assert threads_of(node(1), reply(2, group_key="g")) == [["n1"], ["n2"]]


@pytest.mark.parametrize("change", [{"date": None}, {"subject_key": ""}, {"joins_by_subject": False}])
def test_undated_unnamed_and_automatic_mail_takes_no_part(change: dict[str, Any]) -> None:
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
    first, second = node(1, tokens=["crate", "valve"]), node(60, tokens=["lunch"])
    assert chosen(first, second, child=reply(61, tokens=["crate", "valve"])) == "n1@x.example"


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
