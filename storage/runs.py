"""Runs: which are alive, with what settings, and what they reported."""

from __future__ import annotations

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import insert, select, update

from models.base import Record
from models.config import Settings, StoredSettings
from models.curated import Curated
from models.errors import UsageError
from models.report import Report
from storage.durable import make_folder, open_lock, write_durable
from storage.ledger import Ledger
from storage.schema import inflight, run


class RunLock:
    """Tells other processes of this host that a run is alive; freed by the system when the process ends."""

    def __init__(self, state: Path, run_id: str) -> None:
        make_folder(state / "locks")
        self._path = state / "locks" / f"run-{run_id}.lock"
        self._descriptor = open_lock(self._path)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Tell that the run is over."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def is_alive(state: Path, run_id: str) -> bool:
    """Return whether a run of this host still holds its lock."""
    path = state / "locks" / f"run-{run_id}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


class RunInputs(Record):
    """What a run was begun with, so that every batch of it, in any process, decides alike."""

    settings: str
    curated: Curated
    sources: dict[str, str] = {}  # account → path of an archive


def begin_run(
    ledger: Ledger,
    run_id: str,
    started: str,
    settings: Settings,
    curated: Curated,
    sources: dict[str, str],
) -> None:
    """Note a run, begun at `started` (ISO 8601, UTC), with its settings, curated files and sources."""
    with ledger.write() as connection:
        row = {"id": run_id, "started_at": started, "host": socket.gethostname(), "pid": os.getpid()}
        inputs = RunInputs(
            settings=settings.model_dump_json(exclude={"ledger_url"}), curated=curated, sources=sources
        )
        connection.execute(insert(run).values(**row, settings=msgspec.json.encode(inputs).decode()))


def inputs_of(ledger: Ledger, run_id: str) -> tuple[Settings, Curated, dict[str, str]]:
    """Return the settings, curated files and sources that a run was begun with."""
    with ledger.read() as connection:
        text = connection.execute(select(run.c.settings).where(run.c.id == run_id)).scalar()
    if text is None:
        raise UsageError(f"run {run_id} is not in this ledger", remedy="check the state folder")
    inputs = msgspec.json.decode(text, type=RunInputs)
    return StoredSettings.model_validate_json(inputs.settings), inputs.curated, inputs.sources


def dead_runs(ledger: Ledger, state: Path) -> list[str]:
    """Return runs of this host that left work in flight and are gone."""
    with ledger.read() as connection:
        rows = connection.execute(
            select(run.c.id, run.c.host).where(run.c.id.in_(select(inflight.c.run_id).distinct()))
        ).all()
    here = socket.gethostname()
    return sorted(run_id for run_id, host in rows if host == here and not is_alive(state, run_id))


def finish_run(ledger: Ledger, state: Path, report: Report) -> None:
    """Keep the report in the ledger and as `runs/<run_id>.json`."""
    data = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    make_folder(state / "runs")
    write_durable(state / "runs" / f"{report.run_id}.json", data)
    with ledger.write() as connection:
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        connection.execute(
            update(run).where(run.c.id == report.run_id).values(finished_at=finished, report=data.decode())
        )


def last_report(ledger: Ledger) -> Report | None:
    """Return the report of the run that began last and came to an end, None if there is none."""
    with ledger.read() as connection:
        text = connection.execute(
            select(run.c.report)
            .where(run.c.report.is_not(None))
            .order_by(run.c.started_at.desc(), run.c.id)
            .limit(1)
        ).scalar()
    return msgspec.json.decode(text, type=Report) if text else None
