"""What every ledger must do, whichever database keeps it: each test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading

import pytest
from actors import Actor, start_together
from databases import TENANT, Database, everything
from sqlalchemy import insert, select, update

from models.errors import MailboxBusy, Transient, UsageError
from storage import schema, work
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


def test_text_in_every_script_comes_back_as_it_was(ledger: Ledger) -> None:
    texts = ["", " x ", "催办 決定", "Ünïcödé 🐉", "a'b\"c\\d%e", "\ttab\nline", "İı", "é"]
    with ledger.write() as connection:
        for number, value in enumerate(texts):
            set_meta(connection, f"text {number}", value)
    with ledger.read() as connection:
        assert [get_meta(connection, f"text {number}") for number in range(len(texts))] == texts


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
