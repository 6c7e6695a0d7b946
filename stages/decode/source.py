"""The bytes before they are a message: refuse what is none, take off what storage formats left behind."""

from __future__ import annotations

import re

from models.errors import CorruptInput, ResourceLimit, UnsupportedFeature
from models.message import Repair
from stages.decode.config import DecodePolicy
from stages.decode.containers import as_message
from stages.decode.tnef import MAGIC

OLE_MAGIC = bytes.fromhex("D0CF11E0A1B11AE1")
_HEADER_LINE = re.compile(rb"^[!-9;-~]{1,100}[ \t]{0,8}:", re.MULTILINE)
_MBOX_LINE = re.compile(rb"(?:>?From [^\r\n]{0,1000}(?:\r\n|\n|\r)){1,3}")
_PROBE = 65_536  # bytes that are looked at to tell mail from something else
# What mail programs keep for themselves in front of a message; a block of nothing else is no header.
_STORE_ONLY = frozenset(
    {b"status", b"x-status", b"x-keywords", b"x-uid", b"content-length", b"lines", b"x-imap"}
)


def open_message(raw: bytes, policy: DecodePolicy) -> tuple[bytes, list[Repair]]:
    """Return the message's own bytes and what was taken off or mended.

    Raises CorruptInput, UnsupportedFeature or ResourceLimit (module docstring of `stages.decode`).
    """
    _refuse(raw, policy)
    repairs: list[Repair] = []
    bare = as_message(raw)
    if bare is not None:
        return bare, [Repair(kind="bare_file", detail="no message around it")]
    data = raw
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        repairs.append(Repair(kind="byte_order_mark", detail="UTF-8 mark in front of the headers dropped"))
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8")
        repairs.append(Repair(kind="utf16_message", detail="the whole message was UTF-16"))
    if b"\n" not in data and b"\r" in data:
        data = data.replace(b"\r", b"\n")
        repairs.append(Repair(kind="bare_cr", detail="lines ended with CR alone"))
    stripped = data.lstrip(b"\r\n\0")
    if len(stripped) != len(data):
        data = stripped
        repairs.append(Repair(kind="leading_blank_lines"))
    mbox = _MBOX_LINE.match(data)
    if mbox:
        data = data[mbox.end() :]
        repairs.append(Repair(kind="mbox_line", detail="separator line of an mbox file dropped"))
    return _without_store_block(data, repairs), repairs


def _refuse(raw: bytes, policy: DecodePolicy) -> None:
    if not raw:
        raise CorruptInput(
            "the file is empty", stage="decode", remedy="fetch the message again or delete the file"
        )
    if len(raw) > policy.max_message_mb * 1024 * 1024:
        raise ResourceLimit(
            f"the message is {len(raw) / 1024 / 1024:.1f} MB, the limit is {policy.max_message_mb} MB",
            stage="decode",
            remedy="raise email.max_message_mb and retry it from quarantine",
        )
    if raw.startswith(OLE_MAGIC):
        raise UnsupportedFeature(
            "an Outlook .msg file (OLE compound file)",
            stage="decode",
            remedy="save the message as .eml, or export the folder as mbox, and add that",
        )
    if not raw[:_PROBE].strip(b"\0 \t\r\n") and not raw.strip(b"\0 \t\r\n"):
        what = "NUL bytes" if b"\0" in raw else "blank lines"
        raise CorruptInput(f"the file holds only {what}", stage="decode", remedy="fetch the message again")
    head = raw[:_PROBE]
    if (
        not head.startswith((b"\xff\xfe", b"\xfe\xff", MAGIC))
        and not _HEADER_LINE.search(head)
        and not _is_text(head)
    ):
        raise CorruptInput(
            "no header line, and the bytes are not text",
            stage="decode",
            remedy="check that the file is a message",
        )


def _is_text(head: bytes) -> bool:
    """Return whether under a twentieth of the bytes are control characters."""
    controls = len(head) - len(
        head.translate(None, bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127]))
    )
    return controls * 20 < len(head)


def _without_store_block(data: bytes, repairs: list[Repair]) -> bytes:
    """Return `data` without a first block that holds only a mail store's own lines (`Status:` …)."""
    first = data.find(b":", 0, 20)
    if first < 0 or data[:first].lower() not in _STORE_ONLY:
        return data
    blank = re.compile(rb"\n\r?\n").search(data, 0, 2000)
    if not blank:
        return data
    names = [line.partition(b":")[0].strip().lower() for line in data[: blank.start()].split(b"\n")]
    if not all(name in _STORE_ONLY for name in names) or not _HEADER_LINE.match(data, blank.end()):
        return data
    repairs.append(
        Repair(kind="store_headers", detail="a mail store's own lines in front of the headers dropped")
    )
    return data[blank.end() :]
