"""What a source lists beside what the ledger knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import select

from flows.request import RunRequest
from stages.decode.config import DecodePolicy
from stages.fetch.source import Item, ItemVanished, MailSource
from stages.thread.node import effective_date
from storage.ledger import Ledger, chunks
from storage.schema import cursor, location, node
from storage.work import known_locations, members_of, note_members


class KnownInLedger:
    """The stored places and container stamps of one account."""

    def __init__(self, ledger: Ledger, account: str) -> None:
        self.ledger = ledger
        self.account = account

    def container(self, folder: str) -> str | None:
        """Return the stamp of a container (an mbox) when it was last stored completely."""
        with self.ledger.read() as connection:
            query = select(cursor.c.value).where(cursor.c.account == self.account, cursor.c.folder == folder)
            return connection.execute(query).scalar()

    def members(self, folder: str) -> Iterator[Item]:
        with self.ledger.read() as connection:
            rows = members_of(connection, self.account, folder)
        for uid, locator, stamp in rows:
            yield Item(folder=folder, uid=uid, locator=locator, stamp=stamp)

    def note_members(self, folders: Iterable[str], listed: Iterable[int]) -> None:
        """Note that containers were listed completely: of their known places, those in `listed` are present."""
        present = set(listed)
        with self.ledger.write() as connection:
            for folder in folders:
                note_members(connection, self.account, folder, present)

    def split(self, items: Sequence[Item]) -> tuple[list[Item], list[int]]:
        """Return the items that are new or changed, and the location ids of the others."""
        with self.ledger.read() as connection:
            known = known_locations(connection, self.account, [(item.folder, item.uid) for item in items])
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
            known = known_locations(connection, self.account, [(item.folder, item.uid) for item in items])
        places = [known[(item.folder, item.uid)] for item in items if (item.folder, item.uid) in known]
        return [place.id for place in places], [place.raw for place in places]

    def inside(self, ids: Sequence[int], request: RunRequest) -> list[int]:
        """Return those known locations whose message lies in the asked days."""
        kept = []
        with self.ledger.read() as connection:
            for part in chunks(ids):
                query = (
                    select(location.c.id, node.c.date)
                    .select_from(location.outerjoin(node, location.c.raw == node.c.raw))
                    .where(location.c.id.in_(part))
                )
                kept += [number for number, date in connection.execute(query) if request.covers(date)]
        return sorted(kept)


def outside(
    source: MailSource, items: Sequence[Item], request: RunRequest, policy: DecodePolicy
) -> list[str]:
    """Return the uids of new items whose own date lies outside the asked days (archives)."""
    from stages.decode import read_dates

    skipped = []
    for item in items:
        try:
            sent, received = read_dates(source.read(item), policy)
        except ItemVanished:
            continue
        if not request.covers(effective_date(sent, received)):
            skipped.append(item.uid)
    return skipped
