"""Structured header values: media type, disposition and their parameters (RFC 2045 §5.1, RFC 2231)."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from stages.decode.charset import decode_bytes
from stages.decode.words import decode_words, header_text, one_line

_PARAM = re.compile(r';\s{0,80}([^=;\s"]{1,80})\s{0,20}=\s{0,20}("(?:[^"\\]|\\.)*"?|[^;]*)')
_MEDIA = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,200}", re.ASCII)
_SECTION = re.compile(r"([^*]{1,60})(?:\*([0-9]{1,3}))?(\*)?$")
_HEAD_COMMENT = re.compile(r"^([^;\"(]{0,200})\([^()]{0,300}\)")  # it may hold a `;` of its own
_SWAPPED = {"plain/text": "text/plain", "html/text": "text/html"}
_ESCAPE = re.compile(r"\\([\"\\])")  # no other: Windows clients write paths with bare backslashes
_MAX_PARAMS = 200


def media_type(value: bytes | None, default: str) -> tuple[str, dict[str, str]]:
    """Return the lower-case media type and its parameters; an invalid type is read as `text/plain`
    (RFC 2045 §5.2), an absent one as `default`."""
    if value is None:
        return default, {}
    text = header_text(value)
    kind, params = parameters(text)
    kind = "/".join(piece.strip() for piece in kind.split("(", 1)[0].lower().split("/"))
    kind = kind.split()[0] if kind.split() else ""
    found = _MEDIA.match(kind)
    if found and (found.end() == len(kind) or not kind.startswith("text/")):
        return _SWAPPED.get(found[0], found[0]), params
    if kind in {"multipart", "message"}:
        return {"multipart": "multipart/mixed", "message": "message/rfc822"}[kind], params
    return ("text/plain" if kind else default), params


def parameters(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first `;` and the parameters, RFC 2231 sections joined and decoded."""
    text = _HEAD_COMMENT.sub(r"\1", text)
    head, _, _ = text.partition(";")
    plain: dict[str, str] = {}
    sections: dict[str, dict[int, tuple[bool, str]]] = {}
    for count, match in enumerate(_PARAM.finditer(text, len(head))):
        if count >= _MAX_PARAMS:
            break
        name, value = match[1].lower(), match[2].strip()
        quoted = value.startswith('"')
        if quoted:
            value = _ESCAPE.sub(r"\1", value[1:-1] if value.endswith('"') and len(value) > 1 else value[1:])
        part = _SECTION.match(name)
        if part is None or (part[2] is None and part[3] is None):
            plain.setdefault(name, value)
            continue
        sections.setdefault(part[1], {}).setdefault(int(part[2] or 0), (part[3] is not None, value))
    for name, pieces in sections.items():
        plain[name] = _joined_sections(pieces)
    return head.strip(), plain


def _joined_sections(pieces: dict[int, tuple[bool, str]]) -> str:
    charset = None
    data = b""
    for index in sorted(pieces):
        extended, value = pieces[index]
        if extended and index == min(pieces) and value.count("'") >= 2:
            charset, _, value = value.split("'", 2)
        raw = value.encode("utf-8", "surrogateescape")
        data += unquote_to_bytes(raw) if extended else raw
    return decode_bytes(data, charset or None)


def filename_of(disposition: dict[str, str], content_type: dict[str, str]) -> tuple[str | None, str | None]:
    """Return the decoded, safe file name of a part and, where it had to be changed for that, the one as
    written; None if it has none.

    RFC 2047 words are decoded although RFC 2231 forbids them there: most clients write them.
    """
    for name in (disposition.get("filename"), content_type.get("name")):
        if name:
            written = decode_words(name)
            safe = safe_filename(written)
            if safe:
                return safe, None if safe == written.strip() else one_line(written)[:1000]
    return None, None


_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]+")


def safe_filename(name: str) -> str | None:
    """Return `name` without folders, control characters and direction overrides; None if nothing is left."""
    name = _UNSAFE.sub(" ", name).replace("\\", "/").rsplit("/", 1)[-1]
    name = " ".join(name.split()).strip(' "')
    if not name.strip("."):
        return None
    if len(name) > 240:  # keep the extension: it says what the file is
        stem, dot, extension = name.rpartition(".")
        name = stem[: 230 - len(extension)] + dot + extension if dot and len(extension) < 20 else name[:240]
    return name
