"""What the stage reads of a decoded message, and nothing more: the cache key is a digest of it."""

from __future__ import annotations

import msgspec

from models.base import Record
from models.message import Address, Decoded, QuoteMark


class DequoteInput(Record):
    """The text with its HTML quote edges, and the headers that tell signature from content."""

    text: str
    quote_marks: list[QuoteMark] = []
    from_: Address | None = msgspec.field(name="from", default=None)
    subject: str = ""
    language: str | None = None


def input_of(decoded: Decoded) -> DequoteInput:
    """Return the part of `decoded` that dequote depends on."""
    return DequoteInput(
        text=decoded.body_text,
        quote_marks=decoded.quote_marks,
        from_=decoded.from_,
        subject=decoded.subject,
        language=decoded.language,
    )
