"""Settled threads: which copies are one record, what each record hangs on and why, what the thread is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from thread_worlds import PEOPLE, MemoryIndex, node, reply

from models.thread import Link, Node, SoftEdge
from stages.thread import Conversation, place, settle
from stages.thread.config import ThreadPolicy
from stages.thread.settle import thread_id_of


def settled(*nodes: Node, dates: Mapping[str, str] | None = None) -> Conversation:
    """File messages one by one; they must end in one thread, which is returned settled."""
    index = MemoryIndex()
    for one in nodes:
        place([one], index, ThreadPolicy())
    [surrogate] = set(index.home.values())
    return settle(index.of_threads([surrogate]), index.soft_edges(index.stored), dates)


def joined(*nodes: Node) -> Conversation:
    """Return the conversation of messages that are in one thread, whatever brought them there."""
    return settle(nodes, [])


def threads_of(*nodes: Node) -> int:
    index = MemoryIndex()
    place(nodes, index, ThreadPolicy())
    return len(set(index.home.values()))


def hangs(conversation: Conversation) -> dict[str, tuple[str | None, str]]:
    """Return key → (parent, method), without the domain of the ids."""
    return {
        _short(link.key): (link.parent and _short(link.parent), link.method) for link in conversation.links
    }


def _short(key: str) -> str:
    return key.replace("@x.example", "")


def link_of(conversation: Conversation, key: str) -> Link:
    return next(link for link in conversation.links if _short(link.key) == key)


ROOT, ANSWER = "n1@x.example", "n2@x.example"

# ---- links ----------------------------------------------------------------------------------------------------


def test_a_reply_hangs_on_what_it_answers() -> None:
    found = settled(node(1), reply(2, ROOT), reply(3, ROOT, ANSWER), reply(4, ROOT))
    assert hangs(found) == {
        "n1": (None, "root"),
        "n2": ("n1", "in_reply_to"),
        "n3": ("n2", "in_reply_to"),
        "n4": ("n1", "in_reply_to"),
    }


def test_references_alone_name_the_nearest_ancestor() -> None:
    found = settled(node(1), reply(2, ROOT), reply(3, ROOT, ANSWER, parent_ref=None))
    assert hangs(found)["n3"] == ("n2", "references")


def test_what_in_reply_to_names_goes_before_the_last_reference() -> None:
    found = settled(node(1), reply(2, ROOT), reply(3, ROOT, ANSWER, parent_ref=ROOT))
    assert hangs(found)["n3"] == ("n1", "in_reply_to")


def test_where_the_parent_is_absent_the_next_ancestor_is_taken() -> None:
    found = settled(node(1), reply(3, ROOT, "absent@x.example"))
    assert hangs(found)["n3"] == ("n1", "references")


def test_a_parent_with_a_later_date_is_a_parent() -> None:
    found = settled(reply(1, "n9@x.example"), node(9))
    assert hangs(found) == {"n1": ("n9", "in_reply_to"), "n9": (None, "root")}
    assert found.thread_id == thread_id_of("2026-03-02T08:01:00Z", ROOT)


def test_two_replies_to_an_absent_mail_are_one_thread() -> None:
    found = settled(reply(1, "absent@x.example"), reply(2, "absent@x.example"))
    assert hangs(found) == {"n1": (None, "root"), "n2": ("n1", "references")}
    assert link_of(found, "n2").reason == "both name <absent@x.example>, which is not here"


def test_who_knows_the_absent_mail_says_what_it_answered() -> None:
    """n3 answers a mail that is not here; n4 names it too, and before it the mail that it answered."""
    found = settled(node(1), reply(3, "absent@x.example"), reply(4, ROOT, "absent@x.example", "n3@x.example"))
    assert hangs(found)["n3"] == ("n1", "references")
    assert link_of(found, "n3").reason == "the references of <n4@x.example> say so"


def test_who_answers_a_mail_without_headers_says_what_it_answered() -> None:
    bare = node(2, subject_key="other", people=[PEOPLE[2]], sender=PEOPLE[2])
    found = settled(node(1), bare, reply(3, ROOT, ANSWER))
    assert hangs(found)["n2"] == ("n1", "references")


def test_references_in_the_wrong_order_do_not_hang_a_mail_on_a_later_one() -> None:
    bare = node(2, subject_key="other")
    found = settled(node(1), bare, reply(3, ANSWER, ROOT))
    assert hangs(found) == {"n1": (None, "root"), "n2": (None, "root"), "n3": ("n1", "in_reply_to")}


def test_one_outlook_conversation_hangs_together() -> None:
    found = settled(
        node(1, group_keys=["thread-index:g"]),
        node(2, group_keys=["thread-index:g"]),
        node(3, group_keys=["thread-index:g"], refs=[ANSWER]),
    )
    assert hangs(found) == {"n1": (None, "root"), "n2": ("n1", "thread_index"), "n3": ("n2", "references")}
    assert (link_of(found, "n1").reason, link_of(found, "n2").reason) == ("", "same Outlook conversation")


def test_the_outlook_conversation_of_any_copy_counts() -> None:
    clean = node(2, received_count=0)
    outlook = replace(clean, raw=node(7).raw, received_count=2, group_keys=["thread-index:g"])
    found = settled(node(1, group_keys=["thread-index:g"]), clean, outlook)
    assert hangs(found)["n2"] == ("n1", "thread_index")


def test_a_guess_says_that_it_is_one() -> None:
    found = settled(node(1), reply(2))
    link = link_of(found, "n2")
    assert (link.parent, link.method) == (ROOT, "subject")
    assert 0.5 < link.score < 1 and link.reason.startswith("same subject")


def test_a_header_of_one_copy_goes_before_the_guess_of_another() -> None:
    lost = reply(3)
    kept = replace(lost, raw=node(8).raw, refs=[ROOT], parent_ref=ROOT)
    found = settled(node(1), node(2), lost, kept)
    assert hangs(found)["n3"] == ("n1", "in_reply_to")


# ---- circles ----------------------------------------------------------------------------------------------------


def test_a_circle_is_cut_at_its_oldest_mail() -> None:
    found = settled(reply(1, "n3@x.example"), reply(2, ROOT), reply(3, ANSWER))
    assert hangs(found) == {"n1": (None, "root"), "n2": ("n1", "in_reply_to"), "n3": ("n2", "in_reply_to")}
    assert link_of(found, "n1").reason == "cut a circle of references (in_reply_to)"


def test_two_mails_that_answer_each_other_are_no_endless_loop() -> None:
    found = settled(reply(1, ANSWER), reply(2, ROOT), reply(3, ANSWER))
    assert hangs(found) == {"n1": (None, "root"), "n2": ("n1", "in_reply_to"), "n3": ("n2", "in_reply_to")}


# ---- records ----------------------------------------------------------------------------------------------------


def copy_of(one: Node, number: int, **more: Any) -> Node:
    return replace(one, raw=node(number).raw, **more)


def test_copies_are_one_record_and_the_cleanest_gives_the_text() -> None:
    first = node(1, received_count=2, date="2026-03-02T08:00:00Z")
    clean = copy_of(first, 2, received_count=1, date="2026-03-02T09:00:00Z")
    [record] = settled(first, clean, copy_of(first, 3, received_count=1)).records
    assert record.best == clean
    assert [copy.raw for copy in record.copies] == [node(number).raw for number in (2, 3, 1)]
    assert record.date == "2026-03-02T08:00:00Z"  # the smallest, whichever copy it stands in


def test_other_content_under_one_id_is_another_record_and_the_later_one_gets_a_tail() -> None:
    found = joined(node(1), copy_of(node(2), 2, msg_id=ROOT, own_ids=[ROOT], identity="ab" * 16))
    assert [record.key for record in found.records] == [ROOT, f"{ROOT}#abababab"]
    assert hangs(found)["n1#abababab"] == ("n1", "references")
    assert link_of(found, "n1#abababab").reason == "same Message-ID, other content"


def test_of_two_messages_of_one_second_the_smaller_hash_keeps_the_id() -> None:
    rows = [
        node(number, msg_id=ROOT, date="2026-03-02T09:00:00Z", identity=f"{number}" * 32) for number in (5, 4)
    ]
    assert [record.best.raw for record in joined(*rows).records if record.key == ROOT] == [node(4).raw]


def test_tails_that_would_meet_are_longer() -> None:
    rows = [node(number, msg_id=ROOT, identity="c" * 31 + str(number)) for number in (1, 2, 3)]
    keys = [record.key for record in joined(*rows).records]
    assert keys == [ROOT, f"{ROOT}#{'c' * 31}2", f"{ROOT}#{'c' * 31}3"]


def test_an_id_that_looks_like_a_tail_of_ours_does_not_take_its_name() -> None:
    twin = node(2, msg_id=ROOT, identity="ab" * 16)
    forged = reply(3, ROOT, msg_id=f"{ROOT}#abababab")
    keys = [record.key for record in joined(node(1), twin, forged).records]
    assert len(set(keys)) == 3
    assert keys[2] == f"{ROOT}#abababab#{forged.identity[:8]}"


def test_a_reference_to_an_id_of_several_goes_to_the_one_of_its_subject() -> None:
    plan, badge = (
        node(1, msg_id="l@x.example"),
        node(2, msg_id="l@x.example", subject_key="badge", subject="Badge"),
    )
    found = joined(plan, badge, reply(3, "l@x.example"), reply(4, "l@x.example", subject_key="badge"))
    tail = f"l#{badge.identity[:8]}"
    assert hangs(found)["n3"] == ("l", "in_reply_to")
    assert hangs(found)["n4"] == (tail, "in_reply_to")


def test_a_reference_to_an_id_of_several_goes_to_the_latest_before_it() -> None:
    rows = [node(number, msg_id="l@x.example") for number in (1, 2, 9)]
    found = joined(*rows, reply(5, "l@x.example", subject_key="other"))
    assert hangs(found)["n5"] == (f"l#{rows[1].identity[:8]}", "in_reply_to")


def test_a_mail_earlier_than_all_that_it_may_mean_takes_the_first_of_its_subject() -> None:
    rows = [node(number, msg_id="l@x.example", subject_key=f"s{number}") for number in (5, 6)]
    found = joined(*rows, reply(1, "l@x.example", subject_key="s6"))
    assert hangs(found)["n1"] == (f"l#{rows[1].identity[:8]}", "in_reply_to")


# ---- what the thread is called ------------------------------------------------------------------------------------


def test_a_thread_is_called_after_its_earliest_mail() -> None:
    early, late = node(1, subject="Early"), reply(2, ROOT, subject="Late")
    alone = settled(late)
    both = settled(late, early)
    assert (alone.thread_id, alone.subject) == (thread_id_of(late.date, ANSWER), "Late")
    assert (both.thread_id, both.subject) == (thread_id_of(early.date, ROOT), "Early")
    assert both.thread_id.startswith("thr-2026-03-02-") and len(both.thread_id) == 27


def test_of_one_second_the_smaller_key_is_the_root() -> None:
    noon = "2026-03-02T12:00:00Z"
    found = settled(node(2, date=noon), reply(1, ANSWER, date=noon))
    assert found.thread_id == thread_id_of(noon, ROOT)


def test_an_undated_mail_stands_last_unless_its_server_gave_a_date() -> None:
    undated = reply(1, ANSWER, date=None)
    assert [record.key for record in settled(undated, node(2)).records] == [ANSWER, ROOT]
    dated = settled(undated, node(2), dates={undated.raw: "2026-03-01T00:00:00Z"})
    assert [record.key for record in dated.records] == [ROOT, ANSWER]
    assert dated.thread_id == thread_id_of("2026-03-01T00:00:00Z", ROOT)


def test_the_date_of_a_server_does_not_replace_the_date_of_the_mail() -> None:
    row = node(1)
    assert settled(row, dates={row.raw: "2020-01-01T00:00:00Z"}).records[0].date == row.date


def test_a_thread_without_any_date_says_so() -> None:
    assert settled(node(1, date=None)).thread_id == thread_id_of(None, ROOT)
    assert thread_id_of(None, ROOT).startswith("thr-undated-")


def test_a_changed_subject_is_flagged_where_it_changes() -> None:
    drift = reply(2, ROOT, subject_key="papers")
    found = settled(
        node(1), drift, reply(3, ROOT, ANSWER, subject_key="papers"), reply(4, ROOT, subject_key="")
    )
    assert [link.subject_changed for link in found.links] == [False, True, False, False]


@pytest.mark.parametrize("refs", [[], ["absent@x.example"], [ROOT]])
def test_a_single_mail_is_a_thread(refs: list[str]) -> None:
    found = settled(node(1, refs=[ref for ref in refs if ref != ROOT]))
    assert hangs(found) == {"n1": (None, "root")}
    assert found.links[0].score == 1 and found.links[0].reason == ""


# ---- what joins threads ---------------------------------------------------------------------------------------------


def test_a_late_parent_joins_two_threads() -> None:
    index = MemoryIndex()
    place([node(1), reply(3, ANSWER, subject_key="other")], index, ThreadPolicy())
    assert len(set(index.home.values())) == 2
    changed = place([reply(2, ROOT)], index, ThreadPolicy())
    assert len(set(index.home.values())) == 1
    assert len(changed) == 2  # the one that took the mails and the one that gave them


def test_an_id_joins_whatever_its_case_only_when_it_is_the_same() -> None:
    assert threads_of(node(1, msg_id="Id@x.example"), reply(2, "id@x.example", subject_key="other")) == 2


def test_an_edge_to_a_mail_of_another_thread_is_no_link() -> None:
    stray = SoftEdge(child=node(1).raw, parent=node(2).raw, tier="subject", score=0.9)
    assert hangs(settle([node(1)], [stray])) == {"n1": (None, "root")}
