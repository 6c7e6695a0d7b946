"""How two texts are compared: what counts as the same text, and which words of one the other lost."""

from __future__ import annotations

import base64
import difflib
import email
import email.policy
import re
import unicodedata
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from itertools import groupby
from typing import Any

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad\ufffc]")
_QUOTE_MARKS = re.compile(r"^[ \t]*>(?:[ \t]?>)*[ \t]?", re.MULTILINE)
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u3040-\u30ff"
_TOKEN = re.compile(f"[{_CJK}]|[^\\W_]+")
_PIECE = re.compile(f"[{_CJK}]|[^\\W_]+|\\s+|.", re.DOTALL)
_BREAKING = (
    "p div br li ul ol tr table blockquote h1 h2 h3 h4 h5 h6 hr pre section article header footer dl dt dd "
    "center form fieldset body html tbody thead"
)
_BREAKS = frozenset(_BREAKING.split())
_UNSEEN = frozenset(("script", "style", "head", "title"))
_DIFF_PIECES = 3000  # a longer text is compared up to here when its difference is shown
_SHOWN_SAME = 28  # characters of common text kept on either side of a difference


def folded(text: str, *, tight: bool) -> str:
    """Return `text` as it is compared: NFC, no invisible characters and quote marks, spaces folded.

    Each run of white space is one space, or nothing where `tight` (texts that came from HTML).
    """
    plain = unicodedata.normalize("NFC", text).replace("\u00a0", " ").replace("\u3000", " ")
    plain = _QUOTE_MARKS.sub("", _INVISIBLE.sub("", plain))
    return ("" if tight else " ").join(plain.split())


def tokens(text: str) -> list[str]:
    """Return the words of `text`: one CJK character each, or a run of letters and digits."""
    return _TOKEN.findall(_INVISIBLE.sub("", unicodedata.normalize("NFC", text)))


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, one bit per token of `one` (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << place
    full = (1 << len(one)) - 1
    rows = full
    for token in other:
        hits = rows & places.get(token, 0)
        rows = ((rows + hits) | (rows - hits)) & full
    return len(one) - rows.bit_count()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.unseen = self.preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self.unseen += 1
        elif tag == "body":
            self.unseen = 0
        elif tag == "pre":
            self.preformatted += 1
        if tag in _BREAKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN and self.unseen:
            self.unseen -= 1
        elif tag == "pre" and self.preformatted:
            self.preformatted -= 1
        if tag in _BREAKS and tag != "br":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data if self.preformatted else re.sub(r"[ \t\r\n\f]+", " ", data))


def html_text(source: str) -> str:
    """Return the visible text of HTML, one line per block: how a labelled HTML input is counted."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    lines = "\n".join(line.strip() for line in "".join(reader.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def input_text(row: Mapping[str, Any]) -> str:
    """Return the text that a labelled dequote row starts from (`kind` text, html or eml)."""
    data = (
        base64.b64decode(row["input_b64"])
        if "input_b64" in row
        else str(row["input"]).encode("utf-8", "surrogatepass")
    )
    if row["kind"] == "eml":
        return _mail_text(data)
    text = data.decode("utf-8", "replace")
    return html_text(text) if row["kind"] == "html" else text


def _mail_text(data: bytes) -> str:
    found: dict[str, str] = {}
    for part in email.message_from_bytes(data, policy=email.policy.compat32).walk():
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html") and kind not in found:
            payload = part.get_payload(decode=True)
            body = payload if isinstance(payload, bytes) else b""
            try:
                found[kind] = body.decode(part.get_content_charset() or "utf-8", "replace")
            except LookupError:
                found[kind] = body.decode("utf-8", "replace")
    plain = found.get("text/plain")
    return plain if plain is not None else html_text(found.get("text/html", ""))


def difference(expected: str, found: str, limit: int = 900) -> list[tuple[str, str]]:
    """Return how `found` differs as (mark, text) pieces: "=" in both, "-" lost, "+" left over.

    Long common runs are shortened to `…`, the whole to about `limit` characters.
    """
    one, other = _PIECE.findall(expected)[:_DIFF_PIECES], _PIECE.findall(found)[:_DIFF_PIECES]
    rows: list[tuple[str, str]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            rows.append(("=", "".join(one[a:b])))
        else:
            lost, more = "".join(one[a:b]), "".join(other[c:d])
            if not lost.strip() and not more.strip():
                rows.append(("=", lost or more))
            rows += [(mark, text) for mark, text in (("-", lost), ("+", more)) if text.strip()]
    joined = [(mark, "".join(text for _, text in run)) for mark, run in groupby(rows, key=lambda row: row[0])]
    return _shortened(joined, limit)


def _shortened(rows: list[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    shown: list[tuple[str, str]] = []
    room = limit
    for number, (mark, text) in enumerate(rows):
        text = re.sub(r"\s*\n\s*", "\n", text)
        text = text if mark == "=" else text.strip("\n")
        keep = _SHOWN_SAME if mark == "=" else max(80, limit // 3)
        if mark == "=" and number == 0:
            text = "…" + text[-keep:] if len(text) > keep else text
        elif mark == "=" and number == len(rows) - 1:
            text = text[:keep] + "…" if len(text) > keep else text
        elif len(text) > 2 * keep + 3:
            text = f"{text[:keep]} … {text[-keep:]}"
        if room <= 0:
            return [*shown, ("=", " …")]
        shown.append((mark, text))
        room -= len(text)
    return shown


def clipped(text: str, width: int = 90) -> str:
    """Return `text` on one line of at most `width` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
