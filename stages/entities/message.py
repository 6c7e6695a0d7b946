"""What the entities stage reads of a message: headers as decoded, and the clean text."""

from __future__ import annotations

import msgspec

from models.base import Record
from models.message import Address, Category, Decoded


class EntitiesInput(Record):
    """The declared input: a change of any field makes the stage run again, of anything else does not.

    `text` is the clean text that all spans point into; `sent` is ISO 8601 with the sender's own offset,
    None where the message has no date (relative dates then stay unresolved).
    """

    subject: str = ""
    text: str = ""
    language: str | None = None
    from_: Address | None = msgspec.field(name="from", default=None)
    sender: Address | None = None
    reply_to: list[Address] = []
    to: list[Address] = []
    cc: list[Address] = []
    original_from: Address | None = None
    list_id: str | None = None
    sent: str | None = None
    category: Category = "conversation"


def input_of(decoded: Decoded, clean: str) -> EntitiesInput:
    """Return the stage's input for a decoded message and the clean text that dequote kept of it."""
    return EntitiesInput(
        subject=decoded.subject,
        text=clean,
        language=decoded.language,
        from_=decoded.from_,
        sender=decoded.sender,
        reply_to=decoded.reply_to,
        to=decoded.to,
        cc=decoded.cc,
        original_from=decoded.original_from,
        list_id=decoded.list_id,
        sent=decoded.sent_at,
        category=decoded.category,
    )
