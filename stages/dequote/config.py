"""What the dequote stage can be told: which kinds of segments count as the sender's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from models.base import Record

if TYPE_CHECKING:
    from models.config import Settings
    from models.curated import Curated

Choice = Literal["kept", "removed"]


class DequotePolicy(Record):
    """Kept or removed, by kind. `signature_policy` covers contact blocks and device lines, `signoff_policy`
    the closing formula with its name, `forward_policy` a forwarded mail with its header. Quotes,
    attributions, disclaimers, list footers and banners are never part of the clean text."""

    signature_policy: Choice = "removed"
    signoff_policy: Choice = "removed"
    forward_policy: Choice = "removed"
    max_chars: int = 2_000_000


def policy_of(settings: Settings, curated: Curated) -> DequotePolicy:
    """Return the policy for a run; no setting and no curated file changes it yet."""
    return DequotePolicy()
