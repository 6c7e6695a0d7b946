"""A folder or file on disk as a source: `.eml`, mbox and Maildir, read-only."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from blake3 import blake3

from models.batch import Unreadable
from models.errors import UsageError
from stages.fetch.config import FetchPolicy
from stages.fetch.maildir import find_renamed
from stages.fetch.mbox import Span, find_messages, read_message
from stages.fetch.names import bytes_of, text_of
from stages.fetch.sniff import kind_by_content, kind_by_name
from stages.fetch.source import Item, ItemVanished, KnownStamps, Listing, MailSource
from stages.fetch.walk import Found, found, head_of, reason_of, stamp_of, walk

BLANK = 2  # bytes of the longest blank line that ends an mbox
REMEDY = "check the path given with --source and its rights"


def open_archive(path: str, account: str | None, policy: FetchPolicy) -> MailSource:
    """Return the archive at `path`. Raises UsageError where it is missing or cannot be read."""
    given = os.fsencode(path)
    root = os.path.realpath(given)
    try:
        mode = os.stat(root).st_mode
        if stat.S_ISDIR(mode):
            with os.scandir(root):
                pass
        elif stat.S_ISREG(mode):
            head_of(root)
        else:
            raise UsageError(f"source {path} is neither a folder nor a file", stage="fetch", remedy=REMEDY)
    except OSError as error:
        raise UsageError(
            f"source {path} cannot be read: {reason_of(error)}", stage="fetch", remedy=REMEDY
        ) from error
    own = os.path.basename(os.path.abspath(given))
    if stat.S_ISREG(mode):
        own = os.path.splitext(own)[0]
    name = account or text_of(own) or "archive"
    return Archive(root, name, policy) if stat.S_ISDIR(mode) else SingleFile(root, name, policy)


class _Batch:
    """Collects what is listed until a batch is full."""

    def __init__(self) -> None:
        self.next = Listing()

    def __len__(self) -> int:
        return len(self.next.items) + len(self.next.unreadable)

    def take(self) -> Listing:
        full, self.next = self.next, Listing()
        return full


class Archive:
    """A folder of mail as a source."""

    def __init__(self, root: bytes, account: str, policy: FetchPolicy) -> None:
        self.account = account
        self._root = root
        self._policy = policy

    def listing(self, known: KnownStamps, batch_size: int) -> Iterator[Listing]:
        """Yield all items in a fixed order; an mbox with a known stamp is not opened."""
        batch = _Batch()
        for row in self._rows(known, batch):
            if isinstance(row, Item):
                batch.next.items.append(row)
            else:
                batch.next.unreadable.append(row)
            if len(batch) >= batch_size:
                yield batch.take()
        if batch.next != Listing():
            yield batch.take()

    def read(self, item: Item) -> bytes:
        """Return the bytes of one message. Raises ItemVanished where they are gone or changed."""
        kind, _, place = item.locator.partition(":")
        try:
            if kind == "file":
                return self._read_file(item, self._full(place))
            offset, length, place = place.split(":", 2)
            return self._read_member(item, self._full(place), Span(int(offset), int(length)))
        except OSError as error:
            raise _vanished(item, reason_of(error)) from error
        except ValueError as error:
            raise _vanished(item, "its locator is not one of this source") from error

    def close(self) -> None:
        """Nothing is held open between two reads."""

    def _found(self) -> Iterator[Found | Unreadable]:
        return walk(self._root)

    def _full(self, place: str) -> bytes:
        path = bytes_of(place)
        if path.startswith(b"/") or b".." in path.split(b"/") or b"\0" in path:
            raise ValueError(place)
        return os.path.join(self._root, path)

    def _rows(self, known: KnownStamps, batch: _Batch) -> Iterator[Item | Unreadable]:
        for row in self._found():
            if isinstance(row, Unreadable):
                yield row
            elif row.kind == "mail":
                yield self._item(row)
            elif known.container(row.folder) == row.stamp:
                yield from known.members(row.folder)
                batch.next.containers[row.folder] = row.stamp
            else:
                yield from self._members(row, batch)

    def _item(self, row: Found) -> Item | Unreadable:
        place = text_of(row.path)
        if row.size > self._policy.ceiling:
            return Unreadable(path=place, reason=_too_large(row.size))
        return Item(folder=row.folder, uid=row.uid, locator=f"file:{place}", stamp=row.stamp)

    def _members(self, row: Found, batch: _Batch) -> Iterator[Item | Unreadable]:
        place = text_of(row.path)
        copies: dict[bytes, int] = {}
        try:
            with open(self._full(place), "rb") as file:
                begun = os.fstat(file.fileno())
                for span in find_messages(file):
                    offset, length = span
                    if length > self._policy.ceiling:
                        yield Unreadable(path=f"{place} (byte {offset})", reason=_too_large(length))
                        continue
                    hasher = blake3()
                    for piece in read_message(file, span):
                        hasher.update(piece)
                    _check_still(file, begun, last=offset + length >= begun.st_size - BLANK)
                    copy = copies[hasher.digest()] = copies.get(hasher.digest(), 0) + 1
                    yield Item(
                        folder=row.folder,
                        uid=f"blake3:{hasher.hexdigest()}" + (f"#{copy}" if copy > 1 else ""),
                        locator=f"part:{offset}:{length}:{place}",
                        stamp=f"{offset}+{length}",
                    )
                _check_still(file, begun, last=False)
        except OSError as error:
            yield Unreadable(path=place, reason=reason_of(error))
            return
        batch.next.containers[row.folder] = stamp_of(begun)

    def _read_file(self, item: Item, path: bytes) -> bytes:
        try:
            return self._bytes(item, path)
        except FileNotFoundError:
            moved = find_renamed(path)
            if moved is None:
                raise
            return self._bytes(item, moved)

    def _bytes(self, item: Item, path: bytes) -> bytes:
        # Without O_NONBLOCK a pipe that took the file's place would hang the run.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _vanished(item, "not a regular file")
            if status.st_size > self._policy.ceiling:
                raise _vanished(item, _too_large(status.st_size))
            return file.read()

    def _read_member(self, item: Item, path: bytes, span: Span) -> bytes:
        with open(path, "rb") as file:
            data = b"".join(read_message(file, span))
        if item.uid.partition("#")[0] != "blake3:" + blake3(data).hexdigest():
            raise _vanished(item, "the mbox changed since it was listed")
        return data


class SingleFile(Archive):
    """One file as a source: an mbox by name or first line, else one message, whatever its name."""

    def __init__(self, path: bytes, account: str, policy: FetchPolicy) -> None:
        super().__init__(os.path.dirname(path), account, policy)
        self._name = os.path.basename(path)

    def _found(self) -> Iterator[Found | Unreadable]:
        full = os.path.join(self._root, self._name)
        name = text_of(self._name)
        try:
            kind = kind_by_name(self._name) or kind_by_content(head_of(full)) or "mail"
            yield found(self._name, kind, ".", name, os.stat(full), set())
        except OSError as error:
            yield Unreadable(path=name, reason=reason_of(error))


def _check_still(file: BinaryIO, begun: os.stat_result, last: bool) -> None:
    """Raise OSError where an mbox is not what it was when its messages were found: what stands there may be torn.

    last: the message at the end is about to be taken, which a program that holds a lock may be writing.
    """
    if stamp_of(os.fstat(file.fileno())) != stamp_of(begun):
        raise OSError(errno.EBUSY, "it changed while it was read; the rest is taken on the next run")
    if last:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_UN)
        except (BlockingIOError, PermissionError) as error:
            raise OSError(
                errno.EBUSY, "another program is writing to it; its last message is taken later"
            ) from error
        except OSError:
            return  # a file system without locks


def _too_large(size: int) -> str:
    return f"{size >> 20} MB are more than one message may have"


def _vanished(item: Item, reason: str) -> ItemVanished:
    return ItemVanished(
        reason, stage="fetch", message=item.uid, remedy="nothing was lost; it is tried again on the next run"
    )
