"""Joined and split by hand: what the entries say holds in any order of arrival, and for mail that comes later."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from thread_worlds import MemoryIndex, node, outcome_in, reply

from models.curated import ManualThread
from models.thread import Node
from stages.thread import place, settle
from stages.thread.config import ThreadPolicy
from stages.thread.manual import apply_manual

ROOT, SIDE = "n1@x.example", "n3@x.example"


def world() -> list[Node]:
    """Return a conversation of six: two branches below the root, the second with an answer and a later one."""
    return [
        node(1),
        reply(2, ROOT),
        reply(3, ROOT, group_keys=["thread-index:1"]),
        reply(4, ROOT, SIDE),
        reply(5, ROOT, SIDE, "n4@x.example"),
        node(6, subject_key="other", people=["x@far.example"]),
    ]


def threads_of(*entries: ManualThread, order: tuple[int, ...] = (0, 1, 2, 3, 4, 5)) -> list[list[str]]:
    rows = world()
    for one in rows:
        apply_manual(one, entries)
    index = MemoryIndex()
    for number in order:
        place([rows[number]], index, ThreadPolicy())
    names = {one.raw: one.msg_id.partition("@")[0] for one in rows}
    return sorted(sorted(names[raw] for raw in group) for group in outcome_in(index, names, {})["threads"])


SPLIT = ManualThread(split=[SIDE, "n4@x.example"])
PARTED = [["n1", "n2"], ["n3", "n4", "n5"], ["n6"]]


def test_without_entries_nothing_changes() -> None:
    assert threads_of() == [["n1", "n2", "n3", "n4", "n5"], ["n6"]]


@pytest.mark.parametrize("order", list(permutations(range(6)))[::90])
def test_what_is_split_leaves_and_later_answers_follow_it(order: tuple[int, ...]) -> None:
    assert threads_of(SPLIT, order=order) == PARTED


def test_what_is_joined_is_one_conversation() -> None:
    join = ManualThread(join=["n2@x.example", "n6@x.example"])
    assert threads_of(join) == [["n1", "n2", "n3", "n4", "n5", "n6"]]
    assert threads_of(SPLIT, join) == [["n1", "n2", "n6"], ["n3", "n4", "n5"]]


def test_the_later_entry_wins() -> None:
    back = ManualThread(join=[ROOT, SIDE])
    assert threads_of(SPLIT, back) == [["n1", "n2", "n3", "n4", "n5"], ["n6"]]
    assert threads_of(back, SPLIT) == PARTED


@pytest.mark.parametrize(
    ("name", "named"), [("n1@x.example", True), ("n1@x.example#00000001", True), ("n1", False)]
)
def test_a_message_is_named_by_its_id_or_by_the_key_of_its_record(name: str, named: bool) -> None:
    row = node(1)
    apply_manual(row, [ManualThread(join=[name, "else@x.example"])])
    assert bool(row.group_keys) == named


def test_a_link_by_hand_says_so() -> None:
    rows: list[Any] = [node(1), node(2, subject_key="other")]
    for row in rows:
        apply_manual(row, [ManualThread(join=[ROOT, "n2@x.example"])])
    links = {link.key: link for link in settle(rows, []).links}
    assert (links["n2@x.example"].method, links["n2@x.example"].parent) == ("manual", ROOT)
