"""The pipeline driver: one run over some sources, from listing to the balance. It knows no executor's inside."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from flows.balance import Before, count_outcomes, count_threads, look_before
from flows.batch import DISK_FAILED, FetchKey, batch_ref, is_whole, run_batch
from flows.derive import Deriver
from flows.listing import KnownInLedger, list_source
from flows.request import RunRequest
from flows.settle import settle_people
from models.batch import BatchOut, BatchRef, RunRef, Unreadable
from models.errors import AtlasError, Defect, MailboxBusy, Transient
from models.report import Report
from stages.fetch import open_source
from stages.fetch.config import policy_of as fetch_policy
from stages.fetch.source import Item
from storage import quarantine, work
from storage.durable import transient_disk
from storage.leases import Lease, take_lease
from storage.ledger import chunks
from storage.runs import RunLock, begin_run, dead_runs, finish_run
from storage.thread_index import unsettled
from storage.workspace import Workspace

MESSAGE_STAGES = ("decode", "dequote", "thread", "entities", "intent")
_WAVE = 25  # batches between two settlings
_THREADS_PER_BATCH = 100
_IDLE_ROUNDS = 5


class Executor(Protocol):
    """Runs a stage on a batch, somewhere; safe to call from several threads."""

    lanes: int  # batches that run side by side

    def warm(self) -> None:
        """Get ready while the driver lists and fetches; returns at once."""

    def run(self, stage: str, ref: BatchRef) -> BatchOut:
        """Return the outcome of `run_batch(stage, ref)`. Raises AtlasError."""
        ...

    def stop(self) -> None:
        """Give back what was started; called once, whatever happened."""


class Progress(Protocol):
    """Told what happens, to show it to a person."""

    def listed(self, count: int) -> None:
        """Hear that a source listed `count` more messages."""

    def finished(self, count: int, quarantined: int) -> None:
        """Hear that `count` more are done, `quarantined` of them held."""

    def phase(self, name: str) -> None:
        """Hear what is being done now."""


class Stopped(Exception):
    """The user or the system asked the run to stop; everything is durable."""


@dataclass
class _Tally:
    """What the batches of a run reported, summed."""

    cached: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)
    unreadable: list[Unreadable] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, ref: BatchRef, out: BatchOut) -> None:
        """Add the outcome of the batch `ref`."""
        with self.lock:
            self.cached[out.stage] += out.cached
            self.seconds[out.stage] += out.seconds
            if out.stage not in ("fetch", "normalize"):
                self.calls[out.stage] += len(ref.keys) - out.cached
            self.unreadable += out.unreadable


class Run:
    """One run of the pipeline over a workspace. `execute` returns the report; it raises only UsageError and
    MailboxBusy (nothing was done then)."""

    def __init__(
        self, workspace: Workspace, request: RunRequest, executor: Executor, progress: Progress
    ) -> None:
        self.workspace = workspace
        self.request = request
        self.executor = executor
        self.progress = progress
        self.run_id = f"run-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:6]}"
        self.ref = RunRef(state=str(workspace.state), run_id=self.run_id)
        self.deriver = Deriver(workspace)
        self.tally = _Tally()
        self.listed = array("q")  # ids of the locations that the sources listed in this run
        self.report = Report(run_id=self.run_id, started_at=datetime.now(UTC).isoformat(timespec="seconds"))
        self._stop = threading.Event()

    def stop(self, reason: str) -> None:
        """Ask the run to stop at the next safe point."""
        self.report.stopped = reason
        self._stop.set()

    def execute(self) -> Report:
        """Run the pipeline and return the report; whatever ends it, what was stored stays stored."""
        began = time.monotonic()
        before: Before | None = None
        with contextlib.ExitStack() as held:
            held.callback(self.executor.stop)
            try:
                with transient_disk(DISK_FAILED):
                    before = self._begin(held)
                    with _signals(self):
                        self._pipeline()
            except Stopped:
                pass
            except MailboxBusy:
                raise
            except AtlasError as error:
                self.report.stopped = error.sentence
                self.report.defect = isinstance(error, Defect)
            self._balance(before, began)
        return self.report

    def _begin(self, held: contextlib.ExitStack) -> Before:
        """Take what the run needs for itself, to be given back by `held`; returns where the files stand."""
        workspace = self.workspace
        held.callback(RunLock(workspace.state, self.run_id).release)
        for account in sorted(self.request.sources):
            held.callback(_give_back, take_lease(workspace.state, workspace.ledger, account, self.run_id))
        with workspace.ledger.read() as connection:
            before = look_before(connection)
        begin_run(
            workspace.ledger,
            self.run_id,
            self.report.started_at,
            workspace.settings,
            workspace.curated,
            workspace.sources,
        )
        return before

    # ---- the pipeline -------------------------------------------------------------------------------

    def _pipeline(self) -> None:
        self.executor.warm()
        self.workspace.publisher.start()
        self._take_up()
        with ThreadPoolExecutor(self.executor.lanes, thread_name_prefix="lane") as lanes:
            batches = 0
            running: set[Future[None]] = set()
            try:
                for raws in self._batches():
                    self._check()
                    running.add(lanes.submit(self._message_stages, raws))
                    batches += 1
                    if len(running) > self.executor.lanes:
                        running = self._some(running)
                    if batches % _WAVE == 0:
                        running = self._all(running)
                        self._settle(lanes)
                self._all(running)
                self._settle(lanes)
            except BaseException:
                self._stop.set()
                raise
        self.progress.phase("people")
        with self.workspace.ledger.write() as connection:
            quarantine_files = work.to_refresh(connection)
            quarantine.refresh(connection, quarantine_files)
            work.set_status(connection, quarantine_files, "held")
        settle_people(self.deriver)
        self.workspace.publisher.publish()

    def _take_up(self) -> None:
        """Take up what earlier runs left: suspects of crashed ones, quarantine of older versions."""
        dead = dead_runs(self.workspace.ledger, self.workspace.state)
        with self.workspace.ledger.write() as connection:
            work.collect_suspects(connection, dead)
            work.retry_changed(connection, self.deriver.signatures)
        self.workspace.blobs.clear()

    def _batches(self) -> Iterator[list[str]]:
        """Fetch what is new and yield batches of raw hashes that want work: first those left over, then new ones."""
        size = self.workspace.settings.pipeline.batch_size
        with self.workspace.ledger.read() as connection:
            left = work.pending(connection, self.deriver.signature)
            suspects = work.suspects(connection)
        given: set[str] = set()
        yield from self._portions(left, suspects, given, size)
        if self.request.sources:
            self.progress.phase("fetch")
        for account, path in sorted(self.request.sources.items()):
            for raws in self._fetch(account, path, size):
                yield from self._portions(raws, suspects, given, size)

    def _portions(
        self, raws: Sequence[str], suspects: set[str], given: set[str], size: int
    ) -> Iterator[list[str]]:
        fresh = [raw for raw in dict.fromkeys(raws) if raw not in given]
        given.update(fresh)
        # Alone in its worker, a message that kills names itself; that a run died beside it proves nothing.
        yield from ([raw] for raw in fresh if raw in suspects)
        yield from chunks([raw for raw in fresh if raw not in suspects], size)

    def _fetch(self, account: str, path: str, size: int) -> Iterator[list[str]]:
        """List one source, fetch what is new in it, and yield the hashes of messages that want work."""
        workspace = self.workspace
        source = open_source(path, account, fetch_policy(workspace.settings, workspace.curated))
        known = KnownInLedger(workspace.ledger, account)
        policy = self.deriver.policies.decode
        try:
            for fresh, seen, unreadable, containers in list_source(source, known, self.request, policy, size):
                self._check()
                self.tally.unreadable += unreadable
                self.listed.extend(seen)
                self.progress.listed(len(seen) + len(fresh))
                self.progress.finished(len(seen), 0)
                keys = [FetchKey(item=item) for item in fresh]
                whole = [f for f in sorted(containers) if is_whole(f, self.tally.unreadable)]
                keys += [FetchKey(cursor_of=f, cursor=containers[f]) for f in whole]
                if keys:
                    yield self._fetch_batch(account, keys, fresh, known)
                whole = [f for f in whole if is_whole(f, self.tally.unreadable)]
                if whole:
                    known.note_members(whole, self.listed)
        finally:
            source.close()

    def _fetch_batch(
        self, account: str, keys: Sequence[FetchKey], items: Sequence[Item], known: KnownInLedger
    ) -> list[str]:
        packed = [msgspec.json.encode(key).decode() for key in keys]
        ref = batch_ref("fetch", self.ref, packed, account)
        out = run_batch("fetch", ref)
        self.tally.add(ref, out)
        ids, raws = known.stored(items)
        self.listed.extend(ids)
        with self.workspace.ledger.read() as connection:
            open_ = set(work.still_open(connection, raws))
        self.progress.finished(len(raws) - len(open_), 0)
        return [raw for raw in raws if raw in open_]

    def _message_stages(self, raws: list[str]) -> None:
        """Take one batch through the stages that see one message alone, and through threading."""
        ref = batch_ref("batch", self.ref, raws)
        with self.workspace.ledger.write() as connection:
            work.note_inflight(connection, self.run_id, ref.batch_id, "message", raws)
        keys = list(raws)
        try:
            for stage in MESSAGE_STAGES:
                self._check()
                stage_ref = batch_ref(stage, self.ref, keys)
                out = self.executor.run(stage, stage_ref)
                self.tally.add(stage_ref, out)
                lost = {failure.key for failure in out.quarantined}
                keys = [key for key in keys if key not in lost]
        finally:  # only a run that dies leaves suspects behind, not one that stops
            with self.workspace.ledger.write() as connection:
                work.clear_inflight(connection, self.run_id, ref.batch_id)
        with self.workspace.ledger.write() as connection:
            work.acquit(connection, raws)
        self.progress.finished(len(raws), len(raws) - len(keys))

    def _settle(self, lanes: ThreadPoolExecutor) -> None:
        """Settle and publish every thread that changed, until none is left.

        A thread may need several rounds: another process changed it meanwhile, or it lost a member to
        quarantine. Rounds that change nothing at all are a defect, not a reason to go on for ever.
        """
        self.progress.phase("normalize")
        before: list[tuple[int, int]] = []
        idle = 0
        while True:
            with self.workspace.ledger.read() as connection:
                revisions = unsettled(connection)
            if not revisions:
                return
            idle = idle + 1 if revisions == before else 0
            if idle == _IDLE_ROUNDS:
                raise Defect(
                    f"{len(revisions)} threads cannot be settled", stage="normalize", remedy="report this bug"
                )
            before = revisions
            threads = [surrogate for surrogate, _ in revisions]
            running = set()
            for part in chunks([str(surrogate) for surrogate in threads], _THREADS_PER_BATCH):
                self._check()
                running.add(lanes.submit(self._normalize, part))
                if len(running) > self.executor.lanes:
                    running = self._some(running)
            self._all(running)

    def _normalize(self, threads: list[str]) -> None:
        self._check()
        ref = batch_ref("normalize", self.ref, threads)
        self.tally.add(ref, self.executor.run("normalize", ref))

    def _some(self, running: set[Future[None]]) -> set[Future[None]]:
        """Wait until a batch is done; returns those that still run. Raises what a batch raised."""
        done, rest = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        return rest

    def _all(self, running: set[Future[None]]) -> set[Future[None]]:
        done, rest = wait(running, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        return self._all(rest) if rest else set()

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    # ---- the balance --------------------------------------------------------------------------------

    def _balance(self, before: Before | None, began: float) -> None:
        report, tally = self.report, self.tally
        report.cached = {stage: count for stage, count in sorted(tally.cached.items()) if count}
        report.stages = {stage: round(seconds, 3) for stage, seconds in sorted(tally.seconds.items())}
        report.stage_calls = {stage: count for stage, count in sorted(tally.calls.items()) if count}
        report.unreadable = sorted(tally.unreadable, key=lambda one: one.path)
        try:
            if before is not None:
                with self.workspace.ledger.read() as connection:
                    count_outcomes(connection, report, self.listed, before)
                    report.threads = count_threads(connection, report)
            report.seconds = round(time.monotonic() - began, 3)
            report.balance()
            finish_run(self.workspace.ledger, self.workspace.state, report)
        except (Transient, OSError) as error:
            report.stopped = report.stopped or f"the report could not be kept: {error}"
            report.seconds = round(time.monotonic() - began, 3)
            report.balance()


def _give_back(lease: Lease) -> None:
    with contextlib.suppress(AtlasError):
        lease.release()


@contextlib.contextmanager
def _signals(run: Run) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the run at a safe point; a second one ends the process as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}

    def handle(number: int, _frame: object) -> None:
        run.stop(f"stopped by {signal.Signals(number).name}")
        for known, handler in before.items():
            signal.signal(known, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)
