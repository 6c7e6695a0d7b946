"""Walk a folder of mail: sub-folders, mail files, mbox files and Maildirs, in one fixed order.

Paths are bytes inside, for a file name need not be UTF-8. Nothing outside the source is ever opened: a link
that leads out is named unreadable; a link to a folder inside is not followed, for its mail is listed where it
really stands (so loops cannot happen).
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from models.base import Record
from models.batch import Unreadable
from stages.fetch.maildir import PARTS, base_name, find_renamed, folder_name, is_maildir
from stages.fetch.names import text_of
from stages.fetch.sniff import HEAD, Kind, extension, kind_by_content, kind_by_name


class Found(Record):
    """One file that holds mail: its path relative to the root, and how it is to be named.

    `folder` is the mbox itself where `kind` is "mbox"; its members get their uids when it is split.
    """

    path: bytes
    kind: Kind
    folder: str
    uid: str
    size: int
    stamp: str


class _Folder(NamedTuple):
    path: bytes
    name: str


class _Entry(NamedTuple):
    name: bytes
    is_dir: bool
    is_link: bool


class _Root(NamedTuple):
    path: bytes

    def at(self, path: bytes) -> bytes:
        return os.path.join(self.path, path) if path else self.path


def stamp_of(status: os.stat_result) -> str:
    """Return a cheap change detector of a file: its size and its time in nanoseconds."""
    return f"{status.st_size}-{status.st_mtime_ns}"


def reason_of(error: OSError) -> str:
    """Return why the system refused, without the absolute path that its own message holds."""
    return error.strerror or type(error).__name__


def walk(path: bytes) -> Iterator[Found | Unreadable]:
    """Yield every mail file under `path` (a real path), sorted by name within each folder, files first.

    Two files that would get one (folder, uid), as a mail in both `new` and `cur`, get `#2` at the second.
    """
    root = _Root(path)
    pending = [_Folder(b"", ".")]
    while pending:
        folder = pending.pop()
        try:
            entries = _entries(root.at(folder.path))
        except OSError as error:
            yield Unreadable(path=text_of(folder.path) or ".", reason=reason_of(error))
            continue
        dirs = [entry.name for entry in entries if entry.is_dir]
        used: set[str] = set()
        for entry in entries:
            if not entry.is_dir and not entry.name.startswith(b"."):
                yield from _file(root, folder, entry, used)
        if set(PARTS) <= set(dirs):
            yield from _maildir(root, folder, used)
            dirs = [name for name in dirs if name not in (*PARTS, b"tmp")]
        pending += reversed(list(_children(root, folder, dirs)))


def _entries(path: bytes) -> list[_Entry]:
    with os.scandir(path) as rows:
        return sorted(_Entry(row.name, row.is_dir(follow_symlinks=False), row.is_symlink()) for row in rows)


def _children(root: _Root, folder: _Folder, names: list[bytes]) -> Iterator[_Folder]:
    above = "" if folder.name == "." else folder.name + "/"
    for name in names:
        path = os.path.join(folder.path, name)
        if not name.startswith(b"."):
            yield _Folder(path, above + text_of(name))
        elif is_maildir(root.at(path)):
            yield _Folder(path, above + text_of(folder_name(root.at(folder.path), name)))


def _file(root: _Root, folder: _Folder, entry: _Entry, used: set[str]) -> Iterator[Found | Unreadable]:
    path = os.path.join(folder.path, entry.name)
    full = root.at(path)
    kind = kind_by_name(entry.name)
    unknown = kind is None and extension(entry.name) != ""
    try:
        if unknown and not (entry.is_link and os.path.isdir(full)):
            return
        if entry.is_link and (problem := _link_problem(root, full)):
            yield Unreadable(path=text_of(path), reason=problem)
            return
        status = os.stat(full)
        if stat.S_ISDIR(status.st_mode):
            return
        if not stat.S_ISREG(status.st_mode):
            if kind is not None:
                yield Unreadable(path=text_of(path), reason="not a regular file")
            return
        kind = kind or kind_by_content(head_of(full))
    except OSError as error:
        yield Unreadable(path=text_of(path), reason=reason_of(error))
        return
    if kind is not None:
        yield found(path, kind, folder.name, text_of(path), status, used)


def _link_problem(root: _Root, full: bytes) -> str | None:
    target = os.path.realpath(full)
    inside = os.path.join(root.path, b"")
    if target != root.path and not target.startswith(inside):
        return "a link that leads outside the source"
    if not os.path.exists(target):
        return "a link that leads nowhere"
    hidden = any(part.startswith(b".") for part in target[len(inside) :].split(b"/"))
    return (
        "a link to a hidden folder" if hidden and os.path.isdir(target) and not is_maildir(target) else None
    )


def _maildir(root: _Root, folder: _Folder, used: set[str]) -> Iterator[Found | Unreadable]:
    names: list[tuple[bytes, bytes, bytes]] = []
    for part in PARTS:
        path = os.path.join(folder.path, part)
        try:
            entries = _entries(root.at(path))
        except OSError as error:
            yield Unreadable(path=text_of(path), reason=reason_of(error))
            continue
        names += [(base_name(row.name), part, row.name) for row in entries if not row.name.startswith(b".")]
    count = Counter(base for base, _, _ in names)
    for base, part, name in sorted(names):
        path = os.path.join(folder.path, part, name)
        full = root.at(path)
        try:
            if os.path.islink(full) and (problem := _link_problem(root, full)):
                yield Unreadable(path=text_of(path), reason=problem)
                continue
            status = os.stat(full)
        except FileNotFoundError:
            moved = None if count[base] > 1 else find_renamed(full)  # seen twice: the other row has it
            if moved is None:
                if count[base] == 1:
                    yield Unreadable(path=text_of(path), reason="vanished while the folder was listed")
                continue
            path, status = os.path.relpath(moved, root.path), os.stat(moved)
        except OSError as error:
            yield Unreadable(path=text_of(path), reason=reason_of(error))
            continue
        if stat.S_ISREG(status.st_mode):
            yield found(path, "mail", folder.name, text_of(base), status, used)


def head_of(path: bytes) -> bytes:
    """Return the first bytes of a file, enough to tell its kind."""
    with open(path, "rb") as file:
        return file.read(HEAD)


def found(path: bytes, kind: Kind, folder: str, uid: str, status: os.stat_result, used: set[str]) -> Found:
    """Return the record of a mail file; `used` holds the uids that its folder has given out."""
    unique, count = uid, 2
    while kind == "mail" and unique in used:
        unique, count = f"{uid}#{count}", count + 1
    used.add(unique)
    place = text_of(path) if kind == "mbox" else folder
    return Found(path=path, kind=kind, folder=place, uid=unique, size=status.st_size, stamp=stamp_of(status))
