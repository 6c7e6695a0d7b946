"""One scenario of the convergence harness: a state root, sources that fill by and by, runs of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eval.generate import Shape, generate
from eval.snapshot import Difference, compare, compare_with_ledger, published_digests, snapshot
from models.base import Record

POINTS = (
    "blob-written",
    "fetch-committed",
    "decode-cached",
    "thread-committed",
    "settle-committed",
    "publish-noted",
    "publish-written",
    "publish-renamed",
    "publish-removed",
)
ROOT = Path(__file__).resolve().parents[1]
CLEAN, LOOK, BUSY = 0, 1, 75
OUTCOMES = ("written", "unchanged", "duplicate", "quarantined", "pending")
LONGEST_RUN = 600.0
LONGEST_LEASE = 30.0
"""Seconds for which a run may be refused because a killed one still seems to hold the mailbox."""


class Pace(Record):
    """Seconds of a run that finds nothing new, and of one that does everything."""

    start: float
    full: float


class Corpus(Record):
    """A made-up corpus on disk: `files` are `<account>/<uid>`, `traits` says what is odd about each."""

    root: str
    accounts: list[str]
    files: list[str]
    traits: dict[str, list[str]]

    @classmethod
    def make(cls, root: Path, count: int, seed: int, shape: Shape) -> Corpus:
        """Write the corpus and return it."""
        rows = generate(count, seed, root, shape)
        traits = {row.path: [f"message {row.number}", f"thread {row.thread}", *row.traits] for row in rows}
        return cls(root=str(root), accounts=list(shape.accounts), files=sorted(traits), traits=traits)


class Result(Record):
    """What one scenario came to; `problems` is empty when everything equals the reference."""

    scenario: str
    mails: int
    runs: int = 0
    kills: int = 0
    points: dict[str, int] = {}
    problems: list[str] = []
    seconds: float = 0.0

    @property
    def equal(self) -> bool:
        return not self.problems

    @property
    def first(self) -> str:
        return self.problems[0] if self.problems else ""


class Run:
    """One start of the command: its number in the scenario, and where its output and report go."""

    process: subprocess.Popen[bytes]

    def __init__(self, number: int, accounts: list[str], stem: Path) -> None:
        self.number, self.accounts = number, accounts
        self.log, self.report = stem.with_suffix(".log"), stem.with_suffix(".json")

    def __str__(self) -> str:
        return f"run {self.number} ({'+'.join(self.accounts)})"


class Arena:
    """A state root of its own and the sources beside it."""

    def __init__(self, folder: Path, corpus: Corpus, command: list[str], chance: random.Random) -> None:
        self.folder, self.corpus, self.command, self.chance = folder, corpus, command, chance
        self.state = folder / "state"
        self.seconds_of_last_run = 0.0
        self._result = Result(scenario=folder.name, mails=0)
        self._began = time.monotonic()
        for account in corpus.accounts:
            (folder / "mail" / account).mkdir(parents=True)
        # Neither the size of a batch nor the number of processes may show in the outcome.
        pipeline = f"batch_size = {chance.choice((7, 25, 200))}\nprocesses = {chance.choice((1, 2))}"
        config = f'company_domains = ["us.example"]\n[pipeline]\n{pipeline}\nquarantine_limit = 1.0\n'
        (folder / "atlas.toml").write_text(config, encoding="utf-8")

    def problem(self, text: str) -> None:
        """Note that something is not as it should be."""
        self._result.problems.append(text)

    def arrive(self, files: Iterable[str]) -> None:
        """Put mails into the sources."""
        for file in files:
            source, target = Path(self.corpus.root) / file, self.folder / "mail" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:
                shutil.copy2(source, target)
            self._result.mails += 1

    def run_to_end(self, accounts: list[str]) -> dict[str, Any] | None:
        """Run undisturbed; exit code, balance and count must be right. Return the run report."""
        deadline = time.monotonic() + LONGEST_LEASE
        while True:
            run = self._start(accounts)
            code = self._wait(run, LONGEST_RUN)
            if code != BUSY or time.monotonic() > deadline:
                return self._check_report(run, code)
            time.sleep(0.5)

    def run_until(self, account: str, seconds: float) -> bool:
        """Run and kill the whole process group after `seconds`; return False if the run ended before."""
        run = self._start([account])
        return self._killed(run, self._wait(run, seconds, expected=True), "from outside")

    def run_to_point(self, account: str, point: str, passing: int) -> bool:
        """Run and let the product kill itself at the n-th passing of a point; False if it never got there."""
        run = self._start([account], {"ATLAS_CRASH_AT": f"{point}:{passing}", "ATLAS_CRASH_GROUP": "1"})
        return self._killed(run, self._wait(run, LONGEST_RUN), point)

    def run_at_once(self, kills: Mapping[str, float | None]) -> int:
        """Run all accounts at once; one with a number is killed after so many seconds. Return the kills."""
        began = time.monotonic()
        running = {account: self._start([account]) for account in kills}
        killed = 0
        for account in sorted(kills, key=lambda name: kills[name] or LONGEST_RUN):
            limit = kills[account]
            left = (limit or LONGEST_RUN) - (time.monotonic() - began)
            code = self._wait(running[account], max(left, 0), expected=limit is not None)
            if limit is not None:
                killed += self._killed(running[account], code, "from outside")
            else:
                self._check_report(running[account], code)
        return killed

    def verify(self, files: Mapping[str, str], digests: Mapping[str, str]) -> Result:
        """Compare state and ledger with the reference and return the result of the scenario."""
        found = [*compare(files, snapshot(self.state)), *compare_with_ledger(self.state)]
        if not found:
            mine = published_digests(self.state)
            # A quarantine file's digest may cover when it was first seen, so its value is not compared.
            lasting = [path for path in sorted(mine) if "/_failed/" not in path]
            changed = [path for path in lasting if digests and digests.get(path) != mine[path]]
            found = [
                Difference(path=path, detail="equal file, other digest in the ledger") for path in changed
            ]
        for row in found:
            self.problem(f"{row.path}: {row.detail}{self._about(row.mails)}")
        self._result.seconds = round(time.monotonic() - self._began, 1)
        if self._result.problems:
            listing = "\n".join(self._result.problems) + "\n"
            (self.folder / "problems.txt").write_text(listing, encoding="utf-8")
        return self._result

    def _start(self, accounts: list[str], more: Mapping[str, str] | None = None) -> Run:
        self._result.runs += 1
        sources = [part for name in accounts for part in ("--source", str(self.folder / "mail" / name))]
        account = ["--account", accounts[0]] if len(accounts) == 1 else []  # several: named by their folders
        run = Run(self._result.runs, accounts, self.folder / f"run-{self._result.runs:03}")
        options = ["--config", str(self.folder / "atlas.toml"), "--quiet", "--report", str(run.report)]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
        environment |= {"TZ": self.chance.choice(("UTC", "Asia/Tokyo", "America/New_York")), **(more or {})}
        with run.log.open("wb") as output:
            output.write(f"# {accounts} {dict(more or {})}\n".encode())
            output.flush()
            run.process = subprocess.Popen(
                [*self.command, *sources, *account, "--state", str(self.state), *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
        return run

    def _wait(self, run: Run, limit: float, expected: bool = False) -> int:
        """Return the exit code; after `limit` seconds the process group is killed."""
        began = time.monotonic()
        try:
            code = run.process.wait(limit)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.process.pid, signal.SIGKILL)
            code = run.process.wait()
            if not expected:
                self.problem(f"{run} hung and was killed after {limit:.0f} s")
        self.seconds_of_last_run = time.monotonic() - began
        return code

    def _killed(self, run: Run, code: int, point: str) -> bool:
        if code == -signal.SIGKILL:
            self._result.kills += 1
            self._result.points[point] = self._result.points.get(point, 0) + 1
            return True
        if code != BUSY:
            self._check_report(run, code)
        return False

    def _check_report(self, run: Run, code: int) -> dict[str, Any] | None:
        if code not in (CLEAN, LOOK):
            last = run.log.read_text("utf-8", "replace").strip().splitlines()[-1:]
            self.problem(f"{run} ended with {code}: {' '.join(last)[:200]}")
            return None
        try:
            report: dict[str, Any] = json.loads(run.report.read_bytes())
        except (OSError, ValueError) as error:
            self.problem(f"{run} left no readable report: {error}")
            return None
        folders = [self.folder / "mail" / name for name in run.accounts]
        there = sum(1 for folder in folders for path in folder.rglob("*") if path.is_file())
        if not report.get("balanced") or sum(int(report.get(key, 0)) for key in OUTCOMES) != report.get(
            "seen"
        ):
            self.problem(f"{run} is unbalanced: {_numbers(report)}")
        if report.get("seen") != there or report.get("pending"):
            self.problem(f"{run} had {there} mails in its source, but {_numbers(report)}")
        return report

    def _about(self, mails: list[str]) -> str:
        traits = self.corpus.traits
        told = [f"{mail} ({', '.join(traits[mail])})" if mail in traits else mail for mail in mails[:4]]
        return f" [about {'; '.join(told)}]" if told else ""


def _numbers(report: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {report.get(key)}" for key in ("seen", *OUTCOMES, "balanced"))
