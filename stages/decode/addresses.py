"""Address lists (RFC 5322 §3.4), split before anything is decoded, in one linear pass.

Understands groups, nested comments, quoted commas, missing brackets, encoded words with specials inside,
and `Last, First <a@b>` without quotes. Addresses come out case-folded; whom they belong to is not decided
here.
"""

from __future__ import annotations

import re

from models.message import Address
from stages.decode.words import WORD, decode_words, header_text, one_line

_SPECIAL = re.compile(r'=\?|["(<,;:]')
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_PAREN = re.compile(r"\\.|[()]", re.DOTALL)
_BARE = re.compile(r"[^\s<>,;:\"()\[\]@]{1,200}@[^\s<>,;:\"()@]{1,260}")
_JUNK = re.compile(r"[\s\x00-\x1f\x7f<>\"]+")
_MAX_ADDRESSES = 5_000
_MAX_FIELDS = 20


class _Mailbox:
    """What has been read of one mailbox so far."""

    __slots__ = ("address", "comments", "ended", "name", "raw")

    def __init__(self) -> None:
        self.name: list[str] = []  # display name pieces, quotes undone
        self.raw: list[str] = []  # the same as written, for addresses without brackets
        self.comments: list[str] = []
        self.address: str | None = None
        self.ended = 0  # pieces of the name that stand in front of the address

    def add(self, text: str, written: str | None = None) -> None:
        self.name.append(text)
        self.raw.append(text if written is None else written)

    def is_empty(self) -> bool:
        return self.address is None and not self.comments and not "".join(self.raw).strip()


def parse_addresses(values: list[bytes], hint: str | None = None) -> list[Address]:
    """Return the mailboxes of all fields of one name in order; entries without an address are dropped
    unless they stand in brackets."""
    found: list[Address] = []
    if len(values) > _MAX_FIELDS:  # each field's charset is looked for: a heap of them is read as one
        values = [*values[:_MAX_FIELDS], b", ".join(values[_MAX_FIELDS:])]
    for value in values:
        found.extend(mailbox for mailbox in split_addresses(header_text(value, hint)) if mailbox.email)
    return found[:_MAX_ADDRESSES]


def first_address(value: bytes | None, hint: str | None = None) -> Address | None:
    """Return the first mailbox of a field; a name without address is kept, None if there is nothing."""
    if not value:
        return None
    mailboxes = split_addresses(header_text(value, hint))
    for mailbox in mailboxes:
        if mailbox.email:
            return mailbox
    return mailboxes[0] if mailboxes else None


def split_addresses(text: str) -> list[Address]:
    """Return every mailbox of an address list that is text already, names decoded."""
    closing = _closing_parens(text) if "(" in text else {}
    out: list[Address] = []
    held: str | None = None  # "Last" of an unquoted "Last, First <a@b>"
    box = _Mailbox()
    at = 0
    no_more_quotes = no_more_angles = False
    while at < len(text):
        special = _SPECIAL.search(text, at)
        if special is None:
            box.add(text[at:])
            break
        here = special.start()
        if here > at:
            box.add(text[at:here])
        at = special.end()
        sign = special[0]
        if sign == "=?":
            word = WORD.match(text, here)
            piece = word[0] if word else sign
            box.add(piece)
            at = here + len(piece)
        elif sign == '"':
            quoted = None if no_more_quotes else _QUOTED.match(text, here)
            if quoted is None:
                no_more_quotes = True
                continue
            box.add(_ESCAPE.sub(r"\1", quoted[1]), quoted[0])
            at = quoted.end()
        elif sign == "(":
            end = closing.get(here)
            if end is not None:
                box.comments.append(text[here + 1 : end])
                at = end + 1
        elif sign == "<":
            end = -1 if no_more_angles else text.find(">", at)
            if end < 0:
                no_more_angles = True
                stop = min(
                    (i for i in (text.find(",", at, at + 400), text.find(";", at, at + 400)) if i >= 0),
                    default=-1,
                )
                end = stop if stop >= 0 else len(text)
                content, at = text[at:end], end
            else:
                content, at = text[at:end], end + 1
            if box.address is not None and "@" in box.address and "@" in content:
                held, box = _next_unseparated(box, held, out)
            if box.address is None or "@" not in box.address:
                box.address, box.ended = content, len(box.name)
        elif sign == ":":
            if box.address is None and "@" not in "".join(box.raw[-8:]):
                box = _Mailbox()  # the name of a group, or `mailto:`
            else:
                box.add(":")
        else:
            held = _finish(box, held, out)
            box = _Mailbox()
            if sign == ";":
                held = None
            if len(out) >= _MAX_ADDRESSES:
                return out
    held = _finish(box, held, out)
    if not out and held is not None:
        out.append(Address(name=_display(held)))
    return out


def _next_unseparated(box: _Mailbox, held: str | None, out: list[Address]) -> tuple[str | None, _Mailbox]:
    """Finish a mailbox at the bracket of the next one: no comma, or one of another script, stands between."""
    following = _Mailbox()
    for name, written in zip(box.name[box.ended :], box.raw[box.ended :], strict=True):
        following.add(name, written)
    del box.name[box.ended :], box.raw[box.ended :]
    return _finish(box, held, out), following


def _finish(box: _Mailbox, held: str | None, out: list[Address]) -> str | None:
    """Put the mailbox that was read into `out`; return a leading name fragment to hold for the next."""
    if box.is_empty():
        return held
    name = "".join(box.name).strip()
    if box.address is None:
        written = "".join(box.raw)
        bare = _quoted_local(written) or _BARE.search(written)
        if bare is None:
            if name and not box.comments and len(name) <= 60 and held is None and not _is_long(name):
                return name
            if name:
                out.append(Address(name=_display(name)))
            return held
        box.address = bare[0]
        name = (written[: bare.start()] + " " + written[bare.end() :]).strip(" \"'<>")
    elif held is not None and name:
        name = f"{held.rstrip(chr(92))}, {name}"
        held = None
    if not name and box.comments:
        name = box.comments[0]
    email = clean_address(box.address)
    name = _display(name)
    if not email and not name:
        return None
    out.append(Address(name="" if name.casefold() == email else name, email=email))
    return None


_QUOTED_LOCAL = re.compile(r'"[^"\\]{1,200}"@[^\s<>,;:"()@]{1,260}')


def _quoted_local(written: str) -> re.Match[str] | None:
    return _QUOTED_LOCAL.search(written) if '"@' in written else None


def _is_long(name: str) -> bool:
    """Return whether a fragment is too long to be the family name in front of a comma."""
    return len(name.split()) > 3


def clean_address(text: str) -> str:
    """Return an address without route, brackets and white space, case-folded; "" if nothing is left."""
    if "=?" in text:
        text = decode_words(text)
    text = text.strip()
    if text.startswith("@") and ":" in text:  # obsolete route: <@relay,@relay:user@host>
        text = text.rpartition(":")[2]
    if text[:7].lower() == "mailto:":
        text = text[7:]
    quoted = text.startswith('"')
    text = one_line(text) if quoted else _JUNK.sub("", text)
    if len(text) > 600:
        return ""
    return text.strip("'").rstrip(".").casefold() if "@" in text else text.casefold()


def _display(name: str) -> str:
    name = " ".join(one_line(decode_words(name)).split()).lstrip("，；、")
    while len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1].strip()
    return name[:500]


def _closing_parens(text: str) -> dict[int, int]:
    """Return for each `(` that is closed the offset of its `)`."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for sign in _PAREN.finditer(text):
        if sign[0] == "(":
            opened.append(sign.start())
        elif sign[0] == ")" and opened:
            closing[opened.pop()] = sign.start()
    return closing
