"""Other processes for the tests: `python actors.py NAME ARGUMENT…` does one thing to a state folder.

An actor that has to wait prints `ready` and reads a line.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from storage import work
from storage.blobs import LocalBlobs
from storage.files import Publisher, WantedFile, want
from storage.leases import take_lease
from storage.ledger import Ledger, connect_ledger, next_change, open_ledger
from storage.runs import RunLock

ROOT = Path(__file__).resolve().parents[2]


class Actor:
    """An actor that was started. Leaving the context ends it."""

    def __init__(self, name: str, *arguments: str | Path | int | None, crash_at: str | None = None) -> None:
        words = [sys.executable, __file__, name, *("" if one is None else str(one) for one in arguments)]
        variables = {"ATLAS_CRASH_AT": crash_at} if crash_at else {}
        self.process = subprocess.Popen(
            words,
            env={"PYTHONPATH": str(ROOT), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.wait()

    def until_ready(self) -> None:
        assert _stream(self.process.stdout).readline() == "ready\n", f"exit {self.process.wait()}"

    def go(self) -> None:
        _stream(self.process.stdin).write("go\n")
        _stream(self.process.stdin).flush()

    def wait(self) -> int:
        """Return the exit code once it ended (negative: a signal)."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                stream.close()
        return self.process.wait()


def start_together(actors: Sequence[Actor]) -> list[int]:
    """Let actors that are ready go at the same moment; returns their exit codes."""
    for actor in actors:
        actor.until_ready()
    for actor in actors:
        actor.go()
    return [actor.wait() for actor in actors]


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def _open(state: str, url: str) -> Ledger:
    return open_ledger(Path(state), url or None, "acme")


def open_once(state: str, url: str) -> None:
    """Open the ledger, perhaps as the first of all."""
    _ready()
    _open(state, url).close()


def count(state: str, url: str, times: str) -> None:
    """Raise the change counter `times` times, each in a transaction of its own."""
    ledger = connect_ledger(Path(state), url or None)
    _ready()
    for _ in range(int(times)):
        with ledger.write() as connection:
            next_change(connection)


def ask(state: str, url: str, times: str, raw: str) -> None:
    """Ask for work on one message `times` times."""
    ledger = connect_ledger(Path(state), url or None)
    _ready()
    for _ in range(int(times)):
        with ledger.write() as connection:
            work.request(connection, [raw])


def publish(state: str) -> None:
    """Publish everything that is wanted."""
    Publisher(Path(state), _open(state, "")).publish()


def author(state: str, owner: str, rounds: str) -> None:
    """Want other files each round and publish them, some of them in folders that others use too."""
    ledger = _open(state, "")
    publisher = Publisher(Path(state), ledger)
    _ready()
    for number in range(int(rounds)):
        files = [
            _file(f"extracted/2026-0{number % 4 + 1}/thr-{number % 3}/{owner}.json", f"{owner} {number}"),
            _file(f"threads/{owner}-{number % 5}.json", f"{owner} {number}"),
        ]
        if number % 2:
            files.append(_file("threads/both.json", f"{owner} {number}"))
        with ledger.write() as connection:
            changed = want(connection, owner, files)
        publisher.publish(changed)


def _file(path: str, text: str) -> WantedFile:
    return WantedFile(path, text, text.encode())


def store_blobs(folder: str, count: str) -> None:
    """Store some blobs."""
    LocalBlobs(Path(folder)).put_all([f"blob {number}".encode() for number in range(int(count))])


def hold_lease(state: str, account: str) -> None:
    """Take a mailbox and wait."""
    take_lease(Path(state), _open(state, ""), account, "run-elsewhere")
    _ready()


def hold_run(state: str, run_id: str) -> None:
    """Be a run that is alive, and wait."""
    RunLock(Path(state), run_id)
    _ready()


def lock_cache(path: str) -> None:
    """Keep everybody else out of a SQLite file, and wait."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    _ready()
    connection.execute("ROLLBACK")


ACTORS: dict[str, Callable[..., None]] = {
    one.__name__: one
    for one in (open_once, count, ask, publish, author, store_blobs, hold_lease, hold_run, lock_cache)
}

if __name__ == "__main__":
    ACTORS[sys.argv[1]](*sys.argv[2:])
