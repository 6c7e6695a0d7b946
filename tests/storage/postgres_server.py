"""A PostgreSQL server for the tests: a data folder of its own, a Unix socket instead of a port, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import create_engine, text

_SOCKET = ".s.PGSQL.5432"
_SLOW_MACHINE = 120.0  # seconds


class NotInstalled(Exception):
    """PostgreSQL cannot run here, and why."""


class PostgresServer:
    """A running server; its databases sort as people do (not by bytes), as a real installation may."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = 0

    def url(self, database: str) -> str:
        return f"postgresql+pg8000://postgres@/{database}?unix_sock={self.folder / _SOCKET}"

    def create_database(self) -> str:
        """Return the URL of a new, empty database."""
        self._made += 1
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE test_{self._made}"))
        engine.dispose()
        return self.url(f"test_{self._made}")


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server and yield it. Raises NotInstalled."""
    programs = _programs()
    if find_spec("pg8000") is None:
        raise NotInstalled("the driver pg8000 is not installed: pip install 'atlas-extract[postgres]'")
    as_user = _as_user()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    server = None
    try:
        _make_cluster([*as_user, str(programs / "initdb")], folder, environment)
        settings = ["listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*as_user, str(programs / "postgres"), "-D", str(folder / "data"), "-k", str(folder)]
                + [word for setting in settings for word in ("-c", setting)],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        _wait_until_ready(programs, server, folder)
        yield PostgresServer(folder)
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # at once, nothing here is kept
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    """Return the folder of the newest server's programs (Debian keeps them out of PATH)."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"),
        key=lambda path: [int(part) for part in path.parts[-3].split(".") if part.isdigit()],
    )
    if not found and (known := shutil.which("postgres")):
        found = [Path(known).resolve()]
    for path in reversed(found):
        if all((path.parent / program).exists() for program in ("initdb", "postgres", "pg_isready")):
            return path.parent
    raise NotInstalled("PostgreSQL is not installed: apt-get install postgresql")


def _as_user() -> list[str]:
    """Return the command that drops root's rights (the server refuses root) and lets it end with us."""
    setpriv = shutil.which("setpriv")
    words = [setpriv, "--pdeathsig=QUIT"] if setpriv else []
    if os.geteuid() != 0:
        return words
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise NotInstalled("we are root and there is no user `postgres` to run the server as") from None
    if not words:
        raise NotInstalled("we are root and `setpriv` is not installed: apt-get install util-linux")
    return [*words, "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]


def _make_cluster(initdb: list[str], folder: Path, environment: dict[str, str]) -> None:
    plain = [*initdb, "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8"]
    sorted_by_people = ["--locale=C", "--locale-provider=icu", "--icu-locale=en-US"]  # PostgreSQL 15
    for words in (sorted_by_people, ["--locale=C.UTF-8"], ["--locale=C"]):
        done = subprocess.run(
            [*plain, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        shutil.rmtree(folder / "data", ignore_errors=True)
    raise NotInstalled(f"initdb failed: {done.stderr.strip()}")


def _wait_until_ready(programs: Path, server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _SLOW_MACHINE
    while time.monotonic() < deadline and server.poll() is None:
        asked = subprocess.run([programs / "pg_isready", "-q", "-h", folder], cwd=folder, check=False)
        if asked.returncode == 0:
            return
        time.sleep(0.05)
    raise NotInstalled(f"the server did not start: {(folder / 'log').read_text()}")
