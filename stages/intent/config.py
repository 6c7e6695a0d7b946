"""The intent stage's slice of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.base import Record
from models.curated import Curated
from models.message import UNREADABLE_SHARE

if TYPE_CHECKING:
    from models.config import Settings


class IntentPolicy(Record):
    """Limits of the classifier; both are part of the contract (CONTRACTS §1) and rarely changed."""

    min_confidence: float = 0.6
    max_replaced_share: float = UNREADABLE_SHARE


def policy_of(settings: Settings, curated: Curated) -> IntentPolicy:
    """Return the policy. The embedded classifier reads nothing from the config or the curated files yet."""
    return IntentPolicy()
