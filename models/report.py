"""The run report with its equation, and the quarantine file (CONTRACTS §2)."""

from __future__ import annotations

import msgspec

from models.base import Record
from models.batch import Unreadable
from models.email import Location
from models.errors import Kind


class ThreadCounts(Record):
    """Threads that began in this run, that merged into another, that changed their id.

    `guessed_links` are those of the whole state, not of this run alone.
    """

    new: int = 0
    merged: int = 0
    rekeyed: int = 0
    guessed_links: int = 0


class FolderCounts(Record):
    """The balance of one folder of an account, in messages."""

    seen: int = 0
    written: int = 0
    unchanged: int = 0
    duplicate: int = 0
    quarantined: int = 0
    pending: int = 0


class Report(Record):
    """The balance of one run: `seen = written + unchanged + duplicate + quarantined + pending`.

    `dismissed` of the quarantined were looked at and put aside by the user. `stages` are CPU seconds over all
    workers, `stage_calls` how often a stage computed a message instead of reading the record cache.
    """

    run_id: str
    started_at: str
    seconds: float = 0.0
    seen: int = 0
    written: int = 0
    unchanged: int = 0
    duplicate: int = 0
    quarantined: int = 0
    pending: int = 0
    rewritten: int = 0
    provisional: int = 0
    dismissed: int = 0
    balanced: bool = True
    exit_code: int = 0
    cached: dict[str, int] = {}
    stages: dict[str, float] = {}
    stage_calls: dict[str, int] = {}
    quarantine_kinds: dict[str, int] = {}
    threads: ThreadCounts = msgspec.field(default_factory=ThreadCounts)
    accounts: dict[str, dict[str, FolderCounts]] = {}
    unreadable: list[Unreadable] = []
    stopped: str | None = None
    defect: bool = False
    dry_run: bool = False

    def balance(self) -> None:
        """Set `balanced` and `exit_code` from the counts (CONTRACTS §2)."""
        parts = self.written + self.unchanged + self.duplicate + self.quarantined + self.pending
        self.balanced = self.seen == parts
        if not self.balanced or self.defect:
            self.exit_code = 1
        elif self.stopped or self.pending:
            self.exit_code = 2
        else:
            self.exit_code = 1 if self.quarantined > self.dismissed or self.unreadable else 0


class QuarantineFile(Record):
    """`extracted/_failed/<hash>.json`: why a message is held, and what to do."""

    kind: Kind
    stage: str
    detail: str
    remedy: str | None
    raw: str
    locations: list[Location]
    first_seen: str
    tries: int
    traceback: str | None = None


class CandidateFile(Record):
    """`customers/UNCLASSIFIED-<domain>.json`: an outside domain to be confirmed as a customer."""

    domain: str
    first_seen: str | None
    messages: int
    people: list[str]
    subjects: list[str]


class MergeProposal(Record):
    """One row of `people/_to_merge.json`: two addresses (`a` < `b`) that may be one person; `score` is 0 to 1.

    `reasons` speak for it, `counter` against it; a person says yes or no.
    """

    a: str
    b: str
    score: float
    reasons: list[str] = []
    counter: list[str] = []
    messages: list[str] = []
