"""Fetch: list what a mailbox holds and read it, byte for byte, never changing it.

The one stage that may do I/O. A source lists its items in a fixed order and in batches, says what cannot be
read, and hands out the bytes of one item on demand. Flags are never read, a file's time is never a date, and
no path that leaves this stage is absolute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stages.fetch.config import FetchPolicy
    from stages.fetch.source import MailSource

VERSION = "1"

__all__ = ["VERSION", "open_source"]


def open_source(path: str, account: str | None = None, policy: FetchPolicy | None = None) -> MailSource:
    """Return the source at `path`: a folder (mail files, mbox, Maildir, sub-folders too) or one file.

    The account is the name given, else the folder's name or the file's stem. A file is always read, whatever
    its name; of a folder those that are mail by name or first bytes (`packs/files.toml`). Raises UsageError
    where `path` is missing or unreadable.
    """
    from stages.fetch.archive import open_archive
    from stages.fetch.config import FetchPolicy

    return open_archive(path, account, policy or FetchPolicy())
