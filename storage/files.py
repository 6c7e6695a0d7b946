"""Wanted files, and the publisher that makes the disk match them.

A stage never writes a file of `extracted/`, `threads/`, `people/` or `customers/`: it says in the ledger what
shall be there, in the same transaction that changes the truth. The publisher does the rest, under one lock
per state root: it notes the paths it will touch, writes temp + fsync + rename, notes the digests, removes
last. Starting a run is running the publisher; there is no other recovery.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, or_, select

from storage.blobs import compress, decompress
from storage.durable import TEMP_MARK, move_all, open_lock, sync_folder, transient_disk, write_temps
from storage.faults import passing
from storage.ledger import Ledger, chunks, next_change, upsert
from storage.schema import published, wanted

_STEP = 500  # files per note in the ledger
_TREES = ("extracted", "threads", "people", "customers")


@dataclass(frozen=True)
class WantedFile:
    """A file that shall be there: path relative to the state root, digest (without times), bytes."""

    path: str
    digest: str
    content: bytes


def want(connection: Connection, owner: str, files: Sequence[WantedFile]) -> list[str]:
    """Make `files` all that `owner` wants; returns the paths that changed (new, other content, or gone)."""
    return want_all(connection, {owner: files})


def want_all(connection: Connection, files: dict[str, Sequence[WantedFile]]) -> list[str]:
    """As `want`, for several owners at once. A path that another owner held passes to the new one."""
    table = wanted.c
    before: dict[str, tuple[str, str]] = {}
    for part in chunks(sorted(files)):
        for path, owner, known in connection.execute(
            select(table.path, table.owner, table.digest).where(table.owner.in_(part))
        ):
            before[path] = (owner, known)
    now = {file.path: (owner, file) for owner, owned in files.items() for file in owned}
    foreign = [path for path in now if path not in before]
    for part in chunks(foreign):
        for path, owner, known in connection.execute(
            select(table.path, table.owner, table.digest).where(table.path.in_(part))
        ):
            before[path] = (owner, known)
    change = None
    rows: list[dict[str, object]] = []
    changed: list[str] = []
    for path, (owner, file) in sorted(now.items()):
        old = before.get(path)
        if old is not None and old[1] == file.digest:
            if old[0] != owner:
                connection.execute(wanted.update().where(table.path == path).values(owner=owner))
            continue
        change = change or next_change(connection)
        content = compress(file.content)
        changed.append(path)
        rows.append(
            {"path": path, "owner": owner, "digest": file.digest, "change": change, "content": content}
        )
    upsert(connection, wanted, rows)
    gone = [path for path, (owner, _) in before.items() if path not in now and owner in files]
    for part in chunks(gone):
        connection.execute(delete(wanted).where(table.path.in_(part)))
    return changed + gone


def differences(connection: Connection, paths: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """Return the paths to write and the paths to remove so that the disk matches (of `paths`, or of all)."""
    write: list[str] = []
    remove: list[str] = []
    join = wanted.outerjoin(published, wanted.c.path == published.c.path)
    stale = or_(published.c.path.is_(None), published.c.digest != wanted.c.digest)
    gone = published.outerjoin(wanted, wanted.c.path == published.c.path)
    if paths is None:
        write += connection.scalars(select(wanted.c.path).select_from(join).where(stale))
        remove += connection.scalars(
            select(published.c.path).select_from(gone).where(wanted.c.path.is_(None))
        )
    else:
        for part in chunks(sorted(set(paths))):
            write += connection.scalars(
                select(wanted.c.path).select_from(join).where(stale, wanted.c.path.in_(part))
            )
            remove += connection.scalars(
                select(published.c.path)
                .select_from(gone)
                .where(wanted.c.path.is_(None), published.c.path.in_(part))
            )
    return sorted(write), sorted(remove)


class Publisher:
    """Makes the files under a state root match the ledger's table `wanted`."""

    def __init__(self, state: Path, ledger: Ledger) -> None:
        self.state = state
        self.ledger = ledger

    @contextmanager
    def _lock(self) -> Iterator[None]:
        descriptor = open_lock(self.state / ".publish.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def start(self) -> None:
        """Bring the disk up to date: what a crash left, what somebody deleted, temporary files."""
        with self._reaching_disk(), self._lock():
            self._forget_missing()
            self._publish(None)

    def publish(self, paths: Iterable[str] | None = None) -> None:
        """Bring `paths` (or everything) up to date. Raises Transient when the disk is full or refuses."""
        with self._reaching_disk(), self._lock():
            self._publish(paths)

    def _reaching_disk(self) -> AbstractContextManager[None]:
        return transient_disk(f"publishing under {self.state} failed", stage="normalize")

    def _forget_missing(self) -> None:
        present: dict[str, int] = {}
        for tree in _TREES:
            present.update(self._scan(self.state / tree, tree))
        with self.ledger.read() as connection:
            rows = connection.execute(select(published.c.path, published.c.size)).all()
        lost = [path for path, size in rows if present.get(path) != size]
        if lost:
            with self.ledger.write() as connection:
                upsert(connection, published, [{"path": path, "digest": "", "size": -1} for path in lost])

    def _scan(self, folder: Path, name: str) -> Iterator[tuple[str, int]]:
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._scan(folder / entry.name, f"{name}/{entry.name}")
            elif entry.name.endswith(TEMP_MARK):
                os.unlink(entry.path)  # under the lock nobody is writing
            else:
                yield f"{name}/{entry.name}", entry.stat(follow_symlinks=False).st_size

    def _publish(self, paths: Iterable[str] | None) -> None:
        with self.ledger.read() as connection:
            write, remove = differences(connection, paths)
        for part in chunks(write, _STEP):
            self._write(part)
        for part in chunks(remove, _STEP):
            self._remove(part)

    def _write(self, paths: Sequence[str]) -> None:
        with self.ledger.write() as connection:
            upsert(connection, published, [{"path": path, "digest": "", "size": -1} for path in paths])
            rows = connection.execute(
                select(wanted.c.path, wanted.c.digest, wanted.c.content).where(wanted.c.path.in_(paths))
            ).all()
        passing("publish-noted")
        contents = [(self.state / path, decompress(content)) for path, _, content in rows]
        moves = write_temps(contents)
        passing("publish-written")
        move_all(moves)
        notes = [
            {"path": path, "digest": known, "size": len(data)}
            for (path, known, _), (_, data) in zip(rows, contents, strict=True)
        ]
        passing("publish-renamed")
        with self.ledger.write() as connection:
            upsert(connection, published, notes)

    def _remove(self, paths: Sequence[str]) -> None:
        folders = set()
        for path in paths:
            target = self.state / path
            target.unlink(missing_ok=True)
            folders.add(target.parent)
        for folder in folders:
            self._prune(folder)
        passing("publish-removed")
        with self.ledger.write() as connection:
            connection.execute(delete(published).where(published.c.path.in_(paths)))

    def _prune(self, folder: Path) -> None:
        """Remove a folder that became empty, and its parents up to the tree's own."""
        while self.state not in (folder, folder.parent):
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass  # gone before its parent was looked at
            except OSError:
                break
            folder = folder.parent
        if folder.exists():
            sync_folder(folder)
