"""A run is noted with all that its batches have to know, and a dead one is told from one that is alive."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest
from actors import Actor
from sqlalchemy import select, update

from models.batch import RunRef
from models.config import Settings
from models.curated import Alias, Curated
from models.errors import UsageError
from models.report import Report
from storage import schema, work
from storage.ledger import Ledger
from storage.runs import RunLock, begin_run, dead_runs, finish_run, inputs_of, is_alive, last_report
from storage.workspace import workspace_of

STARTED = "2026-03-02T09:00:00+00:00"
CURATED = Curated(aliases=[Alias(name="Bo", email="bo@x", also=["b@x"])])


def begin(ledger: Ledger, run_id: str, settings: Settings | None = None, started: str = STARTED) -> None:
    begin_run(ledger, run_id, started, settings or Settings(), CURATED, {"ann": "/mail/ann"})


def test_a_worker_gets_what_its_run_was_begun_with(sqlite_ledger: Ledger) -> None:
    settings = Settings(
        company_domains=["us.example"], timezone="Europe/Berlin", domain_map={"x.example": "C1"}
    )
    begin(sqlite_ledger, "run-1", settings)
    assert inputs_of(sqlite_ledger, "run-1")[0].model_dump() == settings.model_dump()
    assert inputs_of(sqlite_ledger, "run-1")[1:] == (CURATED, {"ann": "/mail/ann"})


def test_the_environment_of_a_worker_changes_nothing_of_its_run(
    sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(sqlite_ledger, "run-1", Settings(timezone="Europe/Berlin"))
    monkeypatch.setenv("ATLAS_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("ATLAS_EMAIL__MAX_ATTACHMENTS", "3")
    settings = inputs_of(sqlite_ledger, "run-1")[0]
    assert settings.timezone == "Europe/Berlin"
    assert settings.email.max_attachments == 50


def test_a_worker_opens_the_state_of_its_run_as_the_run_saw_it(state: Path, sqlite_ledger: Ledger) -> None:
    begin(sqlite_ledger, "run-1", Settings(state="somewhere/else", tenant="acme"))
    (state / "people").mkdir()
    (state / "people" / "aliases.json").write_text("broken since the run began")
    workspace = workspace_of(RunRef(state=str(state), run_id="run-1"))
    assert workspace.state == state
    assert workspace.curated == CURATED
    assert workspace.sources == {"ann": "/mail/ann"}
    workspace_of.cache_clear()
    workspace.close()


def test_the_address_of_the_ledger_is_not_kept_in_it(sqlite_ledger: Ledger) -> None:
    url = "postgresql+pg8000://me:secret@host/db"
    begin(sqlite_ledger, "run-1", Settings(ledger_url=url))
    with sqlite_ledger.read() as connection:
        assert "secret" not in connection.execute(select(schema.run.c.settings)).scalar_one()


def test_an_unknown_run_is_a_usage_error(sqlite_ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="run run-9 is not in this ledger"):
        inputs_of(sqlite_ledger, "run-9")


def test_a_run_is_alive_while_its_process_is(state: Path) -> None:
    assert not is_alive(state, "run-1")
    with Actor("hold_run", state, "run-1") as holder:
        holder.until_ready()
        assert is_alive(state, "run-1")
        assert is_alive(state, "run-1")
        assert not is_alive(state, "run-2")
        os.kill(holder.process.pid, signal.SIGKILL)
        assert holder.wait() == -signal.SIGKILL
    assert not is_alive(state, "run-1")
    assert os.listdir(state / "locks") == []


def test_a_run_that_ended_leaves_no_lock(state: Path) -> None:
    lock = RunLock(state, "run-1")
    assert is_alive(state, "run-1")
    lock.release()
    assert not is_alive(state, "run-1")
    assert os.listdir(state / "locks") == []


def test_only_runs_of_this_host_that_left_work_in_flight_and_are_gone_are_dead(
    state: Path, sqlite_ledger: Ledger
) -> None:
    for run_id in ("run-gone", "run-alive", "run-idle", "run-far"):
        begin(sqlite_ledger, run_id)
    with sqlite_ledger.write() as connection:
        for run_id in ("run-gone", "run-alive", "run-far"):
            work.note_inflight(connection, run_id, "batch", "message", ["blake3:00"])
        connection.execute(
            update(schema.run).where(schema.run.c.id == "run-far").values(host="elsewhere.example")
        )
    lock = RunLock(state, "run-alive")
    assert dead_runs(sqlite_ledger, state) == ["run-gone"]
    lock.release()
    assert dead_runs(sqlite_ledger, state) == ["run-alive", "run-gone"]


def test_the_report_is_kept_as_a_file_and_the_last_one_is_found(state: Path, sqlite_ledger: Ledger) -> None:
    assert last_report(sqlite_ledger) is None
    for run_id, started in (("run-b", STARTED), ("run-a", "2026-03-03T09:00:00+00:00"), ("run-c", STARTED)):
        begin(sqlite_ledger, run_id, started=started)
        finish_run(sqlite_ledger, state, Report(run_id=run_id, started_at=started, seen=3, written=3))
    begin(sqlite_ledger, "run-open", started="2026-03-04T09:00:00+00:00")
    last = last_report(sqlite_ledger)
    assert last == Report(run_id="run-a", started_at="2026-03-03T09:00:00+00:00", seen=3, written=3)
    assert msgspec.json.decode((state / "runs/run-a.json").read_bytes(), type=Report) == last
