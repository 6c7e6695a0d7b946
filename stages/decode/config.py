"""What decode lets itself be told: caps, and whether the HTML body is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.base import Record

if TYPE_CHECKING:
    from models.config import Settings
    from models.curated import Curated


class DecodePolicy(Record):
    """Caps of one message. Over `max_message_mb` (MiB), `max_attachments`, `max_parts` or `max_depth`
    the message is refused; longer headers and HTML are cut at their cap and the cut is a repair."""

    max_message_mb: int = 50
    max_attachments: int = 50
    max_parts: int = 1000
    max_depth: int = 50
    max_header_chars: int = 100_000
    max_html_chars: int = 4_000_000
    body_html: bool = False


def policy_of(settings: Settings, curated: Curated) -> DecodePolicy:
    """Return decode's slice of the configuration; no curated file is read by this stage."""
    return DecodePolicy(
        max_message_mb=settings.email.max_message_mb,
        max_attachments=settings.email.max_attachments,
        body_html=settings.output.body_html,
    )
