"""The databases that the contract of the ledger is checked on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, Table, create_engine, select, text

from storage import schema
from storage.ledger import Ledger, open_ledger

TENANT = "acme"
A, B, C, D = (f"blake3:{letter * 64}" for letter in "abcd")
"""Raw hashes of four messages."""


@dataclass(frozen=True)
class Database:
    """A state folder and the URL of its ledger (None: SQLite in the folder)."""

    state: Path
    url: str | None

    def open(self, tenant: str = TENANT) -> Ledger:
        return open_ledger(self.state, self.url, tenant)


def empty(url: str) -> None:
    """Remove every row of a PostgreSQL ledger."""
    engine = create_engine(url)
    with engine.begin() as connection:
        names = ", ".join(f'"{name}"' for name in schema.metadata.tables)
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY"))
    engine.dispose()


def place(uid: str, raw: str, **more: str | None) -> dict[str, str | None]:
    """Return the row of a place that was listed."""
    row: dict[str, str | None] = {"folder": "INBOX", "uid": uid, "raw": raw, "stamp": f"stamp of {raw}"}
    return {**row, "locator": f"at {uid}", "internal_date": None, **more}


def everything(ledger: Ledger, table: Table) -> list[tuple[object, ...]]:
    with ledger.read() as connection:
        return sorted(tuple(row) for row in connection.execute(select(table)))


def everything_in(connection: Connection, column: Column[str]) -> list[str]:
    return sorted(connection.scalars(select(column)))


def wanted_rows(connection: Connection) -> dict[str, tuple[str, str]]:
    rows = connection.execute(text("SELECT path, owner, digest FROM wanted"))
    return {path: (owner, digest) for path, owner, digest in rows}
