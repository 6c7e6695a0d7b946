"""Writing files so that a crash leaves the old content or the new one, never a half: temp, fsync, rename."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from models.errors import Transient

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMP_MARK = ".atlas-tmp"
_SYNCERS = 8
_numbers = itertools.count()  # names that are alike in their first letters meet in one folder


@contextmanager
def transient_disk(what: str, stage: str | None = None) -> Iterator[None]:
    """Raise what the disk says inside (full, no rights) as Transient; `what` failed is how it begins."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise Transient(
            f"{what}: {error.strerror or error}{where}",
            stage=stage,
            remedy="free space or correct the rights, then run again: nothing is lost",
        ) from error


def make_folder(path: Path) -> None:
    """Create `path` and its parents, private to the user."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            folder.chmod(FOLDER_MODE)  # a strict umask takes away more than the mode gives
        sync_folder(folder.parent)


def make_private(path: Path) -> None:
    """Create an empty file that only the user may read, or take other people's rights from an existing one.

    An existing file is not opened: closing it would drop the locks that this process holds on it through
    SQLite (POSIX locks end with the first descriptor that is closed; "How to corrupt an SQLite database" §2.2).
    Raises OSError where the folder or the file is somebody else's.
    """
    try:
        if path.stat().st_mode & 0o777 != FILE_MODE:
            path.chmod(FILE_MODE)
        return
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        return  # another process was faster, and makes it as private
    try:
        os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """Return a descriptor of a lock file (for `flock`), made when missing, for the user alone."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_temps(files: Sequence[tuple[Path, bytes]], workshop: Path | None = None) -> list[tuple[Path, Path]]:
    """Write each `(path, data)` to a temporary file beside its path (or in `workshop`), all durable on return.

    Returns `(temporary file, path)` for `move_all`. Missing folders are made. On an error (full disk …)
    nothing is left behind; what a killed process leaves in a workshop is for `clear_workshop`.
    """
    moves: list[tuple[Path, Path]] = []
    folders = [path.parent for path, _ in files] + ([workshop] if workshop and files else [])
    try:
        for folder in dict.fromkeys(folders):
            make_folder(folder)
        for path, data in files:
            name = f".{path.name[:60]}.{os.getpid()}-{next(_numbers)}{TEMP_MARK}"
            temp = (workshop or path.parent) / name
            moves.append((temp, path))
            _write(temp, data)
        _sync_all([temp for temp, _ in moves])
    except BaseException:
        for temp, _ in moves:
            temp.unlink(missing_ok=True)
        raise
    return moves


def clear_workshop(workshop: Path) -> None:
    """Remove the temporary files of processes of this host that are gone."""
    try:
        names = os.listdir(workshop)
    except FileNotFoundError:
        return
    for name in names:
        pid = name.removesuffix(TEMP_MARK).rpartition(".")[2].partition("-")[0]
        if name.endswith(TEMP_MARK) and pid.isdigit() and not _is_running(int(pid)):
            (workshop / name).unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def move_all(moves: Sequence[tuple[Path, Path]]) -> None:
    """Put temporary files in their places, durable on return."""
    for temp, path in moves:
        os.replace(temp, path)
    _sync_all(list(dict.fromkeys(path.parent for _, path in moves)))


def write_durable(path: Path, data: bytes) -> None:
    """Write `data` to `path` in one atomic, durable step."""
    move_all(write_temps([(path, data)]))


def sync_folder(path: Path) -> None:
    """Make renames and removals in `path` durable."""
    _sync(path)


def _write(temp: Path, data: bytes) -> None:
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_all(paths: Sequence[Path]) -> None:
    """Sync files or folders side by side: the file system then writes its journal once for many of them."""
    if len(paths) < _SYNCERS:
        for path in paths:
            _sync(path)
        return
    try:
        with ThreadPoolExecutor(_SYNCERS, thread_name_prefix="sync") as pool:
            list(pool.map(_sync, paths))
    except RuntimeError:  # no thread to be had near the memory limit: one after the other does as well
        for path in paths:
            _sync(path)
