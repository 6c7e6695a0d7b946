"""`run_batch`, `BatchRef` and `BatchOut` are all that an executor needs: a driver of its own, in which every
batch of every stage runs in a process that knows nothing but a pickled reference, ends in the same tree."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from driving import LOOK, ROOT, Product, assert_equal_trees, inject
from letters import TALK, hash_of

import stages
from eval.snapshot import compare_with_ledger, snapshot
from flows.batch import FetchKey, batch_ref
from flows.derive import Deriver
from flows.settle import settle_people
from models.batch import BatchOut, BatchRef, RunRef
from models.config import Settings
from stages.fetch import open_source
from stages.fetch.source import NothingKnown
from storage.ledger import chunks
from storage.runs import begin_run
from storage.thread_index import unsettled
from storage.workspace import Workspace, open_workspace

BATCH = """
import pickle, sys
from flows.batch import run_batch
stage, ref, times = pickle.load(sys.stdin.buffer)
outs = [run_batch(stage, ref) for _ in range(times)]
sys.stdout.buffer.write(pickle.dumps(outs[0]))
"""
RUN_ID = "run-by-hand"


class Driver:
    """The whole pipeline in some forty lines: no worker pool, no record kept between two batches."""

    def __init__(self, state: Path, source: Path, size: int, times: int = 1, **environment: str) -> None:
        self.size, self.times, self.environment = size, times, environment
        self.outs: list[BatchOut] = []
        settings = Settings(state=str(state), company_domains=["us.example"])
        self.workspace: Workspace = open_workspace(settings, {"office": str(source)})
        begin_run(
            self.workspace.ledger,
            RUN_ID,
            "2026-04-01T00:00:00+00:00",
            settings,
            self.workspace.curated,
            self.workspace.sources,
        )
        self.run_ref = RunRef(state=str(state), run_id=RUN_ID)

    def execute(self, source: Path) -> None:
        for listing in open_source(str(source), "office").listing(NothingKnown(), self.size):
            keys = [msgspec.json.encode(FetchKey(item=item)).decode() for item in listing.items]
            raws: Sequence[str] = self.batch("fetch", keys).ok
            for stage in ("decode", "dequote", "thread", "entities", "intent"):
                out = self.batch(stage, raws)
                raws = [raw for raw in raws if raw not in {failure.key for failure in out.quarantined}]
        while threads := self.open_threads():
            for part in chunks(threads, self.size):
                self.batch("normalize", [str(surrogate) for surrogate in part])
        settle_people(Deriver(self.workspace))
        self.workspace.publisher.publish()
        self.workspace.close()

    def open_threads(self) -> list[int]:
        with self.workspace.ledger.read() as connection:
            return [surrogate for surrogate, _ in unsettled(connection)]

    def batch(self, stage: str, keys: Sequence[str]) -> BatchOut:
        """Run one batch in a fresh process: a pickled reference goes in, a pickled outcome comes out."""
        ref: BatchRef = batch_ref(stage, self.run_ref, keys, "office" if stage == "fetch" else None)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-c", BATCH],
            check=False,
            input=pickle.dumps((stage, ref, self.times)),
            capture_output=True,
            env={**kept, "PYTHONPATH": path, **self.environment},
        )
        assert done.returncode == 0, done.stderr.decode()
        out: BatchOut = pickle.loads(done.stdout)
        assert isinstance(out, BatchOut) and out.stage == stage
        self.outs.append(out)
        return out


def test_every_batch_in_a_process_of_its_own_ends_in_the_tree_of_the_command(
    office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    driver = Driver(tmp_path / "state", office, size=7)
    driver.execute(office)
    assert {out.stage for out in driver.outs} == set(stages.NAMES)
    assert len([out for out in driver.outs if out.stage == "decode"]) == 2
    assert_equal_trees(clean, snapshot(tmp_path / "state"))
    assert compare_with_ledger(tmp_path / "state") == []


def test_a_poisoned_batch_that_even_runs_twice_ends_as_with_the_command(
    office: Path, product: Product, tmp_path: Path
) -> None:
    poison = inject(("entities", "raise", hash_of(TALK)))
    product.run("--source", office, code=LOOK, **poison)
    driver = Driver(tmp_path / "state", office, size=13, times=2, **poison)
    driver.execute(office)
    [failure] = [failure for out in driver.outs for failure in out.quarantined]
    assert (failure.key, failure.stage, failure.kind) == (hash_of(TALK), "entities", "defect")
    assert_equal_trees(product.tree(), snapshot(tmp_path / "state"))


def test_references_are_small_and_say_nothing_of_the_content(tmp_path: Path) -> None:
    run_ref = RunRef(state="/state", run_id=RUN_ID)
    ref = batch_ref("decode", run_ref, [hash_of(TALK)] * 200)
    assert ref == batch_ref("decode", run_ref, [hash_of(TALK)] * 200)
    assert ref.batch_id != batch_ref("dequote", run_ref, ref.keys).batch_id
    assert pickle.loads(pickle.dumps(ref)) == ref
    assert len(pickle.dumps(ref)) < 20_000
