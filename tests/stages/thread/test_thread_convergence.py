"""Whatever the order of arrival, the same messages end in the same threads, guesses and conversations."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from thread_worlds import (
    PEOPLE,
    MemoryIndex,
    Step,
    codes,
    histories,
    node,
    outcome_in,
    outcome_of,
    policies,
    reply,
    worlds,
)

from models.base import pack
from models.thread import Node
from stages.thread import Conversation, place, settle, withdraw
from stages.thread.config import ThreadPolicy
from stages.thread.index import ThreadIndex
from storage.ledger import Ledger, open_ledger
from storage.thread_index import LedgerThreadIndex

History = tuple[list[Node], list[Step], dict[str, str]]
quiet = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def take(step: Step, index: ThreadIndex, policy: ThreadPolicy) -> list[int]:
    kind, nodes = step
    if kind == "place":
        return place(nodes, index, policy)
    return withdraw([one.raw for one in nodes], index, policy)


def conversations(index: ThreadIndex, threads: Sequence[int]) -> dict[int, bytes]:
    """Return what each thread that has members is, packed."""
    found = {}
    for surrogate in threads:
        members = index.of_threads([surrogate])
        if members:
            found[surrogate] = pack(_settled(members, index))
    return found


def _settled(members: list[Node], index: ThreadIndex) -> Conversation:
    twins = index.twins(sorted({one.msg_id for one in members}))
    return settle(members, index.soft_edges([one.raw for one in members]), twins=twins)


@given(histories(), policies)
@settings(quiet, max_examples=800)
def test_any_history_ends_in_the_threads_of_its_messages(history: History, policy: ThreadPolicy) -> None:
    final, steps, dates = history
    index = MemoryIndex()
    for step in steps:
        take(step, index, policy)
    assert outcome_in(index, index.stored, dates) == outcome_of(final, policy, dates)


@given(histories(), policies)
@settings(quiet, max_examples=200)
def test_a_thread_that_changes_is_named_by_the_call_that_changes_it(
    history: History, policy: ThreadPolicy
) -> None:
    _, steps, _ = history
    index = MemoryIndex()
    before: dict[int, bytes] = {}
    for step in steps:
        touched = set(take(step, index, policy))
        after = conversations(index, range(1, index.last + 1))
        changed = {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}
        assert changed <= touched
        filed = {one.raw for one in step[1]} if step[0] == "place" else set()
        assert set(index.threads(filed).values()) <= touched  # filed again: its files are looked at again
        before = after


@given(worlds, policies)
@settings(quiet, max_examples=200)
def test_every_message_is_in_one_record_under_a_key_of_its_own(
    nodes: list[Node], policy: ThreadPolicy
) -> None:
    index = MemoryIndex()
    place(nodes, index, policy)
    keys: list[str] = []
    ids: list[str] = []
    copies: list[str] = []
    for surrogate in range(1, index.last + 1):
        members = index.of_threads([surrogate])
        if not members:
            continue
        conversation = _settled(members, index)
        ids.append(conversation.thread_id)
        own = [record.key for record in conversation.records]
        assert own == [link.key for link in conversation.links]
        parents = {link.key: link.parent for link in conversation.links}
        for start in own:  # no circle, and every parent is here
            steps, key = 0, parents[start]
            while key is not None:
                steps, key = steps + 1, parents[key]
                assert steps <= len(own)
        keys += own
        copies += [copy.raw for record in conversation.records for copy in record.copies]
    assert len(set(keys)) == len(keys)
    assert len(set(ids)) == len(ids)
    assert sorted(copies) == sorted(one.raw for one in nodes)


@given(worlds, codes, policies)
@settings(quiet, max_examples=200)
def test_a_conversation_does_not_depend_on_the_order_of_its_nodes(
    nodes: list[Node], way: int, policy: ThreadPolicy
) -> None:
    index = MemoryIndex()
    place(nodes, index, policy)
    edges = index.soft_edges(index.stored)
    members = index.of_threads([index.home[nodes[0].raw]])
    shuffled = members[:], edges[:]
    for rows in shuffled:
        random.Random(way).shuffle(rows)
    assert settle(*shuffled) == settle(members, edges)


def test_a_mail_that_leaves_a_full_bucket_lets_an_older_one_in() -> None:
    policy = ThreadPolicy(bucket_limit=1)
    original, between, answer = node(1), node(2, people=[PEOPLE[2]], sender=PEOPLE[2]), reply(3)
    index = MemoryIndex()
    place([original, between, answer], index, policy)
    assert index.edges == {}
    place([node(2, people=[PEOPLE[2]], sender=PEOPLE[2], subject_key="other")], index, policy)
    assert [edge.parent for edge in index.edges.values()] == [original.raw]
    place([between], index, policy)
    assert index.edges == {}


def test_a_guess_that_becomes_possible_inside_a_thread_changes_that_thread() -> None:
    policy = ThreadPolicy(bucket_limit=1)
    original, between, answer = node(1), node(2, people=[PEOPLE[2]], sender=PEOPLE[2]), reply(3)
    knows_both = reply(4, original.msg_id, answer.msg_id, subject_key="other")
    index = MemoryIndex()
    place([original, between, answer, knows_both], index, policy)
    home = index.home[answer.raw]
    assert index.home[original.raw] == home and index.edges == {}
    assert home in withdraw([between.raw], index, policy)
    assert [edge.parent for edge in index.edges.values()] == [original.raw]


def test_a_guess_of_a_wider_window_goes_when_its_parent_is_filed_under_a_narrower_one() -> None:
    original, answer = node(1), reply(62)
    index = MemoryIndex()
    place([original, answer], index, ThreadPolicy(window_hours=2))
    assert len(index.edges) == 1
    changed = place([original], index, ThreadPolicy(window_hours=1))
    assert index.edges == {}
    assert len(changed) == 2


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    state: Path = tmp_path_factory.mktemp("state")
    ledger = open_ledger(state, None, "test")
    yield ledger
    ledger.close()


@given(history=histories(), policy=policies)
@settings(quiet, max_examples=100)
def test_any_history_in_a_ledger_ends_in_the_threads_of_its_messages(
    history: History, policy: ThreadPolicy, ledger: Ledger
) -> None:
    final, steps, dates = history
    with ledger.engine.connect() as connection, connection.begin() as transaction:
        index = LedgerThreadIndex(connection)
        for step in steps:
            take(step, index, policy)
        found = outcome_in(index, [one.raw for one in final], dates)
        transaction.rollback()
    assert found == outcome_of(final, policy, dates)
