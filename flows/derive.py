"""What the message-level stages make of raw messages: from the record cache, or computed.

Each stage asks for the records before it, so a missing or deleted cache row is only a miss, in any process.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from blake3 import blake3

from flows.policies import policies_of
from models.base import pack
from models.batch import Quarantined
from models.errors import BadInput, Transient
from models.message import Decoded, Dequoted, Entities, Intent
from stages import decode, dequote, entities, intent
from storage.faults import inject
from storage.workspace import Workspace

T = TypeVar("T")
Note = Callable[[str], None]
_DECODERS: dict[str, msgspec.msgpack.Decoder[Any]] = {
    "decode": msgspec.msgpack.Decoder(Decoded),
    "dequote": msgspec.msgpack.Decoder(Dequoted),
    "entities": msgspec.msgpack.Decoder(Entities),
    "intent": msgspec.msgpack.Decoder(Intent),
}
_KEPT = 2000  # records of each stage that are kept in memory between batches


class Deriver:
    """Derives records of one run. `failures` grows with each message that a stage could not take.

    `note` is called with the hash of each message before it is worked on (a watchdog listens).
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.policies = policies_of(workspace.settings, workspace.curated)
        self.signatures = self.policies.signatures()
        self.signature = self.policies.signature()
        self.note: Note = lambda raw: None
        self.failures: dict[str, Quarantined] = {}
        self.cached: Counter[str] = Counter()
        self._kept: dict[str, dict[str, Any]] = {stage: {} for stage in _DECODERS}

    def decoded(self, raws: Iterable[str]) -> dict[str, Decoded]:
        """Return raw hash → decoded message, but for those that failed."""
        policy = self.policies.decode
        return self._derive(
            "decode",
            raws,
            lambda raw: raw,
            lambda raw, _: decode.decode(self.workspace.blobs.get(raw), policy),
        )

    def dequoted(self, raws: Iterable[str]) -> dict[str, Dequoted]:
        """Return raw hash → segments and clean text, but for those that failed."""
        messages = self.decoded(raws)
        policy = self.policies.dequote
        return self._derive(
            "dequote",
            messages,
            lambda raw: dequote.input_of(messages[raw]),
            lambda raw, given: dequote.dequote(given, policy),
        )

    def entities(self, raws: Iterable[str]) -> dict[str, Entities]:
        """Return raw hash → entities, but for those that failed."""
        messages, cuts = self._both(raws)
        policy = self.policies.entities
        return self._derive(
            "entities",
            cuts,
            lambda raw: entities.input_of(messages[raw], cuts[raw].clean),
            lambda raw, given: entities.extract_entities(given, policy),
        )

    def intents(self, raws: Iterable[str]) -> dict[str, Intent]:
        """Return raw hash → intent, but for those that failed."""
        messages, cuts = self._both(raws)
        policy = self.policies.intent
        return self._derive(
            "intent",
            cuts,
            lambda raw: intent.input_of(messages[raw], cuts[raw].clean),
            lambda raw, given: intent.classify_intent(given, policy),
        )

    def prefetch(self, raws: Sequence[str]) -> None:
        """Bring all records of some messages into memory, so that single look-ups cost nothing."""
        self.entities(raws)
        self.intents(raws)

    def _both(self, raws: Iterable[str]) -> tuple[dict[str, Decoded], dict[str, Dequoted]]:
        cuts = self.dequoted(raws)
        return self.decoded(cuts), cuts

    def attempt(self, stage: str, raw: str, work: Callable[[], T]) -> T | None:
        """Return `work()`, or None with a failure noted: the one place where a message's exception is caught."""
        self.note(raw)
        try:
            inject(stage, raw)
            return work()
        except Transient:
            raise
        except BadInput as error:
            failure = Quarantined(
                key=raw, stage=stage, kind=error.kind, detail=error.detail, remedy=error.remedy
            )
        except (MemoryError, RecursionError) as error:
            failure = Quarantined(
                key=raw,
                stage=stage,
                kind="resource_limit",
                detail=f"{stage} ran out of {'memory' if isinstance(error, MemoryError) else 'nesting depth'}",
                remedy="raise pipeline.message_memory_mb and retry, or dismiss the message",
            )
        except Exception as error:  # noqa: BLE001 - the driver's one catch-all: quarantined and counted
            failure = Quarantined(
                key=raw,
                stage=stage,
                kind="defect",
                detail=f"{type(error).__name__}: {error}",
                remedy="report this as a bug of atlas-extract; a new version retries it by itself",
                traceback=_short_traceback(error),
            )
        self.failures[raw] = failure
        return None

    def _derive(
        self,
        stage: str,
        raws: Iterable[str],
        input_of: Callable[[str], Any],
        compute: Callable[[str, Any], Any],
    ) -> dict[str, Any]:
        wanted = [raw for raw in dict.fromkeys(raws) if raw not in self.failures]
        kept = self._kept[stage]
        found = {raw: kept[raw] for raw in wanted if raw in kept}
        missing = [raw for raw in wanted if raw not in found]
        if missing:
            found.update(self._look_up(stage, missing, input_of, compute))
        return {raw: found[raw] for raw in wanted if raw in found}

    def _look_up(
        self,
        stage: str,
        raws: Sequence[str],
        input_of: Callable[[str], Any],
        compute: Callable[[str, Any], Any],
    ) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        keys: dict[str, bytes] = {}
        for raw in raws:
            given = self.attempt(stage, raw, partial(input_of, raw))
            if given is not None:
                inputs[raw] = given
                keys[raw] = blake3(self.signatures[stage].encode() + pack(given)).digest(length=16)
        rows = self.workspace.cache.get_all(keys.values())
        found: dict[str, Any] = {}
        fresh: dict[bytes, bytes] = {}
        for raw, key in keys.items():
            record = self._read(stage, rows.get(key))
            if record is None:
                record = self.attempt(stage, raw, partial(compute, raw, inputs[raw]))
                if record is None:
                    continue
                fresh[key] = pack(record)
            else:
                self.cached[stage] += 1
            found[raw] = record
        self.workspace.cache.put_all(fresh)
        self._keep(stage, found)
        return found

    def _read(self, stage: str, row: bytes | None) -> Any:
        if row is None:
            return None
        try:
            return _DECODERS[stage].decode(row)
        except msgspec.DecodeError:
            return None

    def _keep(self, stage: str, records: dict[str, Any]) -> None:
        kept = self._kept[stage]
        if len(kept) + len(records) > _KEPT:
            kept.clear()
        kept.update(records)


def _short_traceback(error: BaseException) -> str:
    """Return the traceback without paths of this machine: file names alone."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [
        f"  {frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} in {frame.name}" for frame in frames[-20:]
    ]
    return "\n".join([*lines, f"{type(error).__name__}: {error}"])
