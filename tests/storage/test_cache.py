"""The record cache can lose everything and costs only time: whatever is wrong with it is a miss."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from actors import Actor
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.cache import RecordCache

KEYS = [blake3(f"key {number}".encode()).digest(length=16) for number in range(600)]
VALUES = {key: f"value {number} ".encode() * 30 for number, key in enumerate(KEYS)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


def filled(path: Path) -> Path:
    cache = RecordCache(path)
    cache.put_all(VALUES)
    cache.close()
    return path


def stored(path: Path) -> dict[bytes, bytes]:
    """Return what a new cache on `path` finds; it also has to take values as if nothing were wrong."""
    cache = RecordCache(path)
    found = cache.get_all(VALUES)
    cache.put_all({b"another": b"value"})
    cache.close()
    return found


def test_values_are_found_by_a_later_process(path: Path) -> None:
    assert stored(filled(path)) == VALUES


def test_only_what_was_asked_for_and_is_there_comes_back(path: Path) -> None:
    cache = RecordCache(filled(path))
    assert cache.get_all([KEYS[1], b"unknown"]) == {KEYS[1]: VALUES[KEYS[1]]}
    assert cache.get_all([]) == {}


def test_a_value_that_is_put_again_is_replaced(path: Path) -> None:
    cache = RecordCache(filled(path))
    cache.put_all({KEYS[1]: b"new"})
    cache.put_all({})
    assert cache.get_all([KEYS[1]]) == {KEYS[1]: b"new"}


def test_two_caches_on_one_file_see_each_others_values(path: Path) -> None:
    one, two = RecordCache(path), RecordCache(path)
    one.put_all({b"a": b"1"})
    two.put_all({b"b": b"2"})
    assert one.get_all([b"a", b"b"]) == two.get_all([b"a", b"b"]) == {b"a": b"1", b"b": b"2"}


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database " * 300, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["empty", "another format", "a header and rubbish"],
)
def test_a_file_that_is_no_database_is_replaced_by_a_working_cache(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert stored(path) == {}
    assert stored(filled(path)) == VALUES


def test_a_cache_that_was_cut_short_is_misses(path: Path) -> None:
    filled(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])
    assert stored(path).items() <= VALUES.items()


def test_a_deleted_cache_is_misses(path: Path) -> None:
    filled(path).unlink()
    assert stored(path) == {}


def test_a_cache_that_is_deleted_while_it_is_open_does_no_harm(path: Path) -> None:
    cache = RecordCache(filled(path))
    for file in path.parent.glob("cache.db*"):
        file.unlink()
    assert cache.get_all(VALUES).items() <= VALUES.items()
    cache.put_all({b"a": b"1"})
    cache.close()
    assert stored(path).items() <= VALUES.items()


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=30))
def test_damaged_bytes_are_misses_and_never_another_value(path: Path, flips: list[tuple[float, int]]) -> None:
    for file in path.parent.glob("cache.db*"):
        file.unlink()
    data = bytearray(filled(path).read_bytes())
    for where, bit in flips:
        data[int(where * len(data))] ^= 1 << bit
    path.write_bytes(data)
    assert stored(path).items() <= VALUES.items()


@pytest.mark.parametrize("bit", [0, 5])
def test_one_wrong_bit_in_a_row_is_a_miss_of_that_row_alone(path: Path, bit: int) -> None:
    connection = sqlite3.connect(filled(path))
    cache = RecordCache(path)
    row = connection.execute("SELECT value FROM record WHERE key = ?", (KEYS[5],)).fetchone()[0]
    for position in range(len(row)):
        damaged = bytearray(row)
        damaged[position] ^= 1 << bit
        connection.execute("UPDATE record SET value = ? WHERE key = ?", (bytes(damaged), KEYS[5]))
        connection.commit()
        assert cache.get_all(KEYS[:9]) == {key: VALUES[key] for key in KEYS[:9] if key != KEYS[5]}
    connection.close()


def test_a_table_of_another_program_is_misses(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE record (something TEXT)")
    connection.close()
    assert stored(path) == {}


def test_a_cache_that_another_process_locks_is_misses_and_is_not_thrown_away(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.cache._BUSY_SECONDS", 0.05)
    open_before = RecordCache(filled(path))
    inode = path.stat().st_ino
    open_before.close()
    with Actor("lock_cache", path) as actor:
        actor.until_ready()
        assert stored(path) == {}
        actor.go()
        assert actor.wait() == 0
    assert path.stat().st_ino == inode
    assert stored(path) == VALUES


def test_a_cache_that_cannot_be_made_is_misses(tmp_path: Path) -> None:
    (tmp_path / "cache.db").mkdir()
    assert stored(tmp_path / "cache.db") == {}
    assert stored(tmp_path / "no such folder" / "cache.db") == {}
