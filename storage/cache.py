"""The record cache: what a stage made of a message, by a key over everything it depends on.

Deleting `cache.db` changes no output byte; a missing or damaged row is a miss.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from blake3 import blake3

from storage.blobs import compress, decompress
from storage.durable import make_private
from storage.ledger import chunks

_BUSY_SECONDS = 30.0
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SEAL_BYTES = 8


class RecordCache:
    """A key-value store in SQLite, safe for several processes; never raises on a damaged or locked file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = self._open()

    def _open(self) -> sqlite3.Connection | None:
        for _ in range(2):
            connection = None
            try:
                make_private(self.path)  # before SQLite: its -wal and -shm take the same rights
                connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS record (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
                )
                return connection
            except (sqlite3.Error, OSError) as error:
                if connection is not None:
                    connection.close()
                if getattr(error, "sqlite_errorcode", None) not in _DAMAGED:
                    return None  # locked by another process, no rights, full disk: do without
                for suffix in ("", "-wal", "-shm"):  # not a database any more: start an empty one
                    with contextlib.suppress(OSError):
                        Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        return None

    def get_all(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that are there."""
        found: dict[bytes, bytes] = {}
        if self.connection is None:
            return found
        for part in chunks(keys):
            marks = ",".join("?" * len(part))
            try:
                rows = self.connection.execute(
                    f"SELECT key, value FROM record WHERE key IN ({marks})", part
                ).fetchall()
            except sqlite3.Error:  # locked, or damaged: misses
                continue
            asked = set(part)  # a damaged index gives rows that nobody asked for
            found.update((key, _unseal(value)) for key, value in rows if key in asked and _is_whole(value))
        return found

    def put_all(self, values: Mapping[bytes, bytes]) -> None:
        """Store values; a failure (full disk, lock) only costs later hits."""
        if self.connection is None or not values:
            return
        rows: Sequence[tuple[bytes, bytes]] = [(key, _seal(value)) for key, value in sorted(values.items())]
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany("INSERT OR REPLACE INTO record VALUES (?, ?)", rows)
            self.connection.execute("COMMIT")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        if self.connection is not None:
            self.connection.close()


def _seal(value: bytes) -> bytes:
    packed = compress(value)
    return blake3(packed).digest(length=_SEAL_BYTES) + packed


def _is_whole(row: object) -> bool:
    """Return whether a row is as it was written: SQLite does not notice damage inside one."""
    return (
        isinstance(row, bytes) and blake3(row[_SEAL_BYTES:]).digest(length=_SEAL_BYTES) == row[:_SEAL_BYTES]
    )


def _unseal(row: bytes) -> bytes:
    return decompress(row[_SEAL_BYTES:])
