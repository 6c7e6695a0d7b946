"""What the storage tests share: a database of each kind, a state folder, no ATLAS_ variable of the caller."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from databases import TENANT, Database, empty
from postgres_server import NotInstalled, PostgresServer, running_server

from storage.ledger import Ledger, open_ledger

SQLITE = "sqlite"
POSTGRES = pytest.param("postgresql", marks=pytest.mark.postgres)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ATLAS_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    try:
        with running_server() as server:
            yield server
    except NotInstalled as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def shared_database(postgres: PostgresServer) -> str:
    """Return the URL of a database that the tests empty and use again: making one takes half a second."""
    url = postgres.create_database()
    open_ledger(Path(), url, TENANT).close()
    return url


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(params=[SQLITE, POSTGRES])
def database(request: pytest.FixtureRequest, state: Path) -> Database:
    """Return a database without a row, once of each kind."""
    if request.param == SQLITE:
        return Database(state, None)
    url: str = request.getfixturevalue("shared_database")
    empty(url)
    return Database(state, url)


@pytest.fixture(params=[SQLITE, POSTGRES])
def new_database(request: pytest.FixtureRequest, state: Path) -> Database:
    """Return a database that nobody ever opened, once of each kind."""
    if request.param == SQLITE:
        return Database(state, None)
    server: PostgresServer = request.getfixturevalue("postgres")
    return Database(state, server.create_database())


@pytest.fixture
def ledger(database: Database) -> Iterator[Ledger]:
    ledger = database.open()
    yield ledger
    ledger.close()


@pytest.fixture
def sqlite_ledger(state: Path) -> Iterator[Ledger]:
    ledger = open_ledger(state, None, TENANT)
    yield ledger
    ledger.close()


@pytest.fixture
def with_umask() -> Iterator[Callable[[int], None]]:
    """Return a function that sets the umask; the test's end sets it back."""
    before = os.umask(0o022)
    os.umask(before)
    yield lambda mask: (os.umask(mask), None)[1]
    os.umask(before)
