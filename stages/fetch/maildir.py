"""Maildir: names without flags, and folders in the Maildir++ way. Nothing is ever renamed or moved."""

from __future__ import annotations

import os

PARTS = (b"new", b"cur")
"""In this order: a mail that another program moves between two look-ups is seen twice, not never."""

_FLAGS_MARKS = (b":2,", b";2,", b"!2,")
"""What parts a name from its flags; the last two where a file name may not hold a colon."""


def base_name(name: bytes) -> bytes:
    """Return a Maildir name without its flags, which change while the message stays the same."""
    for mark in _FLAGS_MARKS:
        name = name.partition(mark)[0]
    return name


def is_maildir(path: bytes) -> bool:
    """Return whether a folder is a Maildir: it holds `cur` and `new`."""
    return all(os.path.isdir(os.path.join(path, part)) for part in PARTS)


def folder_name(above: bytes, name: bytes) -> bytes:
    """Return the folder that a Maildir++ name stands for: `.Sent.2026` in `above` is Sent/2026.

    The name stays as it is where that would be no path or the place is taken by another folder.
    """
    nested = name[1:].replace(b".", b"/")
    proper = nested and all(nested.split(b"/"))
    return nested if proper and not os.path.lexists(os.path.join(above, nested)) else name


def find_renamed(path: bytes) -> bytes | None:
    """Return where a message of a Maildir stands now that its flags changed, None if it is gone."""
    directory, name = os.path.split(path)
    above, part = os.path.split(directory)
    if part not in PARTS:
        return None
    for place in PARTS:
        try:
            with os.scandir(os.path.join(above, place)) as rows:
                for row in rows:
                    if base_name(row.name) == base_name(name):
                        return os.path.join(above, place, row.name)
        except OSError:
            continue
    return None
