"""What the user can set for the fetch stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from models.base import Record

if TYPE_CHECKING:
    from models.config import Settings
    from models.curated import Curated


class FetchPolicy(Record):
    """Folders to read (servers only; an archive is read whole) and the largest message in MB.

    A larger message is still listed and read, so that it ends in quarantine and not in silence. Only what
    no memory should be asked to hold (`ceiling`) is named unreadable instead.
    """

    include: list[str] = msgspec.field(default_factory=lambda: ["INBOX", "Sent"])
    exclude: list[str] = []
    max_message_mb: int = 50

    @property
    def ceiling(self) -> int:
        """The most bytes that are read for one message: 1 GiB, or four times a larger `max_message_mb`."""
        return max(1 << 30, 4 * self.max_message_mb << 20)


def policy_of(settings: Settings, curated: Curated) -> FetchPolicy:
    """Return the slice of the configuration that fetch depends on; curated files play no part."""
    return FetchPolicy(
        include=list(settings.folders.include),
        exclude=list(settings.folders.exclude),
        max_message_mb=settings.email.max_message_mb,
    )
