"""Worker processes with a watchdog: a message that kills, hangs or bloats its worker costs that message only.

A batch runs in a worker; the worker tells which message it is at. When it dies or takes too long there, it is
ended and replaced, the rest of the batch runs again, and the message is tried once more alone. If that fails
too, it is quarantined. (concurrent.futures breaks the whole pool and cannot name the message.)
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from models.batch import BatchOut, BatchRef, Quarantined
from models.errors import AtlasError, Defect, Kind

_IDLE_SECONDS = 900.0  # between messages: waiting for locks, publishing
_STARTS = 3


class WorkerDied(Exception):
    """The worker ended or was ended while it was at message `raw` ("" between messages)."""

    def __init__(self, raw: str, cause: str, kind: Kind) -> None:
        super().__init__(cause)
        self.raw = raw
        self.cause = cause
        self.kind = kind


class Worker:
    """One worker process; started when first used, replaced when it dies."""

    def __init__(self, message_seconds: float, memory_mb: int) -> None:
        self.message_seconds = message_seconds
        self.memory_mb = memory_mb
        self._process: ForkServerProcess | None = None
        self._pipe: Connection | None = None
        self._alive: Connection | None = None

    def start(self) -> None:
        """Start the process; it imports the stages while the caller does something else."""
        if self._process is not None:
            return
        context = multiprocessing.get_context("forkserver")
        self._pipe, theirs = context.Pipe()
        watched, self._alive = context.Pipe(duplex=False)
        self._process = context.Process(target=_serve, args=(theirs, watched, self.memory_mb), daemon=True)
        self._process.start()
        theirs.close()
        watched.close()

    def request(self, stage: str, ref: BatchRef) -> BatchOut:
        """Return the outcome of one batch. Raises WorkerDied, or what the batch raised (AtlasError)."""
        self.start()
        assert self._pipe is not None
        at = ""
        try:
            self._pipe.send((stage, ref))
            while True:
                limit = self.message_seconds if at else _IDLE_SECONDS
                if not self._pipe.poll(limit):
                    self._end()
                    raise WorkerDied(at, f"took longer than {limit:g} s in {stage}", "resource_limit")
                kind, value = self._pipe.recv()
                if kind == "at":
                    at = value
                elif kind == "out":
                    out: BatchOut = value
                    return out
                elif isinstance(value, AtlasError):
                    raise value
                else:
                    raise Defect(str(value), stage=stage, remedy="report this as a bug of atlas-extract")
        except (EOFError, ConnectionError) as error:
            code = self._end()
            how = (
                f"by signal {signal.Signals(-code).name}"
                if code is not None and code < 0
                else f"with exit code {code}"
            )
            raise WorkerDied(at, f"ended the worker process {how} in {stage}", "defect") from error

    def _end(self) -> int | None:
        process, self._process = self._process, None
        for end in (self._pipe, self._alive):
            if end is not None:
                end.close()
        self._pipe = self._alive = None
        if process is None:
            return None
        process.join(0.5)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode

    def stop(self) -> None:
        """End the process."""
        self._end()


class GuardedWorker:
    """A worker whose batches always come back: what kills it ends in quarantine."""

    def __init__(
        self, message_seconds: float, memory_mb: int, hold: Callable[[BatchRef, Quarantined], None]
    ) -> None:
        self.worker = Worker(message_seconds, memory_mb)
        self.hold = hold

    def run(self, stage: str, ref: BatchRef) -> BatchOut:
        """Return the outcome of the batch, the messages that killed the worker among the quarantined."""
        keys = list(ref.keys)
        outs: list[BatchOut] = []
        culprits: list[str] = []
        for _ in range(len(keys) + _STARTS):
            rest = [key for key in keys if key not in culprits]
            try:
                if rest:
                    outs.append(self.worker.request(stage, _part(ref, rest)))
                break
            except WorkerDied as death:
                key = _key_at(rest, death.raw)
                if key is None:
                    outs += self._one_by_one(stage, ref, rest)
                    break
                culprits.append(key)
        outs += self._one_by_one(stage, ref, culprits)
        return _joined(stage, outs)

    def _one_by_one(self, stage: str, ref: BatchRef, keys: Sequence[str]) -> list[BatchOut]:
        outs = []
        for key in keys:
            try:
                outs.append(self.worker.request(stage, _part(ref, [key])))
            except WorkerDied as death:
                raw = death.raw or (key if key.startswith("blake3:") else "")
                if not raw:
                    raise Defect(
                        f"a batch {death.cause}, and no message is to blame",
                        stage=stage,
                        remedy="report this as a bug of atlas-extract",
                    ) from death
                failure = Quarantined(
                    key=raw,
                    stage=stage,
                    kind=death.kind,
                    detail=f"the message {death.cause}",
                    remedy="report this as a bug of atlas-extract; raise pipeline.message_seconds if it is only slow",
                )
                self.hold(ref, failure)
                outs.append(BatchOut(stage=stage, quarantined=(failure,)))
        return outs

    def stop(self) -> None:
        """End the process."""
        self.worker.stop()


def _part(ref: BatchRef, keys: Sequence[str]) -> BatchRef:
    if len(keys) == len(ref.keys):
        return ref
    return BatchRef(batch_id=ref.batch_id, run=ref.run, keys=tuple(keys), account=ref.account)


def _key_at(keys: Sequence[str], raw: str) -> str | None:
    """Return the key of the batch that was worked on; a thread's key is not known by a message's hash."""
    return raw if raw in keys else (keys[0] if len(keys) == 1 and raw else None)


def _joined(stage: str, outs: Sequence[BatchOut]) -> BatchOut:
    return BatchOut(
        stage=stage,
        ok=tuple(key for out in outs for key in out.ok),
        cached=sum(out.cached for out in outs),
        quarantined=tuple(one for out in outs for one in out.quarantined),
        unreadable=tuple(one for out in outs for one in out.unreadable),
        seconds=sum(out.seconds for out in outs),
    )


def _serve(pipe: Connection, alive: Connection, memory_mb: int) -> None:
    """The worker's loop: batches in, outcomes out; ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    from flows.batch import run_batch  # the fork server has it already; signals are set before it

    _limit_memory(memory_mb)
    while True:
        try:
            stage, ref = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            out = run_batch(stage, ref, lambda raw: pipe.send(("at", raw)))
            pipe.send(("out", out))
        except AtlasError as error:
            pipe.send(("error", error))
        except Exception as error:  # noqa: BLE001 - told to the parent, which decides
            pipe.send(("error", f"{type(error).__name__}: {error}"))


def _end_with_parent(alive: Connection) -> None:
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(0)


def _limit_memory(memory_mb: int) -> None:
    """Cap the worker's address space (Linux; macOS does not enforce it)."""
    if not sys.platform.startswith("linux"):
        return
    with open("/proc/self/statm", encoding="ascii") as file:
        present = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + (memory_mb << 20), resource.RLIM_INFINITY))


def preload() -> None:
    """Start the fork server with the stages imported and warm, so that workers start at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flows.batch", "flows.warm"])
