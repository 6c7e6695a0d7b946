"""The thread index, redirects and records, whichever database keeps them."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence

import pytest
from databases import A, B, C, D, everything
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from models.thread import Node, SoftEdge
from storage import schema, work
from storage.ledger import Ledger, count_rows
from storage.records import RecordRow, SightingRow, all_sightings, replace_records
from storage.thread_index import (
    LedgerThreadIndex,
    Renaming,
    ThreadRow,
    keep_old_ids,
    leave_old_id,
    mark_settled,
    read_threads,
    rename_thread,
    resolve_thread,
    unsettled,
)

AT = "2026-03-02T00:00:00Z"


def node(raw: str, **more: object) -> Node:
    """Return a node that has no more than it is given."""
    values: dict[str, object] = {"msg_id": raw[7:12], "identity": raw, "content_hash": raw, **more}
    return Node(raw=raw, **values)  # type: ignore[arg-type]


def raws_of(nodes: Sequence[Node]) -> list[str]:
    return [one.raw for one in nodes]


def edge(child: str, parent: str, score: float = 0.5) -> SoftEdge:
    return SoftEdge(child=child, parent=parent, tier="subject", score=score, reason="same subject")


def file_in_threads(index: LedgerThreadIndex, *nodes: Node) -> dict[str, int]:
    """Put each node into a thread of its own; returns raw hash → surrogate."""
    index.put(nodes)
    threads = dict(zip(raws_of(nodes), index.new_threads(len(nodes)), strict=True))
    index.assign(threads)
    return threads


def long_text(seed: int, length: int = 5000) -> str:
    """Return text that does not compress, as PostgreSQL would do before it measures an index row."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


# ---- the thread index -------------------------------------------------------------------------------


def test_a_node_comes_back_equal(ledger: Ledger) -> None:
    first = node(
        A, own_ids=["a@x", "a#1"], refs=["root@x"], subject="Hello", people=["p@x"], tokens=["w"], date=AT
    )
    second = node(B, refs=["a@x", "a@x"], received_count=3, reply_sign=True, joins_by_subject=False)
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([first, second])
        assert index.nodes([B, A, C]) == [first, second]
        assert index.nodes([]) == []


def test_every_id_that_a_node_owns_or_names_leads_to_its_thread(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        first, second = (
            node(A, own_ids=["a@x"], refs=["root@x"]),
            node(B, own_ids=["b@x", "B@x"], group_keys=["g"]),
        )
        threads = file_in_threads(index, first, second)
        assert index.homes(["a@x", "root@x", "b@x", "g", "nobody@x"]) == {
            "a@x": threads[A],
            "root@x": threads[A],
            "b@x": threads[B],
            "g": threads[B],
        }
        assert index.homes(["A@x"]) == {}  # case counts in ids
        assert index.homes([]) == {}


def test_an_id_that_several_members_name_leads_to_their_thread_once(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        threads = file_in_threads(index, node(A, refs=["root@x"]), node(B, refs=["root@x", "root@x"]))
        index.assign({B: threads[A]})
        assert index.homes(["root@x"]) == {"root@x": threads[A]}


def test_a_node_that_is_put_again_keeps_its_thread_and_forgets_its_old_ids(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([node(A, own_ids=["a@x"], refs=["old@x"])])
        index.assign({A: 7})
        connection.execute(update(schema.node).values(record="a@x"))
        index.put([node(A, own_ids=["a@x"], refs=["new@x"], subject_key="s")])
        assert index.threads([A]) == {A: 7}
        assert connection.scalars(select(schema.node.c.record)).all() == ["a@x"]
        assert index.homes(["a@x", "old@x", "new@x"]) == {"a@x": 7, "new@x": 7}


def test_a_dropped_node_takes_its_ids_and_its_guesses_along(ledger: Ledger) -> None:
    edges = [edge(B, A), edge(C, B)]
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        file_in_threads(index, *(node(raw, own_ids=[f"{raw}@x"]) for raw in (A, B, C)))
        index.put_soft(edges)
        index.drop([B])
        assert raws_of(index.nodes([A, B, C])) == [A, C]
        assert index.homes([f"{B}@x"]) == {}
        # the guess that C made stays: C is looked at again by who dropped its parent
        assert index.soft_edges([A, B, C]) == [edges[1]]


def a_bucket(index: LedgerThreadIndex) -> dict[str, Node]:
    """Store six mails of one subject, some of one second, and two that do not count; returns them by letter."""

    def mail(letter: str, day: int | None, sign: bool, key: str = "plan", **more: object) -> Node:
        date = f"2026-03-{day:02}T00:00:00Z" if day else None
        return node(
            f"blake3:{letter * 64}", subject_key=key, date=date, reply_sign=sign, own_ids=[letter], **more
        )

    rows = {
        "a": mail("a", 1, False),
        "b": mail("b", 2, True),
        "c": mail("c", 2, False),
        "d": mail("d", 2, True),
        "e": mail("e", 3, False),
        "f": mail("f", 4, True),
        "undated": mail("0", None, False),
        "other": mail("1", 2, True, key="Plan"),
        "alone": mail("2", 2, True, joins_by_subject=False),
    }
    index.put([*rows.values()])
    return rows


@pytest.mark.parametrize(
    ("letter", "since", "limit", "found"),
    [
        (
            "f",
            "2026-03-01T00:00:00Z",
            9,
            "edbca",
        ),  # newest first, in one second the replies before the originals
        ("f", "2026-03-01T00:00:00Z", 2, "ed"),
        ("f", "2026-03-02T00:00:00Z", 9, "edbc"),
        ("f", "2026-03-02T00:00:01Z", 9, "e"),
        ("d", "2026-03-01T00:00:00Z", 9, "bca"),
        ("b", "2026-03-01T00:00:00Z", 9, "ca"),
        ("c", "2026-03-01T00:00:00Z", 9, "a"),
        ("a", "2026-03-01T00:00:00Z", 9, ""),
    ],
)
def test_what_lies_before_a_mail_in_its_bucket_comes_newest_first(
    ledger: Ledger, letter: str, since: str, limit: int, found: str
) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        place = a_bucket(index)[letter]
        assert [raw[7] for raw in raws_of(index.before(place, since, limit))] == list(found)


@pytest.mark.parametrize(
    ("letter", "until", "limit", "found"),
    [
        ("a", "2026-03-04T00:00:00Z", 9, "bdf"),
        ("a", "2026-03-03T23:59:59Z", 9, "bd"),
        ("a", "2026-03-04T00:00:00Z", 2, "b"),  # the limit counts those that do not wait, too
        ("c", "2026-03-04T00:00:00Z", 9, "bdf"),
        ("b", "2026-03-04T00:00:00Z", 9, "df"),
        ("d", "2026-03-02T00:00:00Z", 9, ""),
        ("f", "2026-03-09T00:00:00Z", 9, ""),
    ],
)
def test_the_replies_that_wait_after_a_mail_are_found(
    ledger: Ledger, letter: str, until: str, limit: int, found: str
) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        place = a_bucket(index)[letter]
        assert [raw[7] for raw in raws_of(index.seeking_after(place, until, limit))] == list(found)


def test_the_last_reply_that_waits_is_known_for_each_subject_that_has_one(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        a_bucket(index)
        dates = {"plan": "2026-03-04T00:00:00Z", "Plan": "2026-03-02T00:00:00Z"}
        assert index.last_seeking(["Plan", "plan", "none"]) == dates
        index.drop([f"blake3:{'f' * 64}"])
        assert index.last_seeking(["plan"]) == {"plan": "2026-03-02T00:00:00Z"}
        assert index.last_seeking([]) == {}


def test_lines_lead_to_their_first_authors_and_to_replies_that_quote_them(ledger: Ledger) -> None:
    first = node(A, said=[1, 2], date="2026-03-01T00:00:00Z", joins_by_subject=False)
    second = node(B, said=[2], date="2026-03-02T00:00:00Z", joins_by_subject=False)
    answer = node(C, quoted=[2, 3], date="2026-03-03T00:00:00Z", reply_sign=True)
    named = node(D, quoted=[2], date="2026-03-04T00:00:00Z", reply_sign=True, refs=["a@x"])
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([second, named, answer, first])
        early, later = "2026-03-02T00:00:00Z", "2026-03-02T00:00:01Z"
        assert index.authors([(2, later), (2, early), (3, "~")], 9) == [[A, B], [A], []]
        assert index.authors([(2, "~")], 1) == [[A]]
        assert index.authors([], 9) == []
        assert index.last_quoting([1, 2, 3]) == dict.fromkeys((2, 3), "2026-03-03T00:00:00Z")
        day = "2026-03-03T00:00:00Z"
        assert index.quoting([(2, day, "~"), (3, day, day)]) == [C]
        assert index.quoting([(2, early, later), (3, "2026-03-03T00:00:01Z", "~"), (1, day, day)]) == []
        assert index.quoting([]) == []
        index.put([node(A, said=[1], date="2026-03-01T00:00:00Z")])
        assert index.authors([(2, "~")], 9) == [[B]]
        index.drop([B, C])
        assert index.authors([(2, "~")], 9) == [[]] and index.last_quoting([2, 3]) == {}


def test_an_id_tells_the_first_and_last_of_what_unlike_messages_carry_it(ledger: Ledger) -> None:
    long = "x" * 3000
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([node(A, msg_id=long, twin_key="twin:2"), node(B, msg_id=long, twin_key="twin:1")])
        index.put([node(C, msg_id="c@x", twin_key="twin:5"), node(D, msg_id="d@x", refs=[long])])
        assert index.twins([long, "c@x", "none"]) == {long: ("twin:1", "twin:2"), "c@x": ("twin:5", "twin:5")}
        index.drop([B])
        assert index.twins([long]) == {long: ("twin:2", "twin:2")}
        assert index.twins([]) == {}
        assert index.holders([long]) == [D]


def test_a_message_makes_one_guess_and_a_new_one_replaces_it(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put_soft([edge(B, A), edge(C, A)])
        assert index.soft_edges([A]) == [edge(B, A), edge(C, A)]
        index.put_soft([edge(B, D, 0.75)])
        assert index.soft_edges([B]) == [edge(B, D, 0.75)]
        assert index.soft_edges([A]) == [edge(C, A)]
        index.remove_soft([B, D])
        assert index.soft_edges([A, B, C, D]) == [edge(C, A)]


def test_threads_are_numbered_assigned_and_merged(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection, "run-1")
        first, second, third = index.new_threads(3)
        assert first < second < third
        index.put([node(raw) for raw in (A, B, C, D)])
        index.assign({A: first, B: second, C: first})
        assert index.threads([A, B, C, D]) == {A: first, B: second, C: first}
        assert raws_of(index.of_threads([first, third])) == [A, C]
        index.merge([first, second], third)
        assert index.threads([A, B, C, D]) == {A: third, B: third, C: third}
        assert index.of_threads([first, second]) == []
        created = connection.execute(select(schema.thread.c.created_by)).scalars()
        assert list(created) == ["run-1"] * 3


def test_a_thread_that_was_touched_is_unsettled_until_that_revision_is_settled(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        first, second = index.new_threads(2)
        assert unsettled(connection) == []
        index.touch([second, first])
        index.touch([first])
        assert unsettled(connection) == [(first, 2), (second, 1)]
        mark_settled(connection, {first: ThreadRow(1, "thr-1"), second: ThreadRow(1, None)})
        assert unsettled(connection) == [(first, 2)]
        mark_settled(connection, {first: ThreadRow(2, "thr-1")})
        assert unsettled(connection) == []
        assert read_threads(connection, [first, second, 99]) == {
            first: ThreadRow(2, "thr-1"),
            second: ThreadRow(1, None),
        }


# ---- records ----------------------------------------------------------------------------------------


def record(key: str, thread: int, raw: str, *copies: str) -> RecordRow:
    path = f"extracted/2026-03/thr/{key[:9]}.json"
    return RecordRow(key, thread, raw, path, "root", False, (raw, *copies))


def sighting(key: str, thread: int, email: str, **more: str | None) -> SightingRow:
    values: dict[str, str | None] = {"name": "Ann", "domain": None, "date": AT, "subject": "Plan", **more}
    return SightingRow(record=key, email=email, thread=thread, internal=False, **values)  # type: ignore[arg-type]


def test_records_replace_those_that_their_threads_had(ledger: Ledger) -> None:
    with ledger.write() as connection:
        replace_records(
            connection, [1, 2], [record("a@x", 1, A), record("b@x", 2, B)], [sighting("a@x", 1, "p@x")]
        )
        replace_records(
            connection, [1], [record("c@x", 1, C)], [sighting("c@x", 1, "q@x"), sighting("c@x", 1, "r@x")]
        )
        rows = connection.execute(select(schema.record.c.key, schema.record.c.thread, schema.record.c.raw))
        assert sorted(rows.all()) == [("b@x", 2, B), ("c@x", 1, C)]
        assert sorted(row.email for row in all_sightings(connection)) == ["q@x", "r@x"]
        replace_records(connection, [1, 2], [], [])
        assert all_sightings(connection) == []
    assert everything(ledger, schema.record) == []


def test_a_record_that_moves_to_another_thread_is_there_once_whatever_is_settled_first(
    ledger: Ledger,
) -> None:
    with ledger.write() as connection:
        replace_records(connection, [1], [record("a@x", 1, A)], [sighting("a@x", 1, "p@x")])
        replace_records(connection, [2], [record("a@x", 2, A)], [sighting("a@x", 2, "p@x")])
        replace_records(connection, [1], [], [])
        assert [row.thread for row in all_sightings(connection)] == [2]
        assert connection.scalars(select(schema.record.c.thread)).all() == [2]


def test_nodes_learn_the_record_of_every_copy(ledger: Ledger) -> None:
    with ledger.write() as connection:
        LedgerThreadIndex(connection).put([node(raw) for raw in (A, B, C)])
        replace_records(connection, [1], [record("a@x", 1, A, B)], [])
        rows = connection.execute(select(schema.node.c.raw, schema.node.c.record))
        assert sorted(rows.all(), key=lambda row: str(row.raw)) == [(A, "a@x"), (B, "a@x"), (C, None)]


def test_the_first_place_of_the_copy_that_gave_the_text_stands_for_the_record(ledger: Ledger) -> None:
    def row(folder: str, uid: str, raw: str) -> dict[str, str | None]:
        return {"folder": folder, "uid": uid, "raw": raw, "stamp": "", "locator": "", "internal_date": None}

    with ledger.write() as connection:
        work.store_locations(connection, "bob", [row("A", "1", A)])
        work.store_locations(connection, "ann", [row("Sent", "1", A), row("INBOX", "9", A), row("A", "0", B)])
        replace_records(connection, [1], [record("a@x", 1, A, B), record("c@x", 1, C)], [])
        query = (
            select(schema.record.c.key, schema.location.c.account, schema.location.c.folder)
            .select_from(
                schema.record.outerjoin(schema.location, schema.record.c.location == schema.location.c.id)
            )
            .order_by(schema.record.c.key)
        )
        assert connection.execute(query).all() == [("a@x", "ann", "INBOX"), ("c@x", None, None)]


def test_text_of_any_length_out_of_a_mail_can_be_kept_and_found(ledger: Ledger) -> None:
    names = [long_text(number) for number in range(3)]
    twin = names[0][:-1] + "!"  # differs in its last letter only
    first = node(A, own_ids=[names[0]], refs=[names[1]], msg_id=names[0], subject_key=names[2], date=AT)
    second = node(
        B, own_ids=[twin], refs=[names[1]], msg_id=twin, subject_key=names[2], date=AT, reply_sign=True
    )
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([first, second])
        index.assign({A: 1, B: 2})
        people = [sighting(names[0], 1, names[1], name=names[2], domain=twin, subject=names[1])]
        replace_records(connection, [1, 2], [record(names[0], 1, A), record(twin, 2, B)], people)
    with ledger.read() as connection:
        index = LedgerThreadIndex(connection)
        assert index.homes([names[0], twin]) == {names[0]: 1, twin: 2}
        assert index.homes([names[1]]).keys() == {names[1]}
        assert index.nodes([A, B]) == [first, second]
        assert index.before(second, AT, 9) == [first]
        assert index.seeking_after(first, AT, 9) == [second]
        by_key = select(schema.record.c.raw).where(schema.record.c.key == twin)
        assert connection.scalars(by_key).all() == [B]
        by_record = select(schema.node.c.raw).where(schema.node.c.record == names[0])
        assert connection.scalars(by_record).all() == [A]
        assert all_sightings(connection)[0].subject == names[1]  # in no index: kept whole


# ---- redirects --------------------------------------------------------------------------------------


def rename(connection: Connection, *pairs: str) -> None:
    for pair in pairs:
        old, new = pair.split(">")
        rename_thread(connection, old, new, "rekeyed", "2026-03-02T00:00:00Z")


@pytest.mark.parametrize("length", [399, 400, 401, 433, 434, 5000])
def test_long_ids_and_subjects_are_looked_up_as_short_ones_are(ledger: Ledger, length: int) -> None:
    ident, subject = long_text(1, length), long_text(2, length)
    waits = node(A, own_ids=[ident], subject_key=subject, date=AT, reply_sign=True, joins_by_subject=True)
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([waits])
        [thread] = index.new_threads(1)
        index.assign({A: thread})
        assert index.homes([ident]) == {ident: thread}
        assert index.last_seeking([subject]) == {subject: AT}
        later = node(B, subject_key=subject, date="2026-03-03T00:00:00Z")
        assert raws_of(index.before(later, "", 5)) == [A]


def test_an_old_thread_id_leads_to_the_present_one(ledger: Ledger) -> None:
    with ledger.write() as connection:
        rename(connection, "a>b", "b>c", "x>c", "c>d")
        assert [resolve_thread(connection, name) for name in "abcdxq"] == ["d", "d", "d", "d", "d", "q"]


def test_an_id_that_is_in_use_again_leads_nowhere_else(ledger: Ledger) -> None:
    with ledger.write() as connection:
        rename(connection, "a>b", "b>a")
        assert [resolve_thread(connection, name) for name in "ab"] == ["a", "a"]


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=12))
def test_no_sequence_of_renames_makes_a_cycle(ledger: Ledger, pairs: list[tuple[str, str]]) -> None:
    with ledger.engine.connect() as connection, connection.begin() as transaction:
        for old, new in pairs:
            rename(connection, f"{old}>{new}")
            assert resolve_thread(connection, new) == new
            assert resolve_thread(connection, old) == new
        rows = connection.execute(select(schema.redirect.c.old, schema.redirect.c.new)).all()
        leads = {old: new for old, new in rows if old != new}
        for start in leads:
            path = [start]
            while path[-1] in leads:
                path.append(leads[path[-1]])
                assert len(path) <= len(leads) + 1
            assert resolve_thread(connection, start) == path[-1]
        transaction.rollback()


def settle(connection: Connection, surrogate: int, new: str, *keys: str) -> None:
    """Settle a thread under a public id with these records, as settling does."""
    old = read_threads(connection, [surrogate])[surrogate].public_id
    keep_old_ids(connection, {surrogate: Renaming(old, new, keys)}, AT)
    raws = {"a@x": A, "b@x": B, "c@x": C}
    replace_records(connection, [surrogate], [record(key, surrogate, raws[key]) for key in keys], [])
    mark_settled(connection, {surrogate: ThreadRow(1, new)})


def settle_empty(connection: Connection, surrogate: int) -> None:
    """Settle a thread that has no member left, as settling does."""
    old = read_threads(connection, [surrogate])[surrogate].public_id
    if old:
        leave_old_id(connection, surrogate, old, AT)
    replace_records(connection, [surrogate], [], [])
    mark_settled(connection, {surrogate: ThreadRow(2, None)})


def test_an_id_that_another_thread_of_the_batch_takes_over_leads_nowhere(ledger: Ledger) -> None:
    with ledger.write() as connection:
        first, second = LedgerThreadIndex(connection).new_threads(2)
        settle(connection, first, "thr-1", "a@x")
        both = {first: Renaming("thr-1", "thr-0", ["a@x"]), second: Renaming(None, "thr-1", ["b@x"])}
        keep_old_ids(connection, both, AT)
        assert resolve_thread(connection, "thr-1") == "thr-1"


def test_a_thread_with_an_earlier_root_keeps_its_old_id_resolvable(ledger: Ledger) -> None:
    with ledger.write() as connection:
        [surrogate] = LedgerThreadIndex(connection).new_threads(1)
        settle(connection, surrogate, "thr-2", "b@x")
        assert resolve_thread(connection, "thr-2") == "thr-2"
        settle(connection, surrogate, "thr-1", "a@x", "b@x")
        assert resolve_thread(connection, "thr-2") == "thr-1"
        assert connection.scalars(select(schema.redirect.c.reason)).all() == ["rekeyed"]
        settle(connection, surrogate, "thr-2", "b@x")  # the earlier root went into quarantine
        assert [resolve_thread(connection, name) for name in ("thr-1", "thr-2")] == ["thr-2", "thr-2"]


def test_a_thread_that_was_merged_away_leads_to_the_one_that_took_its_records(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        threads = file_in_threads(index, node(A), node(B))
        settle(connection, threads[A], "thr-a", "a@x")
        settle(connection, threads[B], "thr-b", "b@x")
        index.merge([threads[B]], threads[A])
        settle(connection, threads[A], "thr-a", "a@x", "b@x")
        assert resolve_thread(connection, "thr-b") == "thr-a"
        assert connection.scalars(select(schema.redirect.c.reason)).all() == ["merged"]


@pytest.mark.parametrize("new", ["thr-a", "thr-b", "thr-0"])
def test_a_thread_that_was_merged_away_and_is_settled_first_leads_to_the_one_that_took_its_records(
    ledger: Ledger, new: str
) -> None:
    """Two processes settle: the empty thread is through before the other one has its records, and its new id."""
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        threads = file_in_threads(index, node(A), node(B))
        settle(connection, threads[A], "thr-a", "a@x")
        settle(connection, threads[B], "thr-b", "b@x")
        index.merge([threads[B]], threads[A])
        settle_empty(connection, threads[B])
        assert resolve_thread(connection, "thr-b") == "thr-a"
        settle(connection, threads[A], new, "a@x", "b@x")
        assert [resolve_thread(connection, name) for name in ("thr-a", "thr-b")] == [new, new]


def test_a_thread_whose_mails_all_went_into_quarantine_leads_nowhere(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        threads = file_in_threads(index, node(A))
        settle(connection, threads[A], "thr-a", "a@x")
        index.drop([A])
        settle_empty(connection, threads[A])
        assert count_rows(connection, schema.redirect) == 0


def test_a_thread_that_only_gave_a_record_away_keeps_its_id(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        threads = file_in_threads(index, node(A), node(B), node(C))
        index.merge([threads[C]], threads[B])
        settle(connection, threads[A], "thr-a", "a@x")
        settle(connection, threads[B], "thr-b", "b@x", "c@x")
        index.assign({C: threads[A]})
        settle(connection, threads[A], "thr-a", "a@x", "c@x")
        assert resolve_thread(connection, "thr-b") == "thr-b"


def test_an_old_id_that_another_thread_bears_now_leads_to_itself(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        first, second = index.new_threads(2)
        settle(connection, first, "thr-1", "a@x", "b@x")
        settle(connection, second, "thr-1", "a@x")  # its root moved there
        settle(connection, first, "thr-2", "b@x")
        assert [resolve_thread(connection, name) for name in ("thr-1", "thr-2")] == ["thr-1", "thr-2"]


def test_an_id_that_led_away_leads_to_itself_once_a_new_thread_bears_it(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        first, second = index.new_threads(2)
        settle(connection, first, "thr-2", "b@x")
        settle(connection, first, "thr-1", "a@x", "b@x")
        assert resolve_thread(connection, "thr-2") == "thr-1"
        settle(connection, second, "thr-2", "c@x")
        assert [resolve_thread(connection, name) for name in ("thr-1", "thr-2")] == ["thr-1", "thr-2"]
