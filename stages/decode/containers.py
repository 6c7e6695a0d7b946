"""Files that hold a message in a format of their own: winmail.dat (TNEF), bare TNEF and calendar files."""

from __future__ import annotations

from base64 import b64encode

from stages.decode.headers import Headers, read_headers
from stages.decode.params import safe_filename
from stages.decode.part import Part
from stages.decode.rtf import read_rtf
from stages.decode.sniff import sniff
from stages.decode.tnef import MAGIC, EmbeddedFile, Envelope, read_tnef

TNEF = "multipart/x-tnef"  # what an opened winmail.dat is called in the tree
_TNEF_TYPES = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_TNEF_NAMES = frozenset({"winmail.dat", "win.dat"})


def open_container(part: Part) -> bool:
    """Give a winmail.dat the parts inside it; return whether it was one."""
    if part.mime not in _TNEF_TYPES and (part.filename or "").lower() not in _TNEF_NAMES:
        return False
    envelope = read_tnef(part.payload())
    if envelope is None:
        return False
    part.mime = TNEF
    part.children = _parts_of(envelope, part)
    return True


def as_message(data: bytes) -> bytes | None:
    """Return bare TNEF and iCalendar files as a message; None for other bytes."""
    if data.startswith(MAGIC):
        return _header_of(read_tnef(data)) + b"Content-Type: application/ms-tnef\r\n\r\n" + data
    if data[:64].lstrip(b"\xef\xbb\xbf\r\n\t ").upper().startswith((b"BEGIN:VCALENDAR", b"BEGIN:VEVENT")):
        return b"Content-Type: text/calendar\r\n\r\n" + data
    return None


def _header_of(envelope: Envelope | None) -> bytes:
    if envelope is None:
        return b""
    out = b""
    if envelope.subject:
        out += b"Subject: " + _word(envelope.subject) + b"\r\n"
    if envelope.sender_email and "@" in envelope.sender_email:
        sender = envelope.sender_email.encode("utf-8", "replace")
        out += b"From: " + _word(envelope.sender_name) + b" <" + b"".join(sender.split()) + b">\r\n"
    elif envelope.sender_name:
        out += b"From: " + _word(envelope.sender_name) + b"\r\n"
    if envelope.sent is not None:
        out += b"Date: " + envelope.sent.isoformat().encode("ascii") + b"\r\n"
    if envelope.message_id.startswith("<"):
        out += b"Message-ID: " + b"".join(envelope.message_id.encode("ascii", "ignore").split()) + b"\r\n"
    return out


def _word(text: str) -> bytes:
    return b"=?utf-8?B?" + b64encode(text.encode("utf-8", "replace")) + b"?="


def _parts_of(envelope: Envelope, parent: Part) -> list[Part]:
    parts = [_file_part(file, parent) for file in envelope.files if file.data]
    body = _body_part(envelope, parent)
    return [body, *parts] if body is not None else parts


def _body_part(envelope: Envelope, parent: Part) -> Part | None:
    """Return the body in the form that says most: HTML, RTF (which may hold HTML), plain text."""
    if envelope.html.strip():
        return _leaf(envelope.html, "text/html", parent, charset=envelope.html_codec)
    if envelope.rtf:
        rich = read_rtf(envelope.rtf)
        if rich.text.strip():
            kind = "text/html" if rich.is_html else "text/plain"
            return _leaf(rich.text.encode("utf-8", "replace"), kind, parent, charset="utf-8")
    if envelope.text.strip():
        return _leaf(envelope.text.encode("utf-8", "replace"), "text/plain", parent, charset="utf-8")
    return None


def _file_part(file: EmbeddedFile, parent: Part) -> Part:
    if file.is_message:
        wrapper = _leaf(file.data, "message/rfc822", parent)
        headers, body, _ = read_headers(message := as_message(file.data) or b"", 0, len(message), 100_000)
        wrapper.children = [Part(message, body, len(message), headers, wrapper, "text/plain")]
        return wrapper
    mime = file.mime or sniff(file.data) or "application/octet-stream"
    part = _leaf(file.data, mime, parent, content_id=file.content_id)
    part.filename = safe_filename(file.filename or "")
    part.disposition = "inline" if file.content_id and mime.startswith("image/") else "attachment"
    return part


def _leaf(data: bytes, mime: str, parent: Part, *, charset: str = "", content_id: str | None = None) -> Part:
    fields = [("content-id", content_id.encode("utf-8", "replace"))] if content_id else []
    part = Part(data, 0, len(data), Headers(fields), parent, mime)
    if charset:
        part.params = {"charset": charset}
    return part
