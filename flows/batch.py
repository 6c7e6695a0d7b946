"""One table of stages, and one call that does a stage's work on a batch: what every executor runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

import msgspec

from flows.derive import Deriver, Note
from flows.settle import settle_threads
from models.base import Record, content_hash, digest
from models.batch import BatchOut, BatchRef, Quarantined, RunRef, Unreadable
from models.errors import AtlasError
from models.thread import Node
from stages.fetch import open_source
from stages.fetch.config import policy_of as fetch_policy
from stages.fetch.source import Item, ItemVanished
from stages.thread import make_node, place, withdraw
from storage import quarantine, work
from storage.durable import transient_disk
from storage.faults import inject, passing
from storage.thread_index import LedgerThreadIndex
from storage.workspace import workspace_of

DISK_FAILED = "the state folder gave up"


class FetchKey(Record):
    """A key of a fetch batch: an item to read, or a cursor that is valid once the batch is stored."""

    item: Item | None = None
    cursor_of: str | None = None
    cursor: str | None = None


_fetch_keys = msgspec.json.Decoder(FetchKey)


def batch_ref(stage: str, run: RunRef, keys: Sequence[str], account: str | None = None) -> BatchRef:
    """Return a reference to a batch; its id is a function of stage and keys."""
    name = f"{stage}-{digest(stage, account, list(keys))[:12]}"
    return BatchRef(batch_id=name, run=run, keys=tuple(keys), account=account)


def run_batch(stage: str, ref: BatchRef, note: Note | None = None) -> BatchOut:
    """Do `stage` on the batch `ref` in this process and return what became of it.

    Everything is read from and written to the state root; running a batch twice changes nothing more. `note`
    hears the hash of each message before it is worked on. Raises Transient when storage or a server gives up.
    """
    deriver = _deriver(ref.run)
    deriver.failures.clear()
    deriver.cached.clear()
    deriver.note = note or (lambda raw: None)
    began = time.process_time()
    with transient_disk(DISK_FAILED):
        out = _STAGES[stage](deriver, ref)
        if deriver.failures:
            hold_messages(
                deriver, ref.run.run_id, [deriver.failures[raw] for raw in sorted(deriver.failures)]
            )
    return msgspec.structs.replace(
        out,
        cached=deriver.cached[stage],
        quarantined=tuple(deriver.failures[raw] for raw in sorted(deriver.failures)),
        seconds=time.process_time() - began,
    )


@lru_cache(maxsize=2)
def _deriver(run: RunRef) -> Deriver:
    return Deriver(workspace_of(run))


def _fetch(deriver: Deriver, ref: BatchRef) -> BatchOut:
    """Read items, make their bytes durable, then note locations, work and cursors in one transaction."""
    workspace = deriver.workspace
    keys = [_fetch_keys.decode(key) for key in ref.keys]
    assert ref.account is not None
    policy = fetch_policy(workspace.settings, workspace.curated)
    source = open_source(workspace.sources[ref.account], ref.account, policy)
    rows: list[dict[str, str | None]] = []
    blobs: list[bytes] = []
    unreadable: list[Unreadable] = []
    try:
        for item in (key.item for key in keys if key.item is not None):
            try:
                data = source.read(item)
                inject("fetch", content_hash(data))
            except ItemVanished as error:
                unreadable.append(Unreadable(path=_path_of(item), reason=error.detail))
                continue
            except (AtlasError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - it was never seen: named, and tried again next time
                unreadable.append(Unreadable(path=_path_of(item), reason=f"{type(error).__name__}: {error}"))
                continue
            blobs.append(data)
            rows.append(
                {
                    "folder": item.folder,
                    "uid": item.uid,
                    "locator": item.locator,
                    "stamp": item.stamp,
                    "internal_date": item.internal_date,
                }
            )
    finally:
        source.close()
    raws = workspace.blobs.put_all(blobs)
    for row, raw in zip(rows, raws, strict=True):
        row["raw"] = raw
    cursors = {
        key.cursor_of: key.cursor
        for key in keys
        if key.cursor_of and key.cursor is not None and is_whole(key.cursor_of, unreadable)
    }
    with workspace.ledger.write() as connection:
        work.store_locations(connection, ref.account, rows)
        work.store_cursors(connection, ref.account, cursors)
    passing("fetch-committed")
    return BatchOut(stage="fetch", ok=tuple(raws), unreadable=tuple(unreadable))


def is_whole(container: str, unreadable: Iterable[Unreadable]) -> bool:
    """Return whether nothing in a container (an mbox) was unreadable, so that it need not be listed again."""
    return not any(
        one.path == container or one.path.startswith((f"{container}/", f"{container} ("))
        for one in unreadable
    )


def _path_of(item: Item) -> str:
    within = item.folder == "." or item.uid.startswith(f"{item.folder}/")
    return item.uid if within else f"{item.folder}/{item.uid}"


def _decode(deriver: Deriver, ref: BatchRef) -> BatchOut:
    done = deriver.decoded(ref.keys)
    passing("decode-cached")
    return BatchOut(stage="decode", ok=tuple(done))


def _dequote(deriver: Deriver, ref: BatchRef) -> BatchOut:
    return BatchOut(stage="dequote", ok=tuple(deriver.dequoted(ref.keys)))


def _thread(deriver: Deriver, ref: BatchRef) -> BatchOut:
    cuts = deriver.dequoted(ref.keys)
    messages = deriver.decoded(cuts)
    policy = deriver.policies.thread
    nodes: list[Node] = []
    for raw, cut in cuts.items():
        node = deriver.attempt("thread", raw, partial(make_node, messages[raw], cut, policy))
        if node is not None:
            nodes.append(node)
    with deriver.workspace.ledger.write() as connection:
        touched = place(nodes, LedgerThreadIndex(connection, ref.run.run_id), policy)
    passing("thread-committed")
    return BatchOut(stage="thread", ok=tuple(str(surrogate) for surrogate in touched))


def _entities(deriver: Deriver, ref: BatchRef) -> BatchOut:
    return BatchOut(stage="entities", ok=tuple(deriver.entities(ref.keys)))


def _intent(deriver: Deriver, ref: BatchRef) -> BatchOut:
    return BatchOut(stage="intent", ok=tuple(deriver.intents(ref.keys)))


def _normalize(deriver: Deriver, ref: BatchRef) -> BatchOut:
    settled, paths = settle_threads(deriver, [int(key) for key in ref.keys])
    passing("settle-committed")
    deriver.note("")
    deriver.workspace.publisher.publish(paths)
    return BatchOut(stage="normalize", ok=tuple(str(surrogate) for surrogate in settled))


_STAGES: dict[str, Callable[[Deriver, BatchRef], BatchOut]] = {
    "fetch": _fetch,
    "decode": _decode,
    "dequote": _dequote,
    "thread": _thread,
    "entities": _entities,
    "intent": _intent,
    "normalize": _normalize,
}


def hold_messages(deriver: Deriver, run_id: str, failures: Sequence[Quarantined]) -> None:
    """Put failed messages into quarantine and take them out of their threads, in one transaction."""
    with deriver.workspace.ledger.write() as connection:
        quarantine.hold(connection, failures, deriver.signatures)
        index = LedgerThreadIndex(connection, run_id)
        withdraw([failure.key for failure in failures], index, deriver.policies.thread)
