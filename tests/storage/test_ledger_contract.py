"""What every ledger must do, whichever database keeps it: each test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import random
import string
import threading

import pytest
from actors import Actor, start_together
from databases import TENANT, Database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, Table, insert, select, text, update

from models.batch import Quarantined
from models.errors import MailboxBusy, Transient, UsageError
from models.report import QuarantineFile
from models.thread import Node, SoftEdge
from storage import quarantine, schema, work
from storage.files import WantedFile, differences, want, want_all
from storage.leases import STALE_SECONDS, take_lease
from storage.ledger import (
    Ledger,
    chunks,
    connect_ledger,
    count_rows,
    get_meta,
    last_change,
    next_change,
    set_meta,
    upsert,
)
from storage.thread_index import LedgerThreadIndex, rename_thread, resolve_thread, unsettled

A, B, C, D = (f"blake3:{letter * 64}" for letter in "abcd")
OLD, NEW = {"decode": "version 1"}, {"decode": "version 2"}


def long_text(seed: int, length: int = 5000) -> str:
    """Return text that does not compress, as PostgreSQL would do before it measures an index row."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


# ---- opening ----------------------------------------------------------------------------------------


def test_a_new_ledger_notes_its_tenant_and_schema(ledger: Ledger) -> None:
    with ledger.read() as connection:
        assert get_meta(connection, "tenant") == TENANT
        assert get_meta(connection, "schema") == schema.SCHEMA_VERSION


def test_a_ledger_of_another_tenant_is_refused_by_both_names(database: Database) -> None:
    database.open().close()
    with pytest.raises(UsageError) as refused:
        database.open("globex")
    assert "`acme`" in refused.value.detail
    assert "`globex`" in refused.value.detail
    assert refused.value.remedy
    database.open("acme").close()


def test_a_ledger_of_another_schema_version_is_refused(database: Database) -> None:
    ledger = database.open()
    with ledger.write() as connection:
        set_meta(connection, "schema", "0")
    ledger.close()
    with pytest.raises(UsageError, match=f"schema 0, this program needs {schema.SCHEMA_VERSION}"):
        database.open()


def test_several_processes_may_open_a_new_ledger_at_once(new_database: Database) -> None:
    actors = [Actor("open_once", new_database.state, new_database.url) for _ in range(3)]
    assert start_together(actors) == [0, 0, 0]
    ledger = new_database.open()
    with ledger.read() as connection:
        assert count_rows(connection, schema.meta) == 2
    ledger.close()


# ---- transactions -----------------------------------------------------------------------------------


def test_an_exception_rolls_the_whole_transaction_back(ledger: Ledger) -> None:
    with ledger.write() as connection:
        set_meta(connection, "kept", "before")
    with pytest.raises(ZeroDivisionError), ledger.write() as connection:
        set_meta(connection, "kept", "after")
        set_meta(connection, "new", "row")
        raise ZeroDivisionError
    with ledger.read() as connection:
        assert get_meta(connection, "kept") == "before"
        assert get_meta(connection, "new") is None


def test_what_the_database_refuses_is_an_error_to_try_again_later(ledger: Ledger) -> None:
    with pytest.raises(Transient, match=r"^ledger: ") as refused, ledger.write() as connection:
        connection.execute(insert(schema.meta).values(key="twice", value="1"))
        connection.execute(insert(schema.meta).values(key="twice", value="2"))
    assert refused.value.remedy
    with ledger.read() as connection:
        assert get_meta(connection, "twice") is None


def test_a_reader_sees_one_snapshot_while_others_write(ledger: Ledger) -> None:
    with ledger.read() as reader:
        assert last_change(reader) == 0
        with ledger.write() as writer:
            next_change(writer)
            set_meta(writer, "new", "row")
        assert last_change(reader) == 0
        assert get_meta(reader, "new") is None
    with ledger.read() as reader:
        assert get_meta(reader, "new") == "row"


def test_a_writer_waits_for_another_and_sees_what_it_wrote(ledger: Ledger) -> None:
    order: list[str] = []
    inside, seen = threading.Event(), threading.Event()

    def second() -> None:
        inside.wait()
        seen.set()
        with ledger.write() as connection:
            order.append(f"second sees {last_change(connection)}")

    other = threading.Thread(target=second)
    other.start()
    with ledger.write() as connection:
        inside.set()
        seen.wait()
        next_change(connection)
        other.join(0.2)  # it cannot come in: nothing is lost if it did not even try yet
        order.append("first")
    other.join()
    assert order == ["first", "second sees 1"]


def test_threads_that_write_at_once_lose_no_update(ledger: Ledger) -> None:
    numbers: list[int] = []

    def count() -> None:
        for _ in range(10):
            with ledger.write() as connection:
                number = next_change(connection)
            numbers.append(number)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 41))


def test_processes_that_write_at_once_lose_no_update(database: Database, ledger: Ledger) -> None:
    actors = [Actor("count", database.state, database.url, 25) for _ in range(2)]
    assert start_together(actors) == [0, 0]
    with ledger.read() as connection:
        assert last_change(connection) == 50


# ---- rows -------------------------------------------------------------------------------------------


def test_upsert_inserts_and_then_takes_the_new_values(ledger: Ledger) -> None:
    with ledger.write() as connection:
        upsert(connection, schema.published, [{"path": "a", "digest": "1", "size": 1}])
        rows = [{"path": path, "digest": "2", "size": 2} for path in ("a", "b")]
        upsert(connection, schema.published, rows)
        upsert(connection, schema.published, [])
    assert everything(ledger, schema.published) == [("a", "2", 2), ("b", "2", 2)]


def test_upsert_keeps_the_columns_that_it_is_told_to_keep(ledger: Ledger) -> None:
    with ledger.write() as connection:
        upsert(connection, schema.published, [{"path": "a", "digest": "1", "size": 1}])
        upsert(connection, schema.published, [{"path": "a", "digest": "2", "size": 2}], keep=["size"])
        upsert(connection, schema.published, [{"path": "b", "digest": "2", "size": 2}], keep=["size"])
    assert everything(ledger, schema.published) == [("a", "2", 1), ("b", "2", 2)]


def test_upsert_leaves_a_known_row_alone_when_told_to_ignore(ledger: Ledger) -> None:
    with ledger.write() as connection:
        upsert(connection, schema.published, [{"path": "a", "digest": "1", "size": 1}])
        rows = [{"path": path, "digest": "2", "size": 2} for path in ("a", "b")]
        upsert(connection, schema.published, rows, ignore=True)
        upsert(
            connection, schema.published, [{"path": "a", "digest": "3", "size": 3}], keep=["digest", "size"]
        )
    assert everything(ledger, schema.published) == [("a", "1", 1), ("b", "2", 2)]


def test_lookups_of_more_rows_than_one_statement_takes_find_all(ledger: Ledger) -> None:
    raws = [f"blake3:{number:064x}" for number in range(1201)]
    assert [len(part) for part in chunks(raws)] == [500, 500, 201]
    with ledger.write() as connection:
        work.request(connection, raws)
        assert set(work.generations(connection, raws)) == set(raws)
        assert work.still_open(connection, raws[:1001]) == raws[:1001]


def test_text_of_any_length_out_of_a_mail_can_be_kept_and_found(ledger: Ledger) -> None:
    names = [long_text(number) for number in range(3)]
    twin = names[0][:-1] + "!"  # differs in its last letter only
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        nodes = [
            node(
                A,
                own_ids=[names[0]],
                refs=[names[1]],
                msg_id=names[0],
                subject_key=names[2],
                date="2026-03-02",
            ),
            node(B, own_ids=[twin], refs=[names[1]], msg_id=twin, subject_key=names[2], date="2026-03-02"),
        ]
        index.put(nodes, [False, True])
        for key, raw in ((names[0], A), (twin, B)):
            row = {"key": key, "raw": raw, "path": "p", "location": 1, "method": "root", "thread": 1}
            upsert(connection, schema.record, [{**row, "unclustered": False}])
        person = {"record": names[0], "email": names[1], "name": names[2], "thread": 1, "internal": False}
        upsert(connection, schema.sighting, [{**person, "domain": twin, "date": None, "subject": names[1]}])
    with ledger.read() as connection:
        index = LedgerThreadIndex(connection)
        assert [n.raw for n in index.naming([names[0]])] == [A]
        assert [n.raw for n in index.naming([names[1]])] == [A, B]
        assert index.nodes([A])[0].msg_id == names[0]
        assert [n.raw for n in index.bucket(names[2], "2026", "2027", 9)] == [B, A]
        assert [n.raw for n in index.waiting([names[2]])] == [B]
        query = select(schema.record.c.raw).where(schema.record.c.key == twin)
        assert connection.scalars(query).all() == [B]


def test_text_in_every_script_comes_back_as_it_was(ledger: Ledger) -> None:
    texts = ["", " x ", "催办 決定", "Ünïcödé 🐉", "a'b\"c\\d%e", "\ttab\nline", "İı", "é"]
    with ledger.write() as connection:
        for number, value in enumerate(texts):
            set_meta(connection, f"text {number}", value)
    with ledger.read() as connection:
        assert [get_meta(connection, f"text {number}") for number in range(len(texts))] == texts


# ---- the work queue ---------------------------------------------------------------------------------


def test_a_request_makes_work_pending_until_it_is_finished(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A, B])
        assert work.pending(connection, "v1") == [A, B]
        assert sorted(work.still_open(connection, [A, B, C])) == [A, B]
        work.finish(connection, work.generations(connection, [A]), "v1")
        assert work.pending(connection, "v1") == [B]
        assert work.still_open(connection, [A, B]) == [B]


def test_a_request_between_reading_and_finishing_is_not_lost(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A, B])
    with ledger.read() as connection:
        seen = work.generations(connection, [A, B])
    with ledger.write() as connection:
        work.request(connection, [A])
    with ledger.write() as connection:
        work.finish(connection, seen, "v1")
        assert work.pending(connection, "v1") == [A]
        work.finish(connection, work.generations(connection, [A]), "v1")
        assert work.pending(connection, "v1") == []


def test_no_request_of_another_process_is_lost_while_work_is_finished(
    database: Database, ledger: Ledger
) -> None:
    times = 30
    with Actor("ask", database.state, database.url, times, A) as asking:
        asking.until_ready()
        asking.go()
        while True:
            with ledger.read() as connection:
                seen = work.generations(connection, [A])
            with ledger.write() as connection:
                work.finish(connection, seen, "v1")
                present = work.generations(connection, [A])
                left = work.still_open(connection, [A])
            assert (left == [A]) == (seen != present)
            assert asking.process.poll() in (None, 0)
            if present.get(A) == times and not left:
                break
        assert asking.wait() == 0


def test_finished_work_is_pending_again_under_another_signature(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A, B])
        work.finish(connection, work.generations(connection, [A]), "v1")
        work.finish(connection, work.generations(connection, [B]), "v2")
        assert work.pending(connection, "v2") == [A]
        assert work.still_open(connection, [A]) == []


def test_a_held_message_is_not_pending_and_a_request_only_refreshes_it(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A])
        work.set_status(connection, [A], "held")
        assert work.pending(connection, "v1") == []
        for _ in range(2):
            work.request(connection, [A])
            assert work.pending(connection, "v1") == []
            assert work.to_refresh(connection) == [A]
        assert work.retry(connection, [A, B]) == 1
        assert work.pending(connection, "v1") == [A]
        assert work.to_refresh(connection) == []


def test_a_retry_between_reading_and_finishing_is_not_lost(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A])
        seen = work.generations(connection, [A])
        work.retry(connection, [A])
        work.finish(connection, seen, "v1")
        assert work.pending(connection, "v1") == [A]


# ---- locations --------------------------------------------------------------------------------------


def place(uid: str, raw: str, **more: str | None) -> dict[str, str | None]:
    """Return the row of a place that was listed."""
    row: dict[str, str | None] = {"folder": "INBOX", "uid": uid, "raw": raw, "stamp": f"stamp of {raw}"}
    return {**row, "locator": f"at {uid}", "internal_date": None, **more}


def test_a_new_place_is_noted_and_asks_for_work(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A), place("2", B, internal_date="2026-03-02")])
        assert work.pending(connection, "") == [A, B]
        known = work.known_locations(connection, "ann", [("INBOX", "1"), ("INBOX", "3"), ("Sent", "1")])
        assert {key: (known[key].raw, known[key].stamp) for key in known} == {
            ("INBOX", "1"): (A, f"stamp of {A}")
        }
        assert work.members_of(connection, "ann", "INBOX") == [
            ("1", "at 1", f"stamp of {A}"),
            ("2", "at 2", f"stamp of {B}"),
        ]
        assert work.known_locations(connection, "bob", [("INBOX", "1")]) == {}


def test_a_place_that_is_seen_again_asks_for_nothing_but_takes_the_new_stamp(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A)])
        work.finish(connection, work.generations(connection, [A]), "")
        before = work.known_locations(connection, "ann", [("INBOX", "1")])
        work.store_locations(connection, "ann", [place("1", A, stamp="touched")])
        after = work.known_locations(connection, "ann", [("INBOX", "1")])
        assert work.pending(connection, "") == []
        assert after[("INBOX", "1")].stamp == "touched"
        assert after[("INBOX", "1")].id == before[("INBOX", "1")].id


def test_a_second_place_of_a_finished_message_asks_for_work_again(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A)])
        work.finish(connection, work.generations(connection, [A]), "")
        work.store_locations(connection, "bob", [place("1", A)])
        assert work.pending(connection, "") == [A]
        places = quarantine.locations_of(connection, [A])[A]
        assert [(one.account, one.folder, one.uid) for one in places] == [
            ("ann", "INBOX", "1"),
            ("bob", "INBOX", "1"),
        ]


def test_a_place_with_other_bytes_is_repointed_and_both_messages_are_worked_on(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A), place("2", C)])
        work.finish(connection, work.generations(connection, [A, C]), "")
        work.store_locations(connection, "ann", [place("1", B)])
        assert work.pending(connection, "") == [A, B]
        assert quarantine.locations_of(connection, [A, B]).keys() == {B}
        assert count_rows(connection, schema.location) == 2


def test_a_place_that_one_batch_names_twice_is_one_place(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A), place("1", A), place("2", A), place("2", B)])
        assert quarantine.locations_of(connection, [A, B]).keys() == {A, B}
        assert work.pending(connection, "") == [A, B]
        assert count_rows(connection, schema.location) == 2


def test_a_container_remembers_which_of_its_places_its_last_listing_held(ledger: Ledger) -> None:
    def uids(connection: Connection) -> list[str]:
        return [uid for uid, _, _ in work.members_of(connection, "ann", "INBOX")]

    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place(uid, A) for uid in "123"])
        work.store_locations(connection, "bob", [place("4", A)])
        known = work.known_locations(connection, "ann", [("INBOX", uid) for uid in "123"])
        ids = {uid: known[("INBOX", uid)].id for uid in "123"}
        assert uids(connection) == ["1", "2", "3"]
        work.note_members(connection, "ann", "INBOX", {ids["3"], ids["1"]})
        assert uids(connection) == ["1", "3"]
        work.note_members(connection, "ann", "INBOX", {ids["2"]})
        assert uids(connection) == ["2"]
        assert [uid for uid, _, _ in work.members_of(connection, "bob", "INBOX")] == ["4"]
        # a place that a container lost is still a place where the message was seen
        assert len(quarantine.locations_of(connection, [A])[A]) == 4


def test_a_message_may_lie_in_several_places_and_is_one_piece_of_work(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place(str(number), A) for number in range(3)])
        assert work.pending(connection, "") == [A]
        assert len(quarantine.locations_of(connection, [A])[A]) == 3


# ---- the thread index -------------------------------------------------------------------------------


def node(raw: str, **more: object) -> Node:
    values: dict[str, object] = {"msg_id": raw[7:12], "identity": raw, "content_hash": raw, **more}
    return Node(raw=raw, **values)  # type: ignore[arg-type]


def raws_of(nodes: list[Node]) -> list[str]:
    return [one.raw for one in nodes]


def test_a_node_comes_back_equal_and_is_found_by_every_id_it_owns_or_names(ledger: Ledger) -> None:
    first = node(A, own_ids=["a@x", "a#1"], refs=["root@x"], subject="Hello", people=["p@x"], tokens=["w"])
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([first, node(B, own_ids=["b@x"], refs=["a@x", "a@x", "root@x"])], [False, False])
        assert index.nodes([B, A, C]) == [first, *index.nodes([B])]
        assert raws_of(index.naming(["a#1"])) == [A]
        assert raws_of(index.naming(["a@x"])) == [A, B]
        assert raws_of(index.naming(["root@x", "b@x"])) == [A, B]
        assert index.naming(["nobody@x"]) == []


def test_ids_are_told_apart_by_case(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([node(A, own_ids=["Id@x"]), node(B, own_ids=["id@x"])], [False, False])
        assert raws_of(index.naming(["id@x"])) == [B]


def test_a_node_that_is_put_again_keeps_its_thread_and_forgets_its_old_ids(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([node(A, own_ids=["a@x"], refs=["old@x"])], [True])
        index.assign([A], 7)
        connection.execute(update(schema.node).values(record="a@x"))
        index.put([node(A, own_ids=["a@x"], refs=["new@x"], subject_key="s")], [False])
        assert index.threads([A]) == {A: 7}
        assert connection.scalars(select(schema.node.c.record)).all() == ["a@x"]
        assert index.naming(["old@x"]) == []
        assert raws_of(index.naming(["new@x"])) == [A]
        assert index.waiting(["s", ""]) == []


def test_a_dropped_node_takes_its_ids_and_its_guesses_along(ledger: Ledger) -> None:
    edges = [edge(B, A), edge(C, B)]
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([node(raw, own_ids=[f"{raw}@x"]) for raw in (A, B, C)], [False] * 3)
        index.put_soft(edges)
        index.drop([B])
        assert raws_of(index.nodes([A, B, C])) == [A, C]
        assert index.naming([f"{B}@x"]) == []
        # the guess that C made stays: C is to be looked at again by who dropped its parent
        assert index.soft_edges([A, B, C]) == [edges[1]]


def test_a_bucket_holds_one_subject_between_two_dates_newest_first(ledger: Ledger) -> None:
    days = {A: "2026-03-01T00:00:00Z", B: "2026-03-02T00:00:00Z", C: "2026-03-02T00:00:00Z", D: None}
    nodes = [node(raw, subject_key="plan", date=date) for raw, date in days.items()]
    other = node(f"blake3:{'e' * 64}", subject_key="other", date="2026-03-02T00:00:00Z")
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        index.put([*nodes, other], [False] * 5)
        every = ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
        assert raws_of(index.bucket("plan", *every, 9)) == [C, B, A]
        assert raws_of(index.bucket("plan", *every, 2)) == [C, B]
        assert raws_of(index.bucket("plan", "2026-03-01T00:00:01Z", "2026-03-02T00:00:00Z", 9)) == [C, B]
        assert raws_of(index.bucket("plan", "2026-03-01T00:00:00Z", "2026-03-01T23:59:59Z", 9)) == [A]
        assert index.bucket("Plan", *every, 9) == []


def test_replies_without_headers_wait_under_their_subject(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        nodes = [node(raw, subject_key=key) for raw, key in ((A, "x"), (B, "y"), (C, "y"))]
        index.put(nodes, [True, False, True])
        assert raws_of(index.waiting(["x", "y", "z"])) == [A, C]
        assert raws_of(index.waiting(["x"])) == [A]
        assert index.waiting([]) == []


def edge(child: str, parent: str, score: float = 0.5) -> SoftEdge:
    return SoftEdge(child=child, parent=parent, tier="subject", score=score, reason="same subject")


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


def test_threads_are_numbered_assigned_and_touched(ledger: Ledger) -> None:
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection, "run-1")
        first, second = index.new_thread(), index.new_thread()
        assert second > first
        index.put([node(raw) for raw in (A, B, C)], [False] * 3)
        index.assign([A, C], first)
        assert index.threads([A, B, C, D]) == {A: first, C: first}
        assert raws_of(index.of_threads([first, second])) == [A, C]
        assert unsettled(connection) == []
        index.touch([second, first])
        index.touch([first])
        assert unsettled(connection) == [(first, 2), (second, 1)]
        rows = connection.execute(
            select(schema.thread.c.id, schema.thread.c.revision, schema.thread.c.created_by)
        )
        assert sorted(rows.all()) == [(first, 2, "run-1"), (second, 1, "run-1")]
        connection.execute(update(schema.thread).where(schema.thread.c.id == first).values(settled=2))
        assert unsettled(connection) == [(second, 1)]
        index.assign([A, C], second)
        assert index.of_threads([first]) == []


# ---- redirects --------------------------------------------------------------------------------------


def rename(connection: Connection, *pairs: str) -> None:
    for pair in pairs:
        old, new = pair.split(">")
        rename_thread(connection, old, new, "rekeyed", "2026-03-02T00:00:00Z")


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


# ---- wanted and published files ---------------------------------------------------------------------


def file(path: str, digest: str) -> WantedFile:
    return WantedFile(path, digest, f"content {digest}".encode())


def test_what_an_owner_wants_replaces_what_it_wanted_before(ledger: Ledger) -> None:
    with ledger.write() as connection:
        assert want(connection, "one", [file("a", "1"), file("b", "1")]) == ["a", "b"]
        assert want(connection, "two", [file("c", "1")]) == ["c"]
        assert want(connection, "one", [file("a", "1"), file("b", "1")]) == []
        assert want(connection, "one", [file("b", "2"), file("d", "1")]) == ["b", "d", "a"]
        assert wanted_rows(connection) == {"b": ("one", "2"), "c": ("two", "1"), "d": ("one", "1")}


def test_a_change_is_counted_only_for_files_that_changed(ledger: Ledger) -> None:
    with ledger.write() as connection:
        want(connection, "one", [file("a", "1"), file("b", "1")])
        first = last_change(connection)
        want(connection, "one", [file("a", "1"), file("b", "1")])
        assert last_change(connection) == first
        want(connection, "one", [file("a", "1"), file("b", "2")])
        changes = connection.execute(select(schema.wanted.c.path, schema.wanted.c.change)).all()
        assert {path: change > first for path, change in changes} == {"a": False, "b": True}


@pytest.mark.parametrize("digest", ["1", "2"])
def test_a_path_passes_to_the_owner_that_wants_it_last(ledger: Ledger, digest: str) -> None:
    with ledger.write() as connection:
        want(connection, "old", [file("a", "1"), file("b", "1")])
        want(connection, "new", [file("a", digest)])
        assert want(connection, "old", []) == ["b"]
        assert wanted_rows(connection) == {"a": ("new", digest)}


def test_two_owners_may_exchange_their_files_in_one_step(ledger: Ledger) -> None:
    with ledger.write() as connection:
        want_all(connection, {"one": [file("a", "1")], "two": [file("b", "1")]})
        want_all(connection, {"one": [file("b", "1")], "two": [file("a", "2")]})
        assert wanted_rows(connection) == {"a": ("two", "2"), "b": ("one", "1")}


def test_differences_name_what_is_to_be_written_and_what_to_be_removed(ledger: Ledger) -> None:
    with ledger.write() as connection:
        want(
            connection, "one", [file("new", "1"), file("same", "1"), file("changed", "2"), file("torn", "1")]
        )
        rows = [("same", "1"), ("changed", "1"), ("torn", ""), ("gone", "1"), ("gone-torn", "")]
        upsert(
            connection, schema.published, [{"path": path, "digest": known, "size": 1} for path, known in rows]
        )
        assert differences(connection) == (["changed", "new", "torn"], ["gone", "gone-torn"])
        assert differences(connection, ["new", "same", "gone", "unknown"]) == (["new"], ["gone"])
        assert differences(connection, []) == ([], [])


# ---- quarantine -------------------------------------------------------------------------------------


def failure(raw: str, detail: str = "no header at all", **more: str) -> Quarantined:
    return Quarantined(key=raw, stage="decode", kind="corrupt_input", detail=detail, **more)


def held(connection: Connection) -> dict[str, tuple[QuarantineFile, bool]]:
    return {row.raw: (row, dismissed) for row, dismissed in quarantine.listing(connection)}


def test_a_held_message_is_out_of_the_queue_and_its_file_says_why(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A), place("2", A)])
        paths = quarantine.hold(connection, [failure(A, remedy="send it again", traceback="line 1")], OLD)
        assert paths == [f"extracted/_failed/{A.removeprefix('blake3:')}.json"]
        assert work.pending(connection, "") == []
        row, dismissed = held(connection)[A]
        assert (row.kind, row.stage, row.detail) == ("corrupt_input", "decode", "no header at all")
        assert (row.remedy, row.traceback, row.tries, dismissed) == ("send it again", "line 1", 1, False)
        assert [one.uid for one in row.locations] == ["1", "2"]
        assert wanted_rows(connection).keys() == set(paths)
        assert quarantine.hold(connection, [], OLD) == []


def test_a_second_failure_counts_a_try_and_keeps_the_day_it_was_first_seen(ledger: Ledger) -> None:
    with ledger.write() as connection:
        quarantine.hold(connection, [failure(A)], OLD)
        connection.execute(update(schema.quarantine).values(first_seen="2026-01-01T00:00:00+00:00"))
        assert quarantine.hold(connection, [failure(A, "another reason")], NEW) != []
        row, _ = held(connection)[A]
        assert (row.tries, row.detail, row.first_seen) == (2, "another reason", "2026-01-01T00:00:00+00:00")


def test_a_new_place_of_a_held_message_refreshes_its_file(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", A)])
        quarantine.hold(connection, [failure(A)], OLD)
        work.store_locations(connection, "bob", [place("9", A)])
        assert work.to_refresh(connection) == [A]
        assert len(quarantine.refresh(connection, work.to_refresh(connection))) == 1
        work.set_status(connection, [A], "held")
        assert [one.account for one in held(connection)[A][0].locations] == ["ann", "bob"]
        assert quarantine.refresh(connection, [A]) == []


def test_a_message_that_got_through_is_released_with_its_file(ledger: Ledger) -> None:
    with ledger.write() as connection:
        paths = quarantine.hold(connection, [failure(A), failure(B)], OLD)
        assert quarantine.release(connection, [A, C]) == [path for path in paths if A[7:] in path]
        assert held(connection).keys() == {B}
        assert wanted_rows(connection).keys() == {path for path in paths if B[7:] in path}
        assert quarantine.release(connection, [A]) == []


def test_a_dismissed_message_stays_and_another_failure_brings_it_back(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A])
        quarantine.hold(connection, [failure(A)], OLD)
        assert quarantine.dismiss(connection, [A, B]) == 1
        assert held(connection)[A][1] is True
        assert quarantine.dismiss(connection, [A], dismissed=False) == 1
        assert held(connection)[A][1] is False
        quarantine.dismiss(connection, [A])
        quarantine.hold(connection, [failure(A)], OLD)
        assert held(connection)[A][1] is False


def test_a_changed_stage_retries_what_it_failed_on_but_not_what_was_dismissed(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A, B, C])
        other = Quarantined(key=C, stage="dequote", kind="defect", detail="KeyError")
        quarantine.hold(connection, [failure(A), failure(B), other], {**OLD, "dequote": "version 1"})
        quarantine.dismiss(connection, [B])
        assert work.retry_changed(connection, {**OLD, "dequote": "version 1"}) == 0
        assert work.retry_changed(connection, {**NEW, "dequote": "version 1"}) == 1
        assert work.pending(connection, "") == [A]


def test_a_failure_of_a_stage_that_is_not_there_any_more_is_not_retried(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.request(connection, [A])
        quarantine.hold(connection, [failure(A)], OLD)
        assert work.retry_changed(connection, {}) == 0


def test_what_no_database_takes_as_text_does_not_stop_a_message_from_being_held(ledger: Ledger) -> None:
    with ledger.write() as connection:
        quarantine.hold(connection, [failure(A, "bad \0 and \ud800", traceback="at \0")], OLD)
        row, _ = held(connection)[A]
        assert row.detail == "bad \N{REPLACEMENT CHARACTER} and ?"
        assert row.traceback == "at \N{REPLACEMENT CHARACTER}"


# ---- what was in flight -----------------------------------------------------------------------------


def test_what_a_dead_run_left_in_flight_becomes_suspect(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.note_inflight(connection, "dead", "batch-1", "message", [A, B])
        work.note_inflight(connection, "dead", "batch-2", "message", [C])
        work.note_inflight(connection, "alive", "batch-3", "message", [D])
        work.collect_suspects(connection, ["dead", "unknown"])
        assert work.suspects(connection) == {A: 0, B: 0, C: 1}
        assert everything_in(connection, schema.inflight.c.run_id) == ["alive"]


def test_each_run_that_dies_on_a_message_alone_is_counted(ledger: Ledger) -> None:
    with ledger.write() as connection:
        for number in range(3):
            work.note_inflight(connection, f"run-{number}", "batch", "message", [A])
            work.collect_suspects(connection, [f"run-{number}"])
        work.note_inflight(connection, "run-9", "batch", "message", [A, B])
        work.collect_suspects(connection, ["run-9"])
        assert work.suspects(connection) == {A: 3, B: 0}
        work.acquit(connection, [A, C])
        assert work.suspects(connection) == {B: 0}


def test_a_batch_that_ended_is_in_flight_no_more(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.note_inflight(connection, "run", "batch-1", "message", [A])
        work.note_inflight(connection, "run", "batch-1", "message", [A, B])
        work.note_inflight(connection, "run", "batch-2", "message", [C])
        work.clear_inflight(connection, "run", "batch-1")
        work.collect_suspects(connection, ["run"])
        assert work.suspects(connection) == {C: 1}


# ---- leases -----------------------------------------------------------------------------------------


def lease_row(ledger: Ledger) -> tuple[int, str, float]:
    with ledger.read() as connection:
        row = connection.execute(select(schema.lease)).one()
    return row.token, row.run_id, row.heartbeat


def test_each_holder_of_a_mailbox_gets_a_higher_token(database: Database, ledger: Ledger) -> None:
    for number in (1, 2, 3):
        lease = take_lease(database.state, ledger, "ann", f"run-{number}")
        token, run_id, heartbeat = lease_row(ledger)
        assert (token, run_id, lease.token) == (number, f"run-{number}", number)
        assert heartbeat > 0
        lease.release()
        assert lease_row(ledger)[2] == 0


def test_a_mailbox_that_another_host_holds_is_refused_until_its_heartbeat_is_old(
    database: Database, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.leases.time.time", lambda: 1_000_000.0)
    row = {"account": "ann", "token": 4, "run_id": "run-far", "host": "elsewhere.example", "pid": 99}
    with ledger.write() as connection:
        upsert(connection, schema.lease, [{**row, "heartbeat": 1_000_000.0 - STALE_SECONDS + 1}])
    with pytest.raises(MailboxBusy, match=r"held by run run-far \(process 99 on elsewhere\.example\)"):
        take_lease(database.state, ledger, "ann", "run-near")
    take_lease(database.state, ledger, "bob", "run-near").release()
    with ledger.write() as connection:
        upsert(connection, schema.lease, [{**row, "heartbeat": 1_000_000.0 - STALE_SECONDS - 1}])
    lease = take_lease(database.state, ledger, "ann", "run-near")
    assert lease.token == 5
    lease.release()


def test_the_heartbeat_of_a_holder_that_lost_the_mailbox_changes_nothing(
    database: Database, ledger: Ledger
) -> None:
    lease = take_lease(database.state, ledger, "ann", "run-1")
    with ledger.write() as connection:
        connection.execute(update(schema.lease).values(token=9, run_id="run-2", heartbeat=5.0))
    lease.release()
    assert lease_row(ledger) == (9, "run-2", 5.0)


# ---- workers ----------------------------------------------------------------------------------------


def test_a_worker_joins_the_ledger_of_a_run_without_the_owner_check(
    database: Database, ledger: Ledger
) -> None:
    with ledger.write() as connection:
        set_meta(connection, "note", "for the worker")
    joined = connect_ledger(database.state, database.url)
    with joined.read() as connection:
        assert get_meta(connection, "note") == "for the worker"
    joined.close()


# ---- reading what is there --------------------------------------------------------------------------


def everything(ledger: Ledger, table: Table) -> list[tuple[object, ...]]:
    with ledger.read() as connection:
        return sorted(tuple(row) for row in connection.execute(select(table)))


def everything_in(connection: Connection, column: Column[str]) -> list[str]:
    return sorted(connection.scalars(select(column)))


def wanted_rows(connection: Connection) -> dict[str, tuple[str, str]]:
    rows = connection.execute(text("SELECT path, owner, digest FROM wanted"))
    return {path: (owner, digest) for path, owner, digest in rows}
