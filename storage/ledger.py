"""The ledger: one transactional database per state root. SQLite (WAL) by default, PostgreSQL by URL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from models.errors import Transient, UsageError
from storage import schema
from storage.durable import make_private

BUSY_SECONDS = 60
CHUNK = 500  # bound parameters per statement stay under SQLite's limit
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REBUILD = (
    "restore it from a backup; without one, move it away: the next run builds it anew from the sources "
    "(what was dismissed from quarantine comes back)"
)
_LOCK_KEY = 7_305_731  # advisory lock that makes PostgreSQL's writers wait for each other as SQLite's do


class Ledger:
    """Short transactions on one database; `write` holds the single writer's lock from its first statement."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def name(self) -> str:
        """Where the ledger is, without its password."""
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection with one consistent snapshot. Raises Transient when the database gives up."""
        with _typed_errors(), self.engine.connect() as connection:
            if self.engine.dialect.name == "postgresql":  # its default shows each statement another snapshot
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside a write transaction; commits at the end, rolls back on any exception."""
        with (
            _typed_errors(),
            self.engine.connect().execution_options(atlas_begin="IMMEDIATE") as connection,
            connection.begin(),
        ):
            if self.engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
            yield connection

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def open_ledger(state: Path, url: str | None, tenant: str) -> Ledger:
    """Return the ledger of a state root, created when missing.

    Raises UsageError where the database is another tenant's, of another version, or cannot be opened, and
    Transient where the disk is full or another process does not let go of it.
    """
    ledger = connect_ledger(state, url)
    try:
        with ledger.write() as connection:
            schema.metadata.create_all(connection)
            _check_owner(connection, tenant, state)
    except Transient as error:
        ledger.close()
        if _may_pass(error.__cause__):
            raise
        raise UsageError(
            f"the ledger {ledger.name} cannot be opened: {error.detail}",
            remedy=_REBUILD
            if _code_of(error.__cause__) in _DAMAGED
            else "check the rights of the state folder and the free space, or ledger_url",
        ) from error
    except UsageError:
        ledger.close()
        raise
    return ledger


def connect_ledger(state: Path, url: str | None) -> Ledger:
    """Return the ledger of a state root whose owner was checked before (a worker that joins a run).

    Raises UsageError for a URL that names no database that can be used.
    """
    where = _parse_url(url) if url else URL.create("sqlite", database=str(state / "ledger.db"))
    try:
        engine = create_engine(where, pool_timeout=BUSY_SECONDS)
    except (ArgumentError, ImportError) as error:
        raise UsageError(
            f"ledger_url: {where.render_as_string(hide_password=True)} cannot be used: {error}",
            remedy="install its driver: pip install 'atlas-extract[postgres]' for postgresql+pg8000://",
        ) from error
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine)
    return Ledger(engine)


def _parse_url(text: str) -> URL:
    remedy = (
        "write it as postgresql+pg8000://user@host/database, or leave it out for SQLite in the state folder"
    )
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise UsageError("ledger_url is not a database URL", remedy=remedy) from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise UsageError(
            f"ledger_url: a {url.get_backend_name()} database cannot be the ledger", remedy=remedy
        )
    return url


def _check_owner(connection: Connection, tenant: str, state: Path) -> None:
    known = get_meta(connection, "tenant")
    if known is None:
        set_meta(connection, "tenant", tenant)
        set_meta(connection, "schema", schema.SCHEMA_VERSION)
    elif known != tenant:
        raise UsageError(
            f"the state folder {state} belongs to tenant `{known}`, not to `{tenant}`",
            remedy="use one state folder for each tenant: change `state` or `tenant` in the configuration",
        )
    version = get_meta(connection, "schema")
    if version != schema.SCHEMA_VERSION:
        raise UsageError(
            f"the ledger in {state} has schema {version}, this program needs {schema.SCHEMA_VERSION}",
            remedy="use the version of atlas-extract that wrote it, or a new state folder",
        )


def _set_up_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "do_connect")
    def _create(_dialect: object, _record: object, _args: object, _options: object) -> None:
        if engine.url.database:
            with suppress(OSError):  # SQLite says it better
                make_private(Path(engine.url.database))  # its -wal and -shm take the same rights

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -32000")  # KiB; the index of a large store is read at random

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        kind = connection.get_execution_options().get("atlas_begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {kind}")


@contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise Transient(
            f"ledger: {_reason(error)}", remedy="free space on the disk or check the database, then run again"
        ) from error
    except PoolTimeout as error:
        raise Transient(f"ledger: {error}", remedy="set fewer pipeline.processes, then run again") from error


def _may_pass(error: BaseException | None) -> bool:
    """Return whether SQLite gave up for a reason that goes away by itself: locked, full disk, failed write."""
    return _code_of(error) in _PASSING


def _code_of(error: BaseException | None) -> int:
    """Return SQLite's primary error code, the low byte of an extended one; 0 where SQLite did not say it."""
    code: int = getattr(error.orig, "sqlite_errorcode", 0) if isinstance(error, DBAPIError) else 0
    return code & 0xFF


def _reason(error: DBAPIError) -> str:
    """Return what the database said; pg8000 hands over PostgreSQL's whole message as a dict of fields."""
    said = error.orig.args[0] if error.orig is not None and error.orig.args else error
    return str(said.get("M", said)) if isinstance(said, dict) else str(said)


def get_meta(connection: Connection, key: str) -> str | None:
    """Return a fact about the whole state root (`tenant`, `schema` …), None if it was never set."""
    return connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar()


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Set a fact about the whole state root."""
    upsert(connection, schema.meta, [{"key": key, "value": value}])


def next_change(connection: Connection) -> int:
    """Return the next number of the change counter."""
    table = schema.counter
    done = connection.execute(update(table).where(table.c.name == "change").values(n=table.c.n + 1))
    if done.rowcount == 0:
        connection.execute(insert(table).values(name="change", n=1))
    return last_change(connection)


def last_change(connection: Connection) -> int:
    """Return the number of the last change, 0 before the first."""
    table = schema.counter
    return connection.execute(select(table.c.n).where(table.c.name == "change")).scalar() or 0


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    keep: Iterable[str] = (),
    ignore: bool = False,
) -> None:
    """Insert rows by primary key; an existing row takes the new values (but for columns in `keep`)."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    keys = [column.name for column in table.primary_key]
    changed = {
        name: statement.excluded[name] for name in rows[0] if name not in keys and name not in set(keep)
    }
    if ignore or not changed:
        statement = statement.on_conflict_do_nothing(index_elements=keys)
    else:
        statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    connection.execute(statement, list(rows))


def chunks(values: Iterable[Any], size: int = CHUNK) -> Iterator[list[Any]]:
    """Yield lists of at most `size` values."""
    part: list[Any] = []
    for value in values:
        part.append(value)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def count_rows(connection: Connection, table: Table) -> int:
    """Return how many rows a table has."""
    return connection.execute(select(func.count()).select_from(table)).scalar_one()
