"""What a benchmark run found, as it is kept."""

from __future__ import annotations

from models.base import Record

SCHEMA = 1


class ProductRun(Record):
    """One run of the product over the corpus. Seconds of CPU over all processes; `stages` of the run report."""

    mails: int
    cpu: float
    wall: float
    peak_memory: int | None
    processes: int
    written: int
    exit_code: int
    balanced: bool
    outcomes: dict[str, int]
    stages: dict[str, float] = {}
    state_bytes: int = 0

    @property
    def per_cpu_second(self) -> float:
        return self.mails / self.cpu if self.cpu else 0.0

    @property
    def per_wall_second(self) -> float:
        return self.mails / self.wall if self.wall else 0.0


class Reading(Record):
    """A peer (or the standard library) over the mails of the corpus; `failed` counts what it raised."""

    name: str
    mails: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    failed: dict[str, int] = {}
    note: str = ""
    absent: str = ""


class Cutting(Record):
    """A quote parser over a labelled file: shares of mails and words, median milliseconds."""

    name: str
    rows: int = 0
    exact: float = 0.0
    lost: float = 0.0
    left: float = 0.0
    ms: float = 0.0
    failed: int = 0
    note: str = ""
    absent: str = ""


class BenchReport(Record):
    """One benchmark run; runs of one machine, corpus, file system and number of processes can be compared."""

    started_at: str
    machine: str
    filesystem: str
    load: float
    version: str
    corpus: str
    mails: int
    mean_bytes: int
    processes: int
    cold: ProductRun
    warm: ProductRun
    reading: list[Reading]
    cutting: list[Cutting]
    labelled: str
    schema: int = SCHEMA

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.machine, self.corpus, self.filesystem, self.processes
