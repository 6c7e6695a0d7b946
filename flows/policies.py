"""The stages' policies of one run, and the signatures that say whether finished work is still valid."""

from __future__ import annotations

from dataclasses import dataclass

import stages
from models.base import digest
from models.config import Settings
from models.curated import Curated
from stages.decode.config import DecodePolicy
from stages.decode.config import policy_of as decode_policy
from stages.dequote.config import DequotePolicy
from stages.dequote.config import policy_of as dequote_policy
from stages.entities.config import EntitiesPolicy
from stages.entities.config import policy_of as entities_policy
from stages.intent.config import IntentPolicy
from stages.intent.config import policy_of as intent_policy
from stages.normalize.config import NormalizePolicy
from stages.normalize.config import policy_of as normalize_policy
from stages.thread.config import ThreadPolicy
from stages.thread.config import policy_of as thread_policy


@dataclass(frozen=True)
class Policies:
    """One policy per stage, each a function of its slice of the configuration and the curated files it reads."""

    decode: DecodePolicy
    dequote: DequotePolicy
    thread: ThreadPolicy
    entities: EntitiesPolicy
    intent: IntentPolicy
    normalize: NormalizePolicy

    def signatures(self) -> dict[str, str]:
        """Return, for each stage, a digest of its version and its policy."""
        return {
            stage: digest(stage, stages.version(stage), getattr(self, stage))
            for stage in stages.NAMES
            if stage != "fetch"
        }

    def signature(self) -> str:
        """Return the digest of all of them: work finished under another one is stale."""
        return digest(sorted(self.signatures().items()))


def policies_of(settings: Settings, curated: Curated) -> Policies:
    """Return every stage's slice of the configuration and the curated files."""
    return Policies(
        decode=decode_policy(settings, curated),
        dequote=dequote_policy(settings, curated),
        thread=thread_policy(settings, curated),
        entities=entities_policy(settings, curated),
        intent=intent_policy(settings, curated),
        normalize=normalize_policy(settings, curated),
    )
