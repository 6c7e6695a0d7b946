"""Joining and splitting conversations by hand: entries of `threads/_manual.json`, which every later run obeys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection

from models.curated import ManualThread
from models.errors import UsageError
from models.thread import ThreadFile
from storage.curated import add_manual
from storage.lookup import find_message, read_thread


def join_threads(connection: Connection, state: Path, names: Sequence[str]) -> ManualThread:
    """Note that the threads of these names (a thread, or a message in it) are one conversation; returns the entry,
    which names the first message of each.

    Raises UsageError where these are fewer than two threads, or one is unknown.
    """
    keys = list(dict.fromkeys(read_thread(connection, name).members[0].msg_id for name in names))
    if len(keys) < 2:
        raise UsageError("two or more threads are needed to join", remedy="name one or a message of each")
    entry = ManualThread(join=keys)
    add_manual(state, entry)
    return entry


def split_thread(connection: Connection, state: Path, name: str) -> ManualThread:
    """Note that a message and what hangs below it are a conversation of their own; returns the entry.

    Raises UsageError for an unknown message and for one that nothing stands above.
    """
    found = find_message(connection, name)
    if found.key is None:
        raise UsageError(f"`{name}` is in no thread: it is quarantined or pending", remedy="see explain")
    thread = read_thread(connection, found.key)
    keys = below(thread, found.key)
    if len(keys) == len(thread.members):
        raise UsageError(
            f"`{name}` begins its thread: there is nothing to split it from",
            remedy="name the first message that is to leave",
        )
    entry = ManualThread(split=keys)
    add_manual(state, entry)
    return entry


def below(thread: ThreadFile, key: str) -> list[str]:
    """Return a member and all that hang below it, in the order of the thread."""
    children: dict[str | None, list[str]] = {}
    for member in thread.members:
        children.setdefault(member.parent, []).append(member.msg_id)
    chosen, queue = {key}, [key]
    while queue:
        more = [child for child in children.get(queue.pop(), []) if child not in chosen]
        chosen.update(more)
        queue += more
    return [member.msg_id for member in thread.members if member.msg_id in chosen]


def sentence_of(entry: ManualThread) -> str:
    """Return what an entry will do."""
    if entry.join:
        return f"{len(entry.join)} messages are noted as one conversation; the next run puts it together"
    return f"{len(entry.split)} messages are noted as a conversation of their own; the next run parts it"
