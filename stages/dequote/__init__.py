"""Dequote: keep what the sender wrote in this message, name everything else.

Takes the text of a decoded message and returns typed segments over it. Nothing is deleted: `clean` joins
the segments that the policy keeps, the rest stays addressable by its span.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.message import Dequoted
from stages.dequote.config import DequotePolicy, policy_of
from stages.dequote.records import DequoteInput, input_of

VERSION = "2"

__all__ = ["VERSION", "DequoteInput", "DequotePolicy", "dequote", "input_of", "policy_of"]


def dequote(message: DequoteInput, policy: DequotePolicy, earlier: Sequence[str] = ()) -> Dequoted:
    """Return the segments of `message` and its clean text.

    Offsets count characters of `message.text` (NFC, LF). Never raises on content; a body over
    `policy.max_chars` is segmented up to that point and marked `truncated`.

    `earlier` are texts of earlier messages of the exchange, where they are known: what stands in them is a
    quote without any mark, and what is new inside a quoted original is the sender's. The pipeline gives none:
    there a message's clean text depends on the message alone, whatever arrives in which order.
    """
    from stages.dequote.segment import segment_message

    return segment_message(message, policy, earlier)
