"""Wanted and published files and the quarantine, whichever database keeps them."""

from __future__ import annotations

import pytest
from databases import A, B, C, place, wanted_rows
from sqlalchemy import Connection, select, update

from models.batch import Quarantined
from models.report import QuarantineFile
from storage import quarantine, schema, work
from storage.files import WantedFile, differences, want, want_all
from storage.ledger import Ledger, last_change, upsert

OLD, NEW = {"decode": "version 1"}, {"decode": "version 2"}


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


def test_a_dismissed_message_has_no_file_even_when_a_new_place_of_it_is_found(ledger: Ledger) -> None:
    with ledger.write() as connection:
        paths = quarantine.hold(connection, [failure(A)], OLD)
        quarantine.dismiss(connection, [A])
        assert quarantine.refresh(connection, [A]) == paths
        assert wanted_rows(connection) == {}
        quarantine.dismiss(connection, [A], dismissed=False)
        assert quarantine.refresh(connection, [A]) == paths
        assert wanted_rows(connection).keys() == set(paths)


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
