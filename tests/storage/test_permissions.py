"""What a run keeps is for its user alone, whatever the umask says, and a set-up that cannot work is said so."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from actors import Actor
from sqlalchemy import select

from models.config import Settings
from models.errors import UsageError
from models.report import Report
from storage import schema
from storage.durable import make_folder, make_private, write_durable
from storage.files import WantedFile, want
from storage.leases import take_lease
from storage.ledger import last_change, next_change, open_ledger
from storage.runs import RunLock, begin_run, finish_run
from storage.workspace import open_workspace


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277, 0o777], ids=oct)
def test_files_are_0600_and_folders_0700_under_any_umask(
    tmp_path: Path, with_umask: Callable[[int], None], umask: int
) -> None:
    with_umask(umask)
    workspace = open_workspace(Settings(state=str(tmp_path / "deep" / "state")))
    lock = RunLock(workspace.state, "run-1")
    lease = take_lease(workspace.state, workspace.ledger, "ann", "run-1")
    begin_run(
        workspace.ledger, "run-1", "2026-03-02T00:00:00+00:00", workspace.settings, workspace.curated, {}
    )
    workspace.blobs.put_all([b"mail"])
    workspace.cache.put_all({b"key": b"value"})
    with workspace.ledger.write() as connection:
        next_change(connection)
        want(connection, "one", [WantedFile("extracted/2026-03/thr/1.json", "1", b"{}")])
    workspace.publisher.publish()
    finish_run(
        workspace.ledger, workspace.state, Report(run_id="run-1", started_at="2026-03-02T00:00:00+00:00")
    )
    with_umask(0o022)

    root = tmp_path / "deep"
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    modes = {name: stat.S_IMODE(path.stat().st_mode) for name, path in found.items()}
    expected = {name: 0o700 if path.is_dir() else 0o600 for name, path in found.items()}
    assert modes == expected
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    names = {
        "state/ledger.db",
        "state/ledger.db-wal",
        "state/cache.db",
        "state/cache.db-wal",
        "state/runs/run-1.json",
    }
    assert found.keys() >= names
    lease.release()
    lock.release()
    workspace.close()


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"kept")
    path.chmod(0o644)
    make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"kept"


def test_closing_a_ledger_to_others_does_not_drop_the_locks_of_an_open_connection(state: Path) -> None:
    ledger = open_ledger(state, None, "acme")
    with ledger.read() as reader:
        last_change(reader)
        make_private(state / "ledger.db")
        with Actor("open_once", state, None) as other:
            other.until_ready()
            other.go()
            assert other.wait() == 0
        # had it thought that nobody else is there, it would have removed the log under our feet
        assert (state / "ledger.db-wal").exists()
    ledger.close()
    assert not (state / "ledger.db-wal").exists()


def test_a_folder_that_is_there_keeps_the_rights_that_its_user_gave(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o750)
    make_folder(folder / "raw")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "raw").stat().st_mode) == 0o700


def test_a_file_is_replaced_in_one_step_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_durable(path, b"old")
    inode = path.stat().st_ino
    with path.open("rb") as reader:
        write_durable(path, b"new")
        assert reader.read() == b"old"  # who reads the old file reads it to its end
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != inode
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_state_folder_that_is_a_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("notes")
    with pytest.raises(UsageError, match=r"the state folder .*state cannot be written") as refused:
        open_workspace(Settings(state=str(tmp_path / "state")))
    assert refused.value.remedy
    assert (tmp_path / "state").read_text() == "notes"


def test_a_state_folder_under_a_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("notes")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        open_workspace(Settings(state=str(tmp_path / "file" / "state")))


def test_a_broken_curated_file_stops_the_opening_before_a_ledger_is_made(tmp_path: Path) -> None:
    (tmp_path / "state" / "people").mkdir(parents=True)
    (tmp_path / "state" / "people" / "aliases.json").write_text("{")
    with pytest.raises(UsageError, match=r"aliases\.json: line 1"):
        open_workspace(Settings(state=str(tmp_path / "state")))
    assert os.listdir(tmp_path / "state") == ["people"]


def test_a_state_folder_of_another_tenant_is_refused_and_unchanged(tmp_path: Path) -> None:
    open_workspace(Settings(state=str(tmp_path), tenant="acme")).close()
    with pytest.raises(UsageError, match="belongs to tenant `acme`, not to `globex`"):
        open_workspace(Settings(state=str(tmp_path), tenant="globex"))
    workspace = open_workspace(Settings(state=str(tmp_path), tenant="acme"))
    with workspace.ledger.read() as connection:
        query = select(schema.meta.c.value).where(schema.meta.c.key == "tenant")
        assert connection.scalars(query).all() == ["acme"]
    workspace.close()
