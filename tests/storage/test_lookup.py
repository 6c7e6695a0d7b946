"""A message or thread is found by whatever a person has in hand, on either database."""

from __future__ import annotations

import msgspec
import pytest
from databases import A, B, C, place
from sqlalchemy import Connection
from test_ledger_threads import node

from models.batch import Quarantined
from models.email import Email
from models.errors import UsageError
from models.thread import ThreadFile
from storage import quarantine, work
from storage.files import WantedFile, want
from storage.ledger import Ledger
from storage.lookup import Found, find_message, is_held, read_email, read_thread
from storage.records import RecordRow, replace_records
from storage.thread_index import LedgerThreadIndex, rename_thread

PATH = "extracted/2026-03/thr-1/a%2F1@x.json"
FOUND = Found("a/1@x", PATH, A)
THREAD = ThreadFile(
    thread_id="thr-1", subject="Plan", first_date=None, last_date=None, participants=[], members=[]
)


def fill(connection: Connection) -> None:
    """Store a finished message with a second copy, and one that is held."""
    places = [place("INBOX/1.eml", A), place("INBOX/2.eml", B), place("INBOX/3.eml", C), place("ff00ff00", C)]
    work.store_locations(connection, "ann", places)
    LedgerThreadIndex(connection).put([node(A), node(B)])
    replace_records(connection, [1], [RecordRow("a/1@x", 1, A, PATH, "root", False, (A, B))], [])
    failure = Quarantined(key=C, stage="decode", kind="corrupt_input", detail="an empty file")
    quarantine.hold(connection, [failure], {})
    want(connection, "thread:1", [WantedFile("threads/thr-1.json", "1", msgspec.json.encode(THREAD))])
    rename_thread(connection, "thr-0", "thr-1", "rekeyed", "2026-03-02T00:00:00Z")


@pytest.mark.parametrize(
    "name",
    [
        "a/1@x",
        "<a/1@x>",
        "  <a/1@x>\n",
        PATH,
        f"/home/ann/state/{PATH}",
        A,
        A.removeprefix("blake3:"),
        "aaaaaaaa",
        "blake3:aaaaaaaa",
        B,
        "INBOX/1.eml",
        "INBOX/2.eml",
    ],
)
def test_a_message_is_found_by_its_id_its_file_its_hash_or_a_place_of_any_copy(
    ledger: Ledger, name: str
) -> None:
    with ledger.write() as connection:
        fill(connection)
        assert find_message(connection, name) == FOUND


@pytest.mark.parametrize("name", [C, "cccccccc", "INBOX/3.eml", "ff00ff00"])
def test_a_held_message_is_found_with_the_file_that_says_why(ledger: Ledger, name: str) -> None:
    with ledger.write() as connection:
        fill(connection)
        found = find_message(connection, name)
        assert found == Found(None, f"extracted/_failed/{C.removeprefix('blake3:')}.json", C)
        assert (is_held(connection, found.raw), is_held(connection, A)) == (True, False)
        assert read_email(connection, found) is None
        with pytest.raises(UsageError, match="is in no thread: it is quarantined or pending"):
            read_thread(connection, name)


@pytest.mark.parametrize(
    "name", ["nobody@x", "aaaaaaa", "A/1@X", "%", "_" * 8, "", "'; DROP TABLE record; --"]
)
def test_a_name_that_fits_nothing_is_a_usage_error(ledger: Ledger, name: str) -> None:
    with ledger.write() as connection:
        fill(connection)
        with pytest.raises(UsageError, match="no message") as unknown:
            find_message(connection, name)
        assert unknown.value.remedy


def test_a_name_that_fits_several_messages_asks_for_more(ledger: Ledger) -> None:
    with ledger.write() as connection:
        work.store_locations(connection, "ann", [place("1", f"blake3:{'a' * 63}0"), place("2", A)])
        with pytest.raises(UsageError, match="`aaaaaaaa` fits 2 messages"):
            find_message(connection, "aaaaaaaa")


def test_a_thread_is_read_by_its_present_and_its_old_id(ledger: Ledger) -> None:
    with ledger.write() as connection:
        fill(connection)
        assert read_thread(connection, "thr-1") == read_thread(connection, "thr-0") == THREAD
        with pytest.raises(UsageError, match="no thread `thr-9` is known"):
            read_thread(connection, "thr-9")


def test_the_email_is_read_from_the_ledger_and_not_from_the_disk(ledger: Ledger) -> None:
    with ledger.write() as connection:
        fill(connection)
        assert read_email(connection, FOUND) is None  # not settled yet
        want(connection, "one", [WantedFile(PATH, "1", b'{"msg_id": "a/1@x"}')])
        with pytest.raises(msgspec.ValidationError):
            read_email(connection, FOUND)  # it is checked against the record
        assert msgspec.json.schema(Email)
