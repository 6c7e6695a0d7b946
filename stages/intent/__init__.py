"""Intent: what the sender wants this message to do, one of eight, with the whole ranking beside it.

Takes the subject and the clean text and returns a primary intent, secondary ones and a ranking that sums
to 1. The embedded default is a small linear classifier over character and word n-grams plus cue lists per
language (`packs/`); it runs everywhere, needs no network and gives the same answer for the same text. Mail
is data: text that tries to instruct the classifier is flagged and weighs nothing.
"""

from __future__ import annotations

from models.message import Intent
from stages.intent.config import IntentPolicy, policy_of
from stages.intent.message import IntentInput, input_of

VERSION = "2"

__all__ = ["VERSION", "IntentInput", "IntentPolicy", "classify_intent", "input_of", "policy_of"]


def classify_intent(message: IntentInput, policy: IntentPolicy) -> Intent:
    """Return the intent of `message`.

    Confidence under `policy.min_confidence` (0.6) makes the primary 通知 and sets `low_confidence`; the
    ranking keeps what the classifier thought. Machine mail is 通知 by its category; text that could not be
    read is `unknown` with an empty ranking. Never raises on content.
    """
    from stages.intent.classify import classify

    return classify(message, policy)
