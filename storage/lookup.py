"""Finding a message or a thread by what a person has in hand."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, select

from models.email import Email
from models.errors import UsageError
from models.thread import ThreadFile
from storage.blobs import decompress
from storage.names import failed_path, thread_path
from storage.schema import location, node, quarantine, record, wanted
from storage.thread_index import resolve_thread


@dataclass(frozen=True)
class Found:
    """A message: its key and file, or the hash under which it is held."""

    key: str | None
    path: str
    raw: str


def find_message(connection: Connection, name: str) -> Found:
    """Return the message named by msg_id (brackets or not), raw hash (a start of 8 or more), file or uid.

    Raises UsageError when nothing or more than one message fits.
    """
    name = name.strip()
    key = name[1:-1] if name.startswith("<") and name.endswith(">") else name
    columns = (record.c.key, record.c.path, record.c.raw)
    row = connection.execute(select(*columns).where(record.c.key == key)).first()
    if row is None and "/" in name:
        tail = name[name.rfind("extracted/") :] if "extracted/" in name else name
        row = connection.execute(select(*columns).where(record.c.path == tail)).first()
    if row is not None:
        return Found(*row)
    raws = _raws_named(connection, name)
    if len(raws) > 1:
        raise UsageError(f"`{name}` fits {len(raws)} messages", remedy="give more of the hash, or the msg_id")
    if not raws:
        raise UsageError(
            f"no message `{name}` is known here",
            remedy="give a msg_id, a raw hash, a path or a uid; see --state",
        )
    raw = raws[0]
    row = connection.execute(
        select(*columns)
        .select_from(record.join(node, node.c.record == record.c.key))
        .where(node.c.raw == raw)
    ).first()
    if row is not None:
        return Found(*row)
    return Found(None, failed_path(raw), raw)


def _raws_named(connection: Connection, name: str) -> list[str]:
    digits = name.removeprefix("blake3:")
    if len(digits) >= 8 and all(char in "0123456789abcdef" for char in digits):
        query = select(location.c.raw).where(location.c.raw.startswith("blake3:" + digits, autoescape=True))
        raws = sorted(set(connection.scalars(query)))
        if raws:
            return raws
    return sorted(set(connection.scalars(select(location.c.raw).where(location.c.uid == name))))


def read_email(connection: Connection, found: Found) -> Email | None:
    """Return the Email of a message, None while it is held or pending."""
    content = _content(connection, found.path) if found.key else None
    return msgspec.json.decode(content, type=Email) if content else None


def read_thread(connection: Connection, name: str) -> ThreadFile:
    """Return a thread by its id (an old one too), or by a message in it. Raises UsageError."""
    thread_id = name if name.startswith("thr-") else None
    if thread_id is None:
        email = read_email(connection, find_message(connection, name))
        if email is None:
            raise UsageError(f"`{name}` is in no thread: it is quarantined or pending", remedy="see explain")
        thread_id = email.thread_id
    content = _content(connection, thread_path(resolve_thread(connection, thread_id)))
    if content is None:
        raise UsageError(
            f"no thread `{name}` is known here", remedy="give a thread id or a msg_id; see --state"
        )
    return msgspec.json.decode(content, type=ThreadFile)


def is_held(connection: Connection, raw: str) -> bool:
    """Return whether a raw message is in quarantine."""
    return connection.execute(select(quarantine.c.raw).where(quarantine.c.raw == raw)).first() is not None


def _content(connection: Connection, path: str) -> bytes | None:
    packed = connection.execute(select(wanted.c.content).where(wanted.c.path == path)).scalar()
    return decompress(packed) if packed is not None else None
