"""The databases that the contract of the ledger is checked on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, text

from storage import schema
from storage.ledger import Ledger, open_ledger

TENANT = "acme"


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
