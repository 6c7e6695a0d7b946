"""The direct executor: batches in guarded worker processes of this machine, no server."""

from __future__ import annotations

import os
import queue

from flows.batch import hold_messages
from flows.derive import Deriver
from flows.workers import GuardedWorker, preload
from models.batch import BatchOut, BatchRef, Quarantined
from storage.workspace import Workspace


class DirectExecutor:
    """Runs batches in as many workers as there are lanes; a worker starts when it is first needed."""

    def __init__(self, workspace: Workspace) -> None:
        pipeline = workspace.settings.pipeline
        self.lanes = pipeline.processes or os.cpu_count() or 1
        self._workspace = workspace
        self._workers = [
            GuardedWorker(pipeline.message_seconds, pipeline.message_memory_mb, self._hold)
            for _ in range(self.lanes)
        ]
        self._free: queue.LifoQueue[GuardedWorker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)

    def warm(self) -> None:
        """Start the fork server."""
        preload()

    def run(self, stage: str, ref: BatchRef) -> BatchOut:
        """Return the outcome of a batch, done by the next free worker."""
        worker = self._free.get()
        try:
            return worker.run(stage, ref)
        finally:
            self._free.put(worker)

    def stop(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()

    def _hold(self, ref: BatchRef, failure: Quarantined) -> None:
        hold_messages(Deriver(self._workspace), ref.run.run_id, [failure])
