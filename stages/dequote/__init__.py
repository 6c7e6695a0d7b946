"""Dequote: keep what the sender wrote in this message, name everything else.

Takes the text of a decoded message and returns typed segments over it. Nothing is deleted: `clean` joins
the segments that the policy keeps, the rest stays addressable by its span.
"""

from __future__ import annotations

from models.message import Dequoted
from stages.dequote.config import DequotePolicy, policy_of
from stages.dequote.records import DequoteInput, input_of

VERSION = "2"

__all__ = ["VERSION", "DequoteInput", "DequotePolicy", "dequote", "input_of", "policy_of"]


def dequote(message: DequoteInput, policy: DequotePolicy) -> Dequoted:
    """Return the segments of `message.text` and its clean text.

    Offsets count characters of `message.text` (NFC, LF). Never raises on content; a body over
    `policy.max_chars` is segmented up to that point and marked `truncated`.
    """
    from stages.dequote.segment import segment_message

    return segment_message(message, policy)
