"""Leases: one run per mailbox. A file lock on one host, and a ledger row with fencing token and heartbeat."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from pathlib import Path

from sqlalchemy import select, update

from models.errors import MailboxBusy
from storage.durable import make_folder, open_lock
from storage.ledger import Ledger, upsert
from storage.names import safe_name
from storage.schema import lease

STALE_SECONDS = 90.0
_BEAT_SECONDS = 20.0


class Lease:
    """A held mailbox; `release` gives it back. The heartbeat runs in a thread of its own."""

    def __init__(self, ledger: Ledger, account: str, token: int, descriptor: int) -> None:
        self.ledger = ledger
        self.account = account
        self.token = token
        self._descriptor = descriptor
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{account}", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT_SECONDS):
            try:
                self._note(time.time())
            except Exception:  # noqa: BLE001 - a missed beat is told by the next holder, not by a traceback
                continue

    def _note(self, moment: float) -> None:
        with self.ledger.write() as connection:
            connection.execute(
                update(lease)
                .where(lease.c.account == self.account, lease.c.token == self.token)
                .values(heartbeat=moment)
            )

    def release(self) -> None:
        """Give the mailbox back. Raises Transient where the ledger cannot note it; the file lock is free even so."""
        self._stop.set()
        self._thread.join()
        try:
            self._note(0.0)
        finally:
            os.close(self._descriptor)


def take_lease(state: Path, ledger: Ledger, account: str, run_id: str) -> Lease:
    """Return the lease of a mailbox. Raises MailboxBusy, saying who holds it."""
    folder = state / "locks"
    make_folder(folder)
    descriptor = open_lock(folder / f"{safe_name(account)}.lock")
    host = socket.gethostname()
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free_here = True
        except BlockingIOError:
            free_here = False
        with ledger.write() as connection:
            row = connection.execute(select(lease).where(lease.c.account == account)).one_or_none()
            elsewhere = row is not None and row.host != host and time.time() - row.heartbeat < STALE_SECONDS
            if not free_here or elsewhere:
                holder = f"run {row.run_id} (process {row.pid} on {row.host})" if row else "another process"
                raise MailboxBusy(
                    f"mailbox `{account}` is held by {holder}",
                    remedy="wait for it to end, or stop it, and run again",
                )
            token = (row.token if row else 0) + 1
            values = {"account": account, "token": token, "run_id": run_id, "host": host, "pid": os.getpid()}
            upsert(connection, lease, [{**values, "heartbeat": time.time()}])
    except BaseException:
        os.close(descriptor)
        raise
    return Lease(ledger, account, token, descriptor)
