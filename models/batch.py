"""What passes between an executor and the stages: references, never megabytes. These shapes are final."""

from __future__ import annotations

from models.base import Reference
from models.errors import Kind


class RunRef(Reference, frozen=True):
    """Where a batch belongs: the state root (path) and the run, whose settings the ledger keeps.

    The ledger is SQLite in the state root, or what the worker's own environment names (`ATLAS_LEDGER_URL`):
    a reference holds no password.
    """

    state: str
    run_id: str


class BatchRef(Reference, frozen=True):
    """A batch of work for one stage.

    `keys` are opaque to executors. fetch: JSON of one listed item each (stages.fetch `Item`), or of the
    cursor that becomes valid when the batch is stored; decode, dequote, thread, entities, intent: hashes
    of raw messages; normalize: surrogate ids of threads. `batch_id` is stable for equal keys.
    """

    batch_id: str
    run: RunRef
    keys: tuple[str, ...]
    account: str | None = None


class Quarantined(Reference, frozen=True):
    """One message that a stage could not take; `key` is its raw hash."""

    key: str
    stage: str
    kind: Kind
    detail: str
    remedy: str | None = None
    traceback: str | None = None


class Unreadable(Reference, frozen=True):
    """A file, folder or message that a source lists and cannot give: its relative path, and why. Never seen."""

    path: str
    reason: str


class BatchOut(Reference, frozen=True):
    """What became of a batch: keys that go on, how many of them came from the record cache, failures.

    For fetch `ok` holds the hashes of the messages that are now durable, for thread the surrogate ids of the
    threads that changed, for normalize those that are settled and published. `seconds` is CPU time.
    """

    stage: str
    ok: tuple[str, ...] = ()
    cached: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    seconds: float = 0.0
