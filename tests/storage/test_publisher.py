"""The publisher makes the files match the ledger, whatever stopped it before and whoever else is at work."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from actors import Actor, start_together
from sqlalchemy import select

from models.errors import Transient
from storage import schema
from storage.blobs import decompress
from storage.durable import TEMP_MARK
from storage.files import Publisher, WantedFile, differences, want, want_all
from storage.ledger import Ledger, upsert

POINTS = ("publish-noted", "publish-written", "publish-renamed", "publish-removed")
FIRST = {
    "extracted/2026-03/thr-a/1.json": "one",
    "extracted/2026-03/thr-a/2.json": "two",
    "extracted/2026-04/thr-b/3.json": "three",
    "threads/thr-a.json": "thread a",
    "people/_to_merge.json": "merges",
}
THEN = {
    "extracted/2026-03/thr-a/1.json": "one, rewritten",
    "extracted/2026-03/thr-a/2.json": "two",
    "extracted/2026-05/thr-c/3.json": "three, under its new thread",
    "threads/thr-a.json": "thread A",  # of the same size
    "customers/UNCLASSIFIED-x.example.json": "candidate",
}


def files(contents: dict[str, str]) -> list[WantedFile]:
    return [WantedFile(path, f"digest of {text}", text.encode()) for path, text in contents.items()]


def wish(ledger: Ledger, contents: dict[str, str], owner: str = "all") -> list[str]:
    with ledger.write() as connection:
        return want(connection, owner, files(contents))


def on_disk(state: Path) -> dict[str, str]:
    """Return every file below the four trees, temporary ones too."""
    trees = ("extracted", "threads", "people", "customers")
    found = [path for tree in trees for path in (state / tree).rglob("*") if path.is_file()]
    return {path.relative_to(state).as_posix(): path.read_text() for path in found}


def folders(state: Path) -> set[str]:
    return {path.relative_to(state).as_posix() for path in (state / "extracted").rglob("*") if path.is_dir()}


def assert_files_equal_the_table(state: Path, ledger: Ledger) -> None:
    with ledger.read() as connection:
        wanted = connection.execute(
            select(schema.wanted.c.path, schema.wanted.c.digest, schema.wanted.c.content)
        )
        rows = {path: (digest, decompress(content)) for path, digest, content in wanted}
        published = connection.execute(select(schema.published))
        notes = {row.path: (row.digest, row.size) for row in published}
        assert differences(connection) == ([], [])
    assert on_disk(state) == {path: content.decode() for path, (_, content) in rows.items()}
    assert notes == {path: (digest, len(content)) for path, (digest, content) in rows.items()}


@pytest.fixture
def publisher(state: Path, sqlite_ledger: Ledger) -> Publisher:
    return Publisher(state, sqlite_ledger)


def test_files_are_written_rewritten_and_removed_as_the_table_says(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    for contents in (FIRST, THEN, {}):
        publisher.publish(wish(sqlite_ledger, contents))
        assert on_disk(state) == contents
        assert_files_equal_the_table(state, sqlite_ledger)


def test_a_file_that_did_not_change_is_not_touched(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    same = state / "extracted/2026-03/thr-a/2.json"
    before = same.stat()
    publisher.publish(wish(sqlite_ledger, THEN))
    publisher.publish()
    publisher.start()
    after = same.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_publishing_some_paths_leaves_the_others_for_later(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    wish(sqlite_ledger, FIRST)
    publisher.publish(["threads/thr-a.json", "nobody/knows.json"])
    assert on_disk(state) == {"threads/thr-a.json": "thread a"}
    publisher.publish([])
    assert on_disk(state) == {"threads/thr-a.json": "thread a"}
    publisher.publish()
    assert on_disk(state) == FIRST


@pytest.mark.parametrize("point", POINTS)
def test_after_a_crash_at_any_point_starting_again_makes_files_and_table_equal(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, point: str
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    wish(sqlite_ledger, THEN)
    with Actor("publish", state, crash_at=f"{point}:1") as actor:
        assert actor.wait() == -signal.SIGKILL
    with sqlite_ledger.read() as connection:
        assert differences(connection) != ([], [])  # it died in the middle
    publisher.start()
    assert on_disk(state) == THEN
    assert_files_equal_the_table(state, sqlite_ledger)
    assert "extracted/2026-04" not in folders(state)


@pytest.mark.parametrize("point", POINTS)
def test_what_is_wanted_after_a_crash_wins_over_what_was_being_written(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, point: str
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    wish(sqlite_ledger, THEN)
    with Actor("publish", state, crash_at=f"{point}:1") as actor:
        assert actor.wait() == -signal.SIGKILL
    assert any(path.endswith(TEMP_MARK) for path in on_disk(state)) == (point == "publish-written")
    wish(sqlite_ledger, FIRST)
    publisher.start()
    assert on_disk(state) == FIRST
    assert_files_equal_the_table(state, sqlite_ledger)


def test_a_deleted_file_and_a_deleted_tree_come_back_to_the_byte(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    (state / "people/_to_merge.json").unlink()
    shutil.rmtree(state / "extracted")
    shutil.rmtree(state / "threads")
    publisher.start()
    assert on_disk(state) == FIRST
    assert_files_equal_the_table(state, sqlite_ledger)


def test_a_file_of_another_size_is_written_again(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    (state / "threads/thr-a.json").write_text("somebody's edit")
    publisher.start()
    assert on_disk(state) == FIRST


def test_temporary_files_are_cleaned_and_what_people_keep_there_is_not(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    (state / f"threads/.thr-a.json.1-1{TEMP_MARK}").write_text("half")
    (state / f"extracted/2026-03/thr-a/.x{TEMP_MARK}").write_text("half")
    (state / "people/aliases.json").write_text("[]")
    (state / "extracted/notes.txt").write_text("mine")
    publisher.start()
    assert on_disk(state) == {**FIRST, "people/aliases.json": "[]", "extracted/notes.txt": "mine"}


def test_folders_that_became_empty_go_and_the_trees_stay(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    assert folders(state) >= {"extracted/2026-03/thr-a", "extracted/2026-04/thr-b"}
    (state / "extracted/2026-03/thr-a/mine.txt").write_text("mine")
    publisher.publish(wish(sqlite_ledger, {}))
    assert folders(state) == {"extracted/2026-03", "extracted/2026-03/thr-a"}
    assert (state / "threads").is_dir()


def test_the_parent_of_a_folder_that_somebody_removed_goes_too(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    shutil.rmtree(state / "extracted/2026-04/thr-b")
    publisher.publish(wish(sqlite_ledger, {}))
    assert folders(state) == set()


def test_names_that_are_alike_for_a_hundred_letters_do_not_meet(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    contents = {f"extracted/2026-03/thr-a/{'x' * 110}{number}.json": f"mail {number}" for number in range(3)}
    publisher.publish(wish(sqlite_ledger, contents))
    assert on_disk(state) == contents


def test_more_files_than_one_step_takes_are_all_published(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.files._STEP", 3)
    contents = {f"extracted/2026-03/thr-{number % 2}/{number}.json": str(number) for number in range(10)}
    publisher.publish(wish(sqlite_ledger, contents))
    assert on_disk(state) == contents
    publisher.publish(wish(sqlite_ledger, {}))
    assert on_disk(state) == {}
    assert_files_equal_the_table(state, sqlite_ledger)


def test_a_file_that_moves_to_another_thread_is_there_once(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    with sqlite_ledger.write() as connection:
        old, new = {"extracted/2026-03/thr-b/1.json": "b"}, {"extracted/2026-03/thr-a/1.json": "a"}
        want_all(connection, {"thread:1": files(new), "thread:2": files(old)})
    publisher.publish()
    with sqlite_ledger.write() as connection:
        changed = want_all(
            connection, {"thread:1": files({**new, "extracted/2026-03/thr-a/2.json": "b"}), "thread:2": []}
        )
    publisher.publish(changed)
    assert on_disk(state) == {"extracted/2026-03/thr-a/1.json": "a", "extracted/2026-03/thr-a/2.json": "b"}
    assert folders(state) == {"extracted/2026-03", "extracted/2026-03/thr-a"}


def test_two_publishers_at_once_end_in_the_files_of_the_table(state: Path, sqlite_ledger: Ledger) -> None:
    actors: Sequence[Actor] = [Actor("author", state, owner, 12) for owner in ("one", "two")]
    assert start_together(actors) == [0, 0]
    assert_files_equal_the_table(state, sqlite_ledger)
    # their last words: round 11, the shared file included
    assert on_disk(state)["threads/one-1.json"] == "one 11"
    assert on_disk(state)["threads/both.json"] in {"one 11", "two 11"}


def test_a_publisher_waits_for_one_that_is_at_work(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish(sqlite_ledger, FIRST)
    asked, real = threading.Event(), fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        asked.set()
        real(descriptor, operation)

    other = threading.Thread(target=Publisher(state, sqlite_ledger).publish)
    with publisher._lock():
        monkeypatch.setattr("storage.files.fcntl.flock", flock)
        other.start()
        assert asked.wait(60)
        other.join(0.2)
        assert on_disk(state) == {}
    other.join()
    assert on_disk(state) == FIRST


@pytest.mark.parametrize("contents", [FIRST, {}])
def test_a_tree_that_cannot_be_read_or_written_is_an_error_to_try_again_later(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, contents: dict[str, str]
) -> None:
    wish(sqlite_ledger, contents)
    (state / "extracted").write_text("not a folder")
    with pytest.raises(Transient, match=r"publishing under .* failed: Not a directory") as refused:
        publisher.start()
    assert refused.value.remedy
    (state / "extracted").unlink()
    publisher.start()
    assert on_disk(state) == contents


def test_a_full_disk_leaves_the_old_files_and_the_next_start_finishes(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.publish(wish(sqlite_ledger, FIRST))
    wish(sqlite_ledger, THEN)
    real, calls = os.write, 0

    def full(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr("storage.durable.os.write", full)
    with pytest.raises(Transient, match="No space left on device"):
        publisher.publish()
    monkeypatch.undo()
    texts = {path: text for path, text in on_disk(state).items() if not path.endswith(TEMP_MARK)}
    assert texts == FIRST
    publisher.start()
    assert on_disk(state) == THEN
    assert_files_equal_the_table(state, sqlite_ledger)


def test_a_note_of_a_file_that_nobody_wants_any_more_is_cleared(
    state: Path, sqlite_ledger: Ledger, publisher: Publisher
) -> None:
    with sqlite_ledger.write() as connection:
        upsert(connection, schema.published, [{"path": "threads/never.json", "digest": "", "size": -1}])
    publisher.start()
    assert_files_equal_the_table(state, sqlite_ledger)
