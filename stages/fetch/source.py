"""The shape of a source: what every mailbox and archive offers, and the records it hands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from models.base import Record
from models.batch import Unreadable
from models.errors import AtlasError


class Item(Record):
    """One message as a source lists it; (account, folder, uid) names it for ever.

    `folder` is a path with `/`, "." at the top; an mbox is a folder of its own (its path). `uid` is the
    path relative to the source, in a Maildir the name without its flags, in an mbox the content hash.
    `locator` is what `read` needs and nothing else may look into. `stamp` changes when the bytes may have
    changed. `internal_date` is the server's date, None for archives.
    """

    folder: str
    uid: str
    locator: str
    stamp: str
    internal_date: str | None = None


class Listing(Record):
    """A batch of items, in a fixed order. `cursor` is opaque, None for archives.

    `containers` (folder → stamp) names each container file (an mbox) whose last member stands in this batch
    or before it: once the batch is stored, `KnownStamps.container` may answer with that stamp.
    """

    items: list[Item] = []
    cursor: str | None = None
    unreadable: list[Unreadable] = []
    containers: dict[str, str] = {}


class KnownStamps(Protocol):
    """What earlier runs stored, so that an unchanged container is not scanned again."""

    def container(self, folder: str) -> str | None:
        """Return the stamp of the container when it was last listed completely, or None."""

    def members(self, folder: str) -> Iterator[Item]:
        """Yield the items known from that container, in the order in which they were listed."""


class NothingKnown:
    """What a first run knows: no container, no member."""

    def container(self, folder: str) -> str | None:
        """Return None."""
        return None

    def members(self, folder: str) -> Iterator[Item]:
        """Yield nothing."""
        return iter(())


class MailSource(Protocol):
    """A mailbox or archive of one account, read-only."""

    account: str

    def listing(self, known: KnownStamps, batch_size: int) -> Iterator[Listing]:
        """Yield everything the source holds in batches of at most `batch_size`, in a fixed order."""

    def read(self, item: Item) -> bytes:
        """Return the bytes of one message. Raises ItemVanished."""

    def close(self) -> None:
        """Let go of files and connections."""


class ItemVanished(AtlasError):
    """An item was listed, but its bytes cannot be had any more; `detail` says why, `message` is its uid."""

    kind = "transient"
