"""A state root, opened: everything that a run or a batch needs of storage, in one value."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from models.batch import RunRef
from models.config import Settings
from models.curated import Curated
from models.errors import Transient, UsageError
from storage.blobs import BlobStore, open_blobs
from storage.cache import RecordCache
from storage.curated import read_curated
from storage.durable import make_folder
from storage.files import Publisher
from storage.ledger import Ledger, connect_ledger, open_ledger
from storage.runs import inputs_of


@dataclass(frozen=True, eq=False)
class Workspace:
    """One tenant's state root."""

    state: Path
    settings: Settings
    ledger: Ledger
    blobs: BlobStore
    cache: RecordCache
    publisher: Publisher
    curated: Curated
    sources: dict[str, str]  # account → path of an archive

    def close(self) -> None:
        """Close the databases."""
        self.cache.close()
        self.ledger.close()


def open_workspace(settings: Settings, sources: dict[str, str] | None = None) -> Workspace:
    """Return the state root of the settings, created when missing.

    Raises UsageError for a folder that cannot be written, another tenant's, or a broken curated file, and
    Transient for a full disk.
    """
    state = Path(settings.state).absolute()
    try:
        make_folder(state)
        probe = state / f".write-probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Transient(
                f"the state folder {state}: {error.strerror}", remedy="free space, then run again"
            ) from error
        raise UsageError(
            f"the state folder {state} cannot be written: {error.strerror}",
            remedy="check its rights, or name another one with --state",
        ) from error
    curated = read_curated(state, settings)
    ledger = open_ledger(state, settings.ledger_url, settings.tenant)
    return _assemble(state, ledger, settings, curated, sources or {})


@lru_cache(maxsize=2)
def workspace_of(ref: RunRef) -> Workspace:
    """Return the state root of a run that was begun elsewhere (in a worker process), with its settings."""
    state = Path(ref.state)
    ledger = connect_ledger(state, os.environ.get("ATLAS_LEDGER_URL"))
    return _assemble(state, ledger, *inputs_of(ledger, ref.run_id))


def _assemble(
    state: Path, ledger: Ledger, settings: Settings, curated: Curated, sources: dict[str, str]
) -> Workspace:
    return Workspace(
        state=state,
        settings=settings,
        ledger=ledger,
        blobs=open_blobs(state, settings.blobs_url),
        cache=RecordCache(state / "cache.db"),
        publisher=Publisher(state, ledger),
        curated=curated,
        sources=sources,
    )
