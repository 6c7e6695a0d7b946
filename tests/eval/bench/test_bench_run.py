"""The benchmark counts what all processes of a command cost, and keeps results that can be compared."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from eval.bench.measure import run_measured
from eval.bench.peers import peer_rows, read_with_peers
from eval.bench.records import BenchReport, ProductRun, Reading
from eval.bench.show import bench_text

ROOT = Path(__file__).resolve().parents[3]
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory and orphans are read from /proc")
BUSY = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_cpu_of_children_is_counted() -> None:
    cost = run_measured(
        python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', '''{BUSY}'''])")
    )
    assert cost.exit_code == 0
    assert cost.cpu >= 0.4


@linux
def test_the_cpu_of_a_process_that_outlives_the_command_is_counted() -> None:
    cost = run_measured(
        python(f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '''{BUSY}'''])")
    )
    assert cost.cpu >= 0.4


@linux
def test_the_memory_of_the_whole_tree_is_counted() -> None:
    hold = "import time; data = bytearray(80_000_000); data[::4096] = bytes([1]) * len(data[::4096]); time.sleep(1)"
    tree = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{hold}']); "
    cost = run_measured(python(f"{tree}data = b''"))
    assert cost.peak_memory is not None
    assert 80_000_000 < cost.peak_memory < 400_000_000
    assert cost.processes == 2


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


def bench(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "eval.bench",
            "--home",
            str(home),
            "--mails",
            "30",
            "--processes",
            "1",
            *options,
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_a_small_benchmark_runs_and_the_next_one_is_compared_with_it(home: Path) -> None:
    first = bench(home, "--no-peers", "--json")
    assert first.returncode == 0, first.stderr
    report = msgspec.json.decode(first.stdout, type=BenchReport)
    assert report.cold.outcomes == {"written": 30}
    assert report.warm.outcomes == {"unchanged": 30}
    assert report.cold.cpu > sum(report.cold.stages.values()) > 0
    assert not (home / "work" / "state").exists()
    second = bench(home, "--no-peers")
    assert second.returncode == 0, second.stderr
    assert f"before: the run of {report.started_at}" in second.stdout
    assert len(list((home / "results").glob("*.json"))) == 2


def test_a_peer_that_is_not_there_is_named_with_the_reason(home: Path) -> None:
    (home / "peers" / "docling").mkdir(parents=True)
    (home / "peers" / "docling" / ".reason").write_text("ERROR: no wheel for this machine", encoding="utf-8")
    box = next(home.glob("corpus-30-*")) / "Maildir"
    found = {one.name: one for one in read_with_peers(home / "peers", box, 30, [])}
    assert found["floor"].mails == 30 and not found["floor"].failed
    assert found["docling"].absent == "does not install: ERROR: no wheel for this machine"
    assert found["mail-parser"].absent == "not installed: make bench-peers"


def test_peers_are_pinned_and_no_dependency_of_the_product() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    for peer in peer_rows("python"):
        assert "==" in peer["requirement"]
        assert not any(one.startswith(peer["name"]) for one in named)
        assert "GPL" not in peer["licence"]
    assert all("GPL" in peer["licence"] for peer in peer_rows("command"))


def test_the_table_shows_rates_per_cpu_second() -> None:
    run = ProductRun(
        mails=1000,
        cpu=4.0,
        wall=2.0,
        peak_memory=90_000_000,
        processes=3,
        written=5_000_000,
        exit_code=0,
        balanced=True,
        outcomes={"written": 1000},
        stages={"decode": 1.0},
    )
    report = BenchReport(
        started_at="2026-03-01T00:00:00+00:00",
        machine="a machine",
        filesystem="ext4",
        load=0.1,
        version="v1",
        corpus="c0ffee",
        mails=1000,
        mean_bytes=12_345,
        processes=0,
        cold=run,
        warm=run,
        reading=[Reading(name="floor", mails=1000, cpu=0.5, wall=0.5)],
        cutting=[],
        labelled="own.jsonl",
    )
    text = bench_text(report, None)
    for told in ("mails per CPU second", "250", "12.3 kB", "everything else", "3.00", "2,000", "90 MB"):
        assert told in text
    assert json.loads(msgspec.json.encode(report))["cold"]["mails"] == 1000
