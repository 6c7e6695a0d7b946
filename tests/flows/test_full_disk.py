"""A full disk stops a run with exit code 2 and a report, wherever it strikes; with space again the next run
finishes, and nothing tells of what happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disks import Disks, fill
from driving import LATER, USAGE, Product, assert_equal_trees, validate

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="small disks are tmpfs mounts, known to Linux only"
)


@pytest.fixture
def disks() -> Iterator[Disks]:
    made = Disks()
    yield made
    made.close()


def stopped(product: Product, office: Path) -> dict[str, Any]:
    """Return the report of a run that a full disk stops, after checking that it is a report like any other."""
    kept = product.folder / "report.json"
    report = product.run("--source", office, "--report", kept, code=LATER)
    validate("report", json.loads(kept.read_bytes()))
    assert json.loads(kept.read_bytes()) == report
    assert "free space" in report["stopped"] and report["quarantined"] == 0
    kept.unlink()
    return report


def finished(product: Product, office: Path, clean: dict[str, str]) -> None:
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())
    assert not [path for path in product.state.rglob("*") if path.name.endswith(".atlas-tmp")]


def test_a_full_disk_under_the_blobs_stops_resumably(
    disks: Disks, product: Product, office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    raw = disks.mount(tmp_path / "raw", 16)
    product.state.mkdir()
    (product.state / "raw").symlink_to(raw)
    report = stopped(product, office)
    assert "the state folder gave up: No space left on device" in report["stopped"]
    assert report["seen"] == 0
    (product.state / "raw").unlink()
    finished(product, office, clean)


def test_a_full_disk_under_the_ledger_stops_resumably(
    disks: Disks, product: Product, office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    small = disks.mount(tmp_path / "small", 4096)
    product.state = small / "state"
    product.configure(state=str(product.state))
    product.state.mkdir()
    for name in ("raw", "extracted", "threads", "customers", "people"):
        (product.folder / name).mkdir()
        (product.state / name).symlink_to(product.folder / name)
    (product.folder / "empty").mkdir()
    product.run("--source", product.folder / "empty")
    for left in (0, 100):
        fill(small, left)
        assert "ledger: " in stopped(product, office)["stopped"]
    fill(small, 4096)
    finished(product, office, clean)


def test_a_full_disk_under_the_tree_stops_resumably(
    disks: Disks, product: Product, office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    extracted = disks.mount(tmp_path / "extracted", 32)
    product.state.mkdir()
    (product.state / "extracted").symlink_to(extracted)
    report = stopped(product, office)
    assert "publishing under" in report["stopped"] and "No space left on device" in report["stopped"]
    assert (report["seen"], report["written"] + report["pending"] + report["duplicate"]) == (13, 13)
    assert report["pending"] > 0
    (product.state / "extracted").unlink()
    finished(product, office, clean)


def test_a_disk_that_is_full_again_and_again_ends_in_the_same_tree(
    disks: Disks, product: Product, office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    small = disks.mount(tmp_path / "small", 4096)
    product.state = small / "state"
    product.configure(state=str(product.state))
    for left in (0, 40, 270, 300):
        fill(small, left)
        stopped(product, office)
    fill(small, 4096)
    finished(product, office, clean)


def test_a_read_only_disk_is_refused(disks: Disks, product: Product, office: Path, tmp_path: Path) -> None:
    product.state = disks.mount(tmp_path / "small", 64, read_only=True) / "state"
    product.configure(state=str(product.state))
    ended = product.call("--source", office, code=USAGE)
    assert f"the state folder {product.state} cannot be written: Read-only file system" in ended.all
    assert "name another one with --state" in ended.all
