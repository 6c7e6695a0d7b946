"""What the intent stage reads of a message."""

from __future__ import annotations

from models.base import Record
from models.message import Category, Decoded


class IntentInput(Record):
    """The declared input. `replaced_share` is the share of replacement characters among non-ASCII text."""

    subject: str = ""
    text: str = ""
    language: str | None = None
    category: Category = "conversation"
    replaced_share: float = 0.0


def input_of(decoded: Decoded, clean: str) -> IntentInput:
    """Return the stage's input for a decoded message and the clean text that dequote kept of it."""
    return IntentInput(
        subject=decoded.subject,
        text=clean,
        language=decoded.language,
        category=decoded.category,
        replaced_share=decoded.replaced_share,
    )
