"""Entities: who, when, how much, which customer and which matter a message speaks of.

Takes the headers and the clean text of one message and returns typed mentions with spans into that text.
Header people come first, then people named in the text; dates are resolved against the sender's own clock;
the customer is read off the domain map and always comes with a reason. Nothing is looked up outside the
message and the policy: `thread.py` joins the members of a conversation, `merge.py` proposes which addresses
may be one person, and neither ever merges by itself.
"""

from __future__ import annotations

from models.message import Entities
from stages.entities.config import EntitiesPolicy, policy_of
from stages.entities.message import EntitiesInput, input_of

VERSION = "1"

__all__ = ["VERSION", "EntitiesInput", "EntitiesPolicy", "extract_entities", "input_of", "policy_of"]


def extract_entities(message: EntitiesInput, policy: EntitiesPolicy) -> Entities:
    """Return the people, dates, amounts, keywords, actions and customer of `message`.

    Spans count characters of `message.text`, end exclusive. Reads the first 20,000 characters of the text
    and says so in `people_methods` ("text-truncated") where there was more. Never raises on content; where
    `message.sent` is None, relative dates stay unresolved and are left out.
    """
    from stages.entities.extract import extract

    return extract(message, policy)
