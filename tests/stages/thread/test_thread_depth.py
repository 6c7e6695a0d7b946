"""Long chains and wide threads: no recursion, and work that grows with the thread, not with its square."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from thread_worlds import PEOPLE, MemoryIndex, node, reply

import stages.thread
from models.thread import Node
from stages.thread import memory, place, settle
from stages.thread.config import ThreadPolicy

HERE = str(Path(stages.thread.__file__).parent)


def chain(length: int) -> list[Node]:
    """Return mails that each answer the one before and name twenty."""
    names = [f"n{number}@x.example" for number in range(length)]
    return [reply(number, *names[max(0, number - 20) : number]) for number in range(length)]


def siblings(length: int) -> list[Node]:
    return [reply(number, "absent@x.example") for number in range(length)]


def one_id(length: int) -> list[Node]:
    """Return mails that all bear one id, as altered copies of one, and a reply to each."""
    twins = [
        node(number, msg_id="label@x.example", date="2026-03-02T08:00:00Z", twin_key="twin:1")
        for number in range(length // 2)
    ]
    return [*twins, *(reply(1000 + number, "label@x.example") for number in range(length // 2))]


def circle(length: int) -> list[Node]:
    names = [f"n{(number + 1) % length}@x.example" for number in range(length)]
    return [reply(number, name, joins_by_subject=False) for number, name in enumerate(names)]


def one_group(length: int) -> list[Node]:
    return [node(number, group_keys=["g"]) for number in range(length)]


def guesses(length: int) -> list[Node]:
    """Return replies of two people without headers, a minute apart."""
    return [node(0), *(reply(number) for number in range(1, length))]


SHAPES = [chain, siblings, one_id, circle, one_group, guesses]


@contextmanager
def shallow(depth: int = 60) -> Iterator[None]:
    """Let nothing call itself deeper than `depth` frames from here."""
    frame: FrameType | None = sys._getframe()
    here = 0
    while frame is not None:
        here, frame = here + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(here + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("shape", "size"), [(chain, 5000), (siblings, 2000), (circle, 2000), (guesses, 1000)]
)
def test_a_long_thread_is_one_thread_and_needs_no_recursion(
    shape: Callable[[int], list[Node]], size: int
) -> None:
    nodes = shape(size)
    index = MemoryIndex()
    with shallow():
        for start in range(0, size, 500):
            place(nodes[start : start + 500], index, ThreadPolicy())
        [surrogate] = set(index.home.values())
        conversation = settle(index.of_threads([surrogate]), index.soft_edges(index.stored))
    assert len(conversation.records) == size
    roots = [link.key for link in conversation.links if link.parent is None]
    assert roots == ["n0@x.example"]


def test_each_reply_of_a_long_chain_hangs_on_the_one_before() -> None:
    conversation = settle(chain(5000), [])
    assert [link.parent for link in conversation.links[1:]] == [link.key for link in conversation.links[:-1]]


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines of the stage `work` runs, without those that the index in memory calls."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        inside = frame.f_code.co_filename
        if not inside.startswith(HERE) or memory.__file__ in (inside, caller):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_settling_twice_the_thread_is_twice_the_work(shape: Callable[[int], list[Node]]) -> None:
    works = []
    for size in (150, 300):
        index = MemoryIndex()
        place(shape(size), index, ThreadPolicy())
        members, edges = index.of_threads([index.home[node(0).raw]]), index.soft_edges(index.stored)
        assert len(members) == size
        works.append(steps_of(lambda members=members, edges=edges: settle(members, edges)))  # type: ignore[misc]
    assert works[1] < 2.5 * works[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_next_mail_of_a_thread_costs_the_same_however_long_it_is(
    shape: Callable[[int], list[Node]],
) -> None:
    works = []
    for size in (150, 300):
        *stored, last = shape(size)
        index = MemoryIndex()
        place(stored, index, ThreadPolicy())
        works.append(steps_of(lambda last=last, index=index: place([last], index, ThreadPolicy())))  # type: ignore[misc]
        assert len(set(index.home.values())) == 1
    assert works[1] < 1.2 * works[0]


def test_a_mail_that_arrives_into_a_crowd_of_one_subject_costs_a_bounded_number_of_choices() -> None:
    """The crowd are replies of strangers: only so many can win or lose the mail that arrives before them."""
    works = []
    for size in (300, 600):
        crowd = [reply(number, people=[PEOPLE[2]], sender=PEOPLE[2]) for number in range(1, size)]
        index = MemoryIndex()
        place(crowd, index, ThreadPolicy())
        works.append(steps_of(lambda index=index: place([node(0)], index, ThreadPolicy())))  # type: ignore[misc]
    assert works[0] == works[1]
