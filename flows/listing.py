"""What a source lists beside what the ledger knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flows.request import RunRequest
from models.batch import Unreadable
from stages.decode import read_dates
from stages.decode.config import DecodePolicy
from stages.fetch.source import Item, ItemVanished, MailSource, NothingKnown
from stages.thread.node import effective_date
from storage import work
from storage.ledger import Ledger


class KnownInLedger:
    """The stored places and container stamps of one account."""

    def __init__(self, ledger: Ledger, account: str) -> None:
        self.ledger = ledger
        self.account = account

    def container(self, folder: str) -> str | None:
        """Return the stamp of a container (an mbox) when it was last stored completely."""
        with self.ledger.read() as connection:
            return work.cursor_of(connection, self.account, folder)

    def members(self, folder: str) -> Iterator[Item]:
        """Yield the items of a container's last complete listing, as first listed."""
        with self.ledger.read() as connection:
            rows = work.members_of(connection, self.account, folder)
        for uid, locator, stamp in rows:
            yield Item(folder=folder, uid=uid, locator=locator, stamp=stamp)

    def note_members(self, folders: Iterable[str], listed: Iterable[int]) -> None:
        """Note that containers were listed completely: of their known places, those in `listed` are present."""
        present = set(listed)
        with self.ledger.write() as connection:
            for folder in folders:
                work.note_members(connection, self.account, folder, present)

    def split(self, items: Sequence[Item]) -> tuple[list[Item], list[int]]:
        """Return the items that are new or changed, and the location ids of the others."""
        with self.ledger.read() as connection:
            known = work.known_locations(
                connection, self.account, [(item.folder, item.uid) for item in items]
            )
        fresh, seen = [], []
        for item in items:
            place = known.get((item.folder, item.uid))
            if place is None or place.stamp != item.stamp:
                fresh.append(item)
            else:
                seen.append(place.id)
        return fresh, seen

    def stored(self, items: Sequence[Item]) -> tuple[list[int], list[str]]:
        """Return location ids and raw hashes of items that were stored just now."""
        with self.ledger.read() as connection:
            known = work.known_locations(
                connection, self.account, [(item.folder, item.uid) for item in items]
            )
        places = [known[(item.folder, item.uid)] for item in items if (item.folder, item.uid) in known]
        return [place.id for place in places], [place.raw for place in places]

    def inside(self, ids: Sequence[int], request: RunRequest) -> list[int]:
        """Return those known locations whose message lies in the asked days."""
        with self.ledger.read() as connection:
            dates = work.dates_of(connection, ids)
        return sorted(number for number, date in dates.items() if request.covers(date))


class Listed(NamedTuple):
    """A listing of a source beside what the ledger knows of it.

    `fresh` are items that are new or changed, `seen` the location ids of the others. `containers` is empty
    where the run does not take all that they hold.
    """

    fresh: list[Item]
    seen: list[int]
    unreadable: list[Unreadable]
    containers: dict[str, str]


def list_source(
    source: MailSource, known: KnownInLedger | None, request: RunRequest, policy: DecodePolicy, size: int
) -> Iterator[Listed]:
    """Yield what `request` asks of a source in batches of at most `size`; `known` is None without a ledger."""
    left = request.limit
    for listing in source.listing(known or NothingKnown(), size):
        fresh, seen = known.split(listing.items) if known else (listing.items, [])
        if request.bounded:
            seen = known.inside(seen, request) if known else []
            fresh = [item for item in fresh if _is_asked(source, item, request, policy)]
        if left is not None:
            fresh = fresh[:left]
            left -= len(fresh)
        everything = request.limit is None and not request.bounded
        yield Listed(fresh, seen, listing.unreadable, listing.containers if everything else {})
        if left is not None and left <= 0:
            return


def _is_asked(source: MailSource, item: Item, request: RunRequest, policy: DecodePolicy) -> bool:
    """Return whether a new item's own date lies in the asked days; one that vanished is left to fetch to name."""
    try:
        sent, received = read_dates(source.read(item), policy)
    except ItemVanished:
        return True
    return request.covers(effective_date(sent, received))
