"""Prove that any order, any split, any crash and two processes at once end in the same files.

`python -m eval.convergence [--short|--long] [--seed N] [--work DIR] [--json]` drives the product only by its
command. A clean run over a made-up corpus is the reference. Then the same mails arrive in other orders and in
several runs, runs are killed (at named points inside and at random instants from outside), two accounts run
at once on one state, and after one finishing run per account every file must equal the reference's and the
ledger must agree with the disk. Exits 1 on any difference and keeps the work folder then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from eval.arena import POINTS, Arena, Corpus, Pace, Result
from eval.generate import Shape
from eval.snapshot import compare, compare_with_ledger, exact_snapshot, published_digests, snapshot
from models.base import Record


class Plan(Record):
    """How much is tried: messages in the large and the small corpus, and counts of each scenario."""

    large: int = 500
    small: int = 60
    orders: int = 2
    splits: int = 2
    kills: int = 24
    together: int = 2


SHORT = Plan()
LONG = Plan(small=90, orders=20, splits=20, kills=200, together=10)


class Reference(Record):
    """A corpus, the files that one clean run made of it, and how long that took."""

    corpus: Corpus
    files: dict[str, str]
    digests: dict[str, str]
    pace: Pace


class Harness:
    """Runs scenarios one after another and collects what came out."""

    def __init__(self, work: Path, command: list[str], seed: int, say: Callable[[str], None]) -> None:
        self.work, self.command, self.say = work, command, say
        self.chance = random.Random(seed)
        self.results: list[Result] = []
        self.unreached: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()
        self.deepest = {point: 12 if point == "blob-written" else 2 for point in POINTS}

    def reference(self, name: str, count: int) -> Reference:
        """Make a corpus and run it once, all accounts in one run, then again: nothing may change."""
        shape = Shape() if count >= 200 else Shape(no_id=0.03, reused_id=0.03, undated=0.02, empty=0.02)
        corpus = Corpus.make(self.work / f"corpus-{name}", count, self.chance.getrandbits(32), shape)
        arena = self._arena(f"reference-{name}", corpus)
        arena.arrive(corpus.files)
        accounts = list(corpus.accounts)
        first = arena.run_to_end(accounts) or {}
        files = snapshot(arena.state)
        empty = sum("empty" in traits for traits in corpus.traits.values())
        if not first.get("written"):
            arena.problem("the clean run wrote nothing")
        if first.get("quarantined", 0) > empty:
            arena.problem(f"{first['quarantined']} mails in quarantine, but only {empty} of them are empty")
        digests = {} if compare_with_ledger(arena.state) else published_digests(arena.state)
        full = arena.seconds_of_last_run
        before = exact_snapshot(arena.state)
        report = arena.run_to_end(accounts)
        start = arena.seconds_of_last_run
        if report and report.get("written"):
            arena.problem(f"the second run over the same archive wrote {report['written']} again")
        if compare(before, exact_snapshot(arena.state)):
            arena.problem("the second run over the same archive touched files")
        made = Reference(
            corpus=corpus, files=files, digests=digests, pace=Pace(start=start, full=max(full, start + 0.2))
        )
        self._finish(arena, made)
        return made

    def rebuilt(self, reference: Reference) -> None:
        """Delete the tree and the record cache: the next run brings the same bytes back."""
        arena = self._arena("deleted-tree", reference.corpus)
        arena.arrive(reference.corpus.files)
        arena.run_to_end(list(reference.corpus.accounts))
        before = {path: line.split()[0] for path, line in exact_snapshot(arena.state).items()}
        for folder in ("extracted", "threads"):
            shutil.rmtree(arena.state / folder, ignore_errors=True)
        for cache in arena.state.glob("cache.db*"):
            cache.unlink()
        arena.run_to_end(list(reference.corpus.accounts))
        after = {path: line.split()[0] for path, line in exact_snapshot(arena.state).items()}
        if changed := compare(before, after):
            arena.problem(f"{len(changed)} files came back with other bytes, first {changed[0].path}")
        self._finish(arena, reference)

    def arrival(self, name: str, reference: Reference, parts: int) -> None:
        """Let the mails arrive in random order in `parts` steps, each account run after each step."""
        arena = self._arena(name, reference.corpus)
        for part in self._split(reference.corpus.files, parts):
            arena.arrive(part)
            for account in self._shuffled(reference.corpus.accounts):
                arena.run_to_end([account])
        self._finish(arena, reference)

    def kills(self, name: str, reference: Reference) -> None:
        """Let the mails arrive in steps and kill most runs; only the last run of each account is let be."""
        arena = self._arena(name, reference.corpus)
        for part in self._split(reference.corpus.files, self.chance.randint(2, 5)):
            arena.arrive(part)
            for account in self._shuffled(reference.corpus.accounts):
                for _ in range(self.chance.randint(1, 3)):
                    if not self._kill_once(arena, account, reference.pace):
                        break  # it came to its end: there is little left to interrupt
        for account in self._shuffled(reference.corpus.accounts):
            arena.run_to_end([account])
        self._finish(arena, reference)

    def together(self, name: str, reference: Reference, with_kills: bool) -> None:
        """Run the accounts at once on one state, some of them killed, then each once more alone."""
        arena = self._arena(name, reference.corpus)
        for part in self._split(reference.corpus.files, self.chance.randint(1, 3)):
            arena.arrive(part)
            kills: dict[str, float | None] = dict.fromkeys(reference.corpus.accounts)
            if with_kills:
                kills[self.chance.choice(reference.corpus.accounts)] = self._instant(reference.pace, 2.0)
            self.killed["from outside"] += arena.run_at_once(kills)
        for account in self._shuffled(reference.corpus.accounts):
            arena.run_to_end([account])
        self._finish(arena, reference)

    def _kill_once(self, arena: Arena, account: str, pace: Pace) -> bool:
        # Half and half, by what has been reached so far.
        inside = sum(self.killed[point] for point in POINTS) <= self.killed["from outside"]
        if not inside:
            killed = arena.run_until(account, self._instant(pace, 1.0))
            self.killed["from outside"] += killed
            return killed
        point = min(
            POINTS, key=lambda name: self.killed[name] + self.unreached[name] / 3 + self.chance.random()
        )
        passing = self.chance.randint(1, self.deepest[point])
        if arena.run_to_point(account, point, passing):
            self.killed[point] += 1
            self.deepest[point] += passing == self.deepest[point]
            return True
        self.unreached[point] += 1
        self.deepest[point] = max(1, passing // 2)
        return False

    def _instant(self, pace: Pace, stretch: float) -> float:
        return self.chance.uniform(pace.start * 0.4, pace.start + (pace.full - pace.start) * 0.6) * stretch

    def _split(self, files: list[str], parts: int) -> list[list[str]]:
        order = self._shuffled(files)
        cuts = sorted(self.chance.sample(range(1, len(order)), parts - 1))
        return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]

    def _shuffled(self, values: list[str]) -> list[str]:
        return self.chance.sample(values, len(values))

    def _arena(self, name: str, corpus: Corpus) -> Arena:
        return Arena(self.work / name, corpus, self.command, random.Random(self.chance.getrandbits(32)))

    def _finish(self, arena: Arena, reference: Reference) -> None:
        result = arena.verify(reference.files, reference.digests)
        self.results.append(result)
        verdict = "equal" if result.equal else f"NOT EQUAL: {result.first}"
        self.say(
            f"{result.scenario}: {result.runs} runs, {result.kills} kills, {result.seconds:.0f} s, {verdict}"
        )
        if result.equal:
            shutil.rmtree(arena.folder, ignore_errors=True)


def run(plan: Plan, harness: Harness) -> None:
    """Run every scenario of the plan."""
    small = harness.reference("small", plan.small)
    if not small.files:
        return
    harness.rebuilt(small)
    scenario = fruitless = 0
    while (before := sum(harness.killed.values())) < plan.kills and fruitless < 3:
        scenario += 1
        harness.kills(f"kills-{scenario}", small)
        fruitless = 0 if sum(harness.killed.values()) > before else fruitless + 1
    for number in range(plan.together):
        harness.together(f"together-{number + 1}", small, with_kills=number % 2 == 1)
    large = harness.reference("large", plan.large)
    for number in range(plan.orders):
        harness.arrival(f"order-{number + 1}", large, 2)
    for number in range(plan.splits):
        harness.arrival(f"split-{number + 1}", large, harness.chance.randint(3, 6))


def table(results: list[Result]) -> str:
    """Return the results as a plain table."""
    rows = [("scenario", "mails", "runs", "kills", "at", "seconds", "result")]
    for one in results:
        points = ", ".join(f"{point} {count}" for point, count in sorted(one.points.items())) or "-"
        verdict = "equal" if one.equal else f"DIFFERENT ({len(one.problems)}): {one.first}"
        rows.append(
            (
                one.scenario,
                str(one.mails),
                str(one.runs),
                str(one.kills),
                points,
                f"{one.seconds:.1f}",
                verdict,
            )
        )
    widths = [min(max(len(row[column]) for row in rows), 60) for column in range(6)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[6]])
        for row in rows
    )


def main() -> int:
    """Run the harness from the command line; return 1 on any difference."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.convergence", description=__doc__.partition("\n")[0]
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="about four minutes on two cores (default)")
    size.add_argument("--long", action="store_true", help="20 orders, 20 splits, 200 kills")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another corpus and other kills")
    parser.add_argument(
        "--work", type=Path, help="folder to work in (default: a new one, removed if all is equal)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--command", help="the product's command (default: this Python with -m flows.cli)")
    for field in ("large", "small", "orders", "splits", "kills", "together"):
        parser.add_argument(f"--{field}", type=int, help=argparse.SUPPRESS)
    wish = parser.parse_args()
    plan = msgspec.structs.replace(LONG if wish.long else SHORT)
    for field in plan.__struct_fields__:
        if getattr(wish, field) is not None:
            setattr(plan, field, getattr(wish, field))
    if wish.work:
        wish.work.mkdir(parents=True, exist_ok=True)
        if any(wish.work.iterdir()):
            parser.error(f"--work {wish.work} is not empty: name a new folder")
    work = wish.work or Path(tempfile.mkdtemp(prefix="atlas-convergence-"))
    command = shlex.split(wish.command) if wish.command else [sys.executable, "-m", "flows.cli"]
    harness = Harness(
        work.resolve(), command, wish.seed, lambda line: print(line, file=sys.stderr, flush=True)
    )
    began = time.monotonic()
    run(plan, harness)
    equal = all(result.equal for result in harness.results)
    never = [point for point in POINTS if not harness.killed[point] and plan.kills]
    summary = {
        "equal": equal,
        "seed": wish.seed,
        "scenarios": len(harness.results),
        "runs": sum(result.runs for result in harness.results),
        "kills": sum(harness.killed.values()),
        "killed_at": dict(sorted(harness.killed.items())),
        "never_reached": never,
        "seconds": round(time.monotonic() - began, 1),
        "work": None if equal and not wish.work else str(work),
    }
    if wish.json:
        print(
            json.dumps(
                {**summary, "results": msgspec.to_builtins(harness.results)}, ensure_ascii=False, indent=1
            )
        )
    else:
        print(table(harness.results))
        print("; ".join(f"{key} {value}" for key, value in summary.items()))
    if equal and not wish.work:
        shutil.rmtree(work, ignore_errors=True)
    return 0 if equal else 1


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
