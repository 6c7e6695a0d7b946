"""winmail.dat: the body and the files inside Outlook's own container (MS-OXTNEF), without any library."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stages.decode.charset import codec_of
from stages.decode.rtf import decompress

MAGIC = b"\x78\x9f\x3e\x22"
_MAX_ATTRIBUTES = 10_000
_MAX_FILES = 200
_MAX_PROPERTIES = 5_000

# attributes of the stream (level and id)
_SUBJECT, _BODY, _MESSAGE_PROPS, _CODEPAGE = 0x18004, 0x2800C, 0x69003, 0x69007
_FILE_START, _FILE_TITLE, _FILE_DATA, _FILE_PROPS = 0x69002, 0x18010, 0x6800F, 0x69005
# MAPI properties
_P_SUBJECT, _P_BODY, _P_RTF, _P_HTML, _P_CODEPAGE = 0x0037, 0x1000, 0x1009, 0x1013, 0x3FDE
_P_DATA, _P_LONG_NAME, _P_NAME, _P_DISPLAY, _P_MIME, _P_CID = 0x3701, 0x3707, 0x3704, 0x3001, 0x370E, 0x3712
_P_SENDER_NAME, _P_SENDER_EMAIL, _P_MESSAGE_ID, _P_SENT = 0x0C1A, 0x0C1F, 0x1035, 0x0039
_FIXED = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 4, 20: 8, 64: 8, 72: 16}


class EmbeddedFile(NamedTuple):
    """One file; `is_message` where its data is another TNEF stream."""

    filename: str | None
    mime: str | None
    content_id: str | None
    data: bytes
    is_message: bool = False


class Envelope(NamedTuple):
    """What a stream holds; the body in the best forms that are there."""

    subject: str = ""
    sender_name: str = ""
    sender_email: str = ""
    message_id: str = ""
    sent: datetime | None = None
    text: str = ""
    html: bytes = b""
    html_codec: str = ""
    rtf: bytes = b""
    files: list[EmbeddedFile] = []


def read_tnef(data: bytes) -> Envelope | None:
    """Return the content of a TNEF stream, None for other bytes; a stream cut short gives what it holds."""
    if not data.startswith(MAGIC):
        return None
    codec = "cp1252"
    top: dict[int, bytes | str] = {}
    body = subject = b""
    files: list[dict[int, bytes | str]] = []
    current: dict[int, bytes | str] | None = None
    at = 6
    for _ in range(_MAX_ATTRIBUTES):
        if at + 9 > len(data):
            break
        name, size = struct.unpack_from("<II", data, at + 1)
        value = data[at + 9 : at + 9 + size]
        at += 9 + size + 2
        if name == _CODEPAGE and len(value) >= 4:
            codec = codec_of(f"cp{int.from_bytes(value[:4], 'little')}") or codec
        elif name == _SUBJECT:
            subject = value
        elif name == _BODY:
            body = value
        elif name == _MESSAGE_PROPS:
            top.update(_properties(value, codec))
        elif name == _FILE_START:
            if len(files) >= _MAX_FILES:
                break
            current = {}
            files.append(current)
        elif current is not None and name == _FILE_TITLE:
            current.setdefault(_P_DISPLAY, value.split(b"\0", 1)[0].decode(codec, "replace"))
        elif current is not None and name == _FILE_DATA:
            current.setdefault(_P_DATA, value)
        elif current is not None and name == _FILE_PROPS:
            current.update(_properties(value, codec))
    page = top.get(_P_CODEPAGE)
    html_codec = (codec_of(f"cp{int.from_bytes(page, 'little')}") if isinstance(page, bytes) else None) or ""
    rtf = _bytes(top.get(_P_RTF))
    return Envelope(
        subject=_text(top.get(_P_SUBJECT)) or subject.split(b"\0", 1)[0].decode(codec, "replace"),
        sender_name=_text(top.get(_P_SENDER_NAME)),
        sender_email=_text(top.get(_P_SENDER_EMAIL)),
        message_id=_text(top.get(_P_MESSAGE_ID)),
        sent=_moment(_bytes(top.get(_P_SENT))),
        text=_text(top.get(_P_BODY)) or body.split(b"\0", 1)[0].decode(codec, "replace"),
        html=_bytes(top.get(_P_HTML)).rstrip(b"\0"),
        html_codec=html_codec,
        rtf=decompress(rtf) if rtf else b"",
        files=[_file(entry) for entry in files],
    )


def _file(entry: dict[int, bytes | str]) -> EmbeddedFile:
    name = _text(entry.get(_P_LONG_NAME)) or _text(entry.get(_P_NAME)) or _text(entry.get(_P_DISPLAY))
    data = _bytes(entry.get(_P_DATA))
    # an embedded message stands behind the 16 bytes of an interface id
    inner = data[16:] if data[16:20] == MAGIC else data
    return EmbeddedFile(
        filename=name or None,
        mime=_text(entry.get(_P_MIME)).lower() or None,
        content_id=_text(entry.get(_P_CID)).strip("<> ") or None,
        data=inner,
        is_message=inner.startswith(MAGIC),
    )


def _properties(data: bytes, codec: str) -> dict[int, bytes | str]:
    """Return the MAPI properties of a block by id; of those with many values the first."""
    found: dict[int, bytes | str] = {}
    if len(data) < 4:
        return found
    count = min(int.from_bytes(data[:4], "little"), _MAX_PROPERTIES)
    at = 4
    for _ in range(count):
        if at + 4 > len(data):
            break
        kind, name = struct.unpack_from("<HH", data, at)
        at += 4
        if name >= 0x8000:  # a named property: a GUID, then a number or a name
            if at + 24 > len(data):
                break
            by_name, length = struct.unpack_from("<II", data, at + 16)
            at += 24 + (_padded(length) if by_name else 0)
        many = bool(kind & 0x1000)
        kind &= 0x0FFF
        values = 1
        if many or kind in {0x1E, 0x1F, 0x0D, 0x102}:
            if at + 4 > len(data):
                break
            values = int.from_bytes(data[at : at + 4], "little")
            at += 4
        for number in range(min(values, _MAX_PROPERTIES)):
            if kind in _FIXED:
                value = data[at : at + _FIXED[kind]]
                at += _FIXED[kind]
            elif kind in {0x1E, 0x1F, 0x0D, 0x102}:
                if at + 4 > len(data):
                    return found
                length = int.from_bytes(data[at : at + 4], "little")
                value = data[at + 4 : at + 4 + length]
                at += 4 + _padded(length)
            else:
                return found  # of unknown length: what follows can't be found
            if number == 0:
                found.setdefault(name, _value(kind, value, codec))
            if at > len(data):
                return found
    return found


def _padded(length: int) -> int:
    return (length + 3) & ~3


def _value(kind: int, value: bytes, codec: str) -> bytes | str:
    if kind == 0x1F:
        return value.decode("utf-16-le", "replace").split("\0", 1)[0]
    if kind == 0x1E:
        return value.split(b"\0", 1)[0].decode(codec, "replace")
    return value


def _moment(value: bytes) -> datetime | None:
    """Return a Windows file time: tenths of microseconds since 1601, UTC."""
    if len(value) != 8:
        return None
    try:
        return datetime(1601, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=int.from_bytes(value, "little") // 10
        )
    except OverflowError:
        return None


def _text(value: bytes | str | None) -> str:
    return value if isinstance(value, str) else ""


def _bytes(value: bytes | str | None) -> bytes:
    return value if isinstance(value, bytes) else b""
