"""Message ids and what points at them (RFC 5322 §3.6.4), and the list's id (RFC 2919)."""

from __future__ import annotations

import re

from stages.decode.headers import Headers

_ANGLE = re.compile(r"<([^<>]{1,2000})>")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
_MAX_IDS = 2_000


def _plain(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def message_id(headers: Headers) -> str | None:
    """Return the Message-ID without surrounding space and one pair of angle brackets, case kept."""
    text = _plain(headers.get("message-id")).strip()
    if text.startswith("<"):
        end = text.find(">")
        text = text[1:] if end < 0 else text[1:end]
    text = _SPACE.sub("", text)
    return text or None


def reference_ids(headers: Headers) -> list[str]:
    """Return the ids of References, oldest first, each once; tokens with `@` count without brackets too."""
    ids: dict[str, None] = {}
    for value in headers.all("references"):
        text = _plain(value)
        last = 0
        for angle in _ANGLE.finditer(text):
            _loose(text[last : angle.start()], ids)
            found = _SPACE.sub("", angle[1])
            if found:
                ids.setdefault(found)
            last = angle.end()
        _loose(text[last:], ids)
    return list(ids)[-_MAX_IDS:]


def _loose(text: str, ids: dict[str, None]) -> None:
    for token in text.replace(",", " ").split():
        token = token.strip("<>\"';")
        if "@" in token.strip("@"):
            ids.setdefault(token)


def replied_id(headers: Headers) -> str | None:
    """Return the first id of In-Reply-To; prose and people's addresses in it are no ids."""
    text = _plain(headers.get("in-reply-to")).strip()
    if not text:
        return None
    angles = [_SPACE.sub("", angle[1]) for angle in _ANGLE.finditer(text)]
    around = _ANGLE.sub(" ", text).strip()
    for found in angles:
        if not around or _looks_made(found):
            return found
    for token in around.split():
        token = token.strip("<>\"',;")
        if "@" in token.strip("@") and (token == around or _looks_made(token)):
            return token
    return None


def _looks_made(found: str) -> bool:
    """Return whether a token with `@` was made by a machine: its left side holds a digit or is long."""
    left, at, _ = found.partition("@")
    return bool(at) and (any(c.isdigit() for c in left) or len(left) > 24)


def bare_list_id(headers: Headers) -> str | None:
    """Return List-Id without its description and angle brackets, lower-cased; None if there is none."""
    text = _plain(headers.get("list-id")).strip()
    if not text:
        return None
    angles = _ANGLE.findall(text)
    found = _SPACE.sub("", angles[-1] if angles else text.split()[-1].strip("<>")).lower()
    return found or None
