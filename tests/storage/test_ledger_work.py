"""The work queue, the places of messages and what was in flight, whichever database keeps them."""

from __future__ import annotations

from actors import Actor
from databases import A, B, C, D, Database, everything_in, place
from sqlalchemy import Connection

from storage import quarantine, schema, work
from storage.ledger import Ledger, count_rows

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


# ---- what was in flight -----------------------------------------------------------------------------


def test_what_a_dead_run_left_in_flight_becomes_suspect(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.note_inflight(connection, "dead", "batch-1", "message", [A, B])
        work.note_inflight(connection, "dead", "batch-2", "message", [C])
        work.note_inflight(connection, "alive", "batch-3", "message", [D])
        work.collect_suspects(connection, ["dead", "unknown"])
        assert work.suspects(connection) == {A, B, C}
        assert everything_in(connection, schema.inflight.c.run_id) == ["alive"]


def test_a_suspect_stays_one_until_it_got_through_however_many_runs_die(ledger: Ledger) -> None:
    with ledger.write() as connection:
        for number in range(5):
            work.note_inflight(connection, f"run-{number}", "batch", "message", [A])
            work.collect_suspects(connection, [f"run-{number}"])
        work.note_inflight(connection, "run-9", "batch", "message", [A, B])
        work.collect_suspects(connection, ["run-9"])
        assert work.suspects(connection) == {A, B}
        work.acquit(connection, [A, C])
        assert work.suspects(connection) == {B}


def test_a_batch_that_ended_is_in_flight_no_more(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.note_inflight(connection, "run", "batch-1", "message", [A])
        work.note_inflight(connection, "run", "batch-1", "message", [A, B])
        work.note_inflight(connection, "run", "batch-2", "message", [C])
        work.clear_inflight(connection, "run", "batch-1")
        work.collect_suspects(connection, ["run"])
        assert work.suspects(connection) == {C}
