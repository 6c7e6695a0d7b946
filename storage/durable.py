"""Writing files so that a crash leaves the old content or the new one, never a half: temp, fsync, rename."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMP_MARK = ".atlas-tmp"
_numbers = itertools.count()  # names that are alike in their first letters meet in one folder


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

    Raises OSError where the folder or the file is somebody else's.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, FILE_MODE)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def write_temp(path: Path, data: bytes) -> Path:
    """Write `data` beside `path`, durable, and return the temporary file's path (to be renamed)."""
    temp = path.with_name(f".{path.name[:60]}.{os.getpid()}-{next(_numbers)}{TEMP_MARK}")
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        temp.unlink(missing_ok=True)
        raise
    os.close(descriptor)
    return temp


def write_durable(path: Path, data: bytes, *, sync_parent: bool = True) -> None:
    """Write `data` to `path` in one atomic, durable step."""
    temp = write_temp(path, data)
    os.replace(temp, path)
    if sync_parent:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make renames and removals in `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
