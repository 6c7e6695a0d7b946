"""One run per mailbox: who comes second is told who holds it, and a dead holder holds nothing."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest
from actors import Actor
from sqlalchemy import select

from models.errors import MailboxBusy
from storage.leases import take_lease
from storage.ledger import Ledger
from storage.schema import lease as lease_table


def test_a_second_process_is_told_who_holds_the_mailbox(state: Path, sqlite_ledger: Ledger) -> None:
    with Actor("hold_lease", state, "ann") as holder:
        holder.until_ready()
        host, pid = socket.gethostname(), holder.process.pid
        with pytest.raises(MailboxBusy) as busy:
            take_lease(state, sqlite_ledger, "ann", "run-here")
        assert f"mailbox `ann` is held by run run-elsewhere (process {pid} on {host})" in busy.value.detail
        assert busy.value.remedy
        take_lease(state, sqlite_ledger, "bob", "run-here").release()


def test_a_holder_that_is_killed_holds_the_mailbox_no_more(state: Path, sqlite_ledger: Ledger) -> None:
    with Actor("hold_lease", state, "ann") as holder:
        holder.until_ready()
        os.kill(holder.process.pid, signal.SIGKILL)
        assert holder.wait() == -signal.SIGKILL
    lease = take_lease(state, sqlite_ledger, "ann", "run-here")
    assert lease.token == 2
    lease.release()


def test_a_mailbox_is_held_until_it_is_released(state: Path, sqlite_ledger: Ledger) -> None:
    lease = take_lease(state, sqlite_ledger, "ann", "run-1")
    for _ in range(2):
        with pytest.raises(MailboxBusy, match=f"run run-1 \\(process {os.getpid()} on"):
            take_lease(state, sqlite_ledger, "ann", "run-2")
    lease.release()
    take_lease(state, sqlite_ledger, "ann", "run-2").release()


def test_mailboxes_whose_names_differ_in_case_only_are_two(state: Path, sqlite_ledger: Ledger) -> None:
    one, two = (take_lease(state, sqlite_ledger, name, "run") for name in ("Ann/../x", "ann/../x"))
    assert sorted(path.suffix for path in (state / "locks").iterdir()) == [".lock", ".lock"]
    one.release()
    two.release()


def test_the_heartbeat_goes_on_while_the_mailbox_is_held(
    state: Path, sqlite_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.leases._BEAT_SECONDS", 0.01)
    lease = take_lease(state, sqlite_ledger, "ann", "run-1")
    first = beat = heartbeat(sqlite_ledger)
    give_up = time.monotonic() + 60
    while beat == first and time.monotonic() < give_up:
        beat = heartbeat(sqlite_ledger)
    lease.release()
    assert beat > first
    assert heartbeat(sqlite_ledger) == 0


def heartbeat(ledger: Ledger) -> float:
    with ledger.read() as connection:
        return float(connection.execute(select(lease_table.c.heartbeat)).scalar_one())
