"""Decode: from raw bytes to one text body, decoded headers, and a description of everything else.

All mail is hostile: sizes, parts and depth are capped, every pattern is linear, and only the typed errors
of `models.errors` leave this stage (bytes that are no mail, formats that are not read, caps). Whatever else
is odd is mended and named in `repairs`. Nothing here touches disk (package data apart), network or clock.
"""

from __future__ import annotations

from models.base import Record
from models.message import Decoded
from stages.decode.config import DecodePolicy

VERSION = "2"

__all__ = ["VERSION", "DecodePolicy", "PartDump", "decode", "decode_parts", "read_dates"]


class PartDump(Record):
    """One leaf of the MIME tree: `text` for text parts (LF, charset resolved), else `b64` of its bytes.

    `size` and `hash` are those of the bytes after the transfer encoding was undone.
    """

    mime: str
    charset: str | None = None
    filename: str | None = None
    text: str | None = None
    b64: str | None = None
    size: int = 0
    hash: str = ""


def decode(raw: bytes, policy: DecodePolicy) -> Decoded:
    """Return the decoded record of the message `raw`.

    Raises CorruptInput for bytes that hold no message, UnsupportedFeature for containers that are not
    read, ResourceLimit for a message over a cap of `policy`; never anything else.
    """
    from stages.decode.message import decode_message

    return decode_message(raw, policy)


def read_dates(raw: bytes, policy: DecodePolicy) -> tuple[str | None, str | None]:
    """Return the Date and the earliest Received of `raw` (ISO 8601 with offset), reading its header alone.

    Both are None where the bytes hold no message; never raises.
    """
    from stages.decode.message import header_dates

    return header_dates(raw, policy)


def decode_parts(raw: bytes, policy: DecodePolicy) -> list[PartDump]:
    """Return every leaf of the MIME tree in document order, those of nested messages included.

    Raises the same errors as `decode`.
    """
    from stages.decode.dump import dump_parts

    return dump_parts(raw, policy)
