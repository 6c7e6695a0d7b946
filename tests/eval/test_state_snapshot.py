"""The convergence harness sees what it is meant to see."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from eval.snapshot import compare, compare_with_ledger, exact_snapshot, snapshot


@pytest.fixture
def state(tmp_path: Path) -> Path:
    mail = {
        "msg_id": "a@x",
        "locations": [{"account": "alice", "uid": "1.eml"}],
        "extracted_at": "2026-01-01",
    }
    failed = {"kind": "corrupt_input", "first_seen": "2026-01-01", "tries": 1}
    files = {"extracted/2026-01/thr-1/a@x.json": mail, "extracted/_failed/00.json": failed}
    files |= {"threads/thr-1.json": {"members": [{"msg_id": "a@x"}]}, "people/_to_merge.json": {}}
    files |= {"customers/UNCLASSIFIED-x.example.json": {"domain": "x.example"}}
    for path, value in {**files, "threads/_manual.json": {}, "people/aliases.json": {}}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps(value))
    ledger = sqlite3.connect(tmp_path / "ledger.db")
    ledger.execute("CREATE TABLE published (path TEXT PRIMARY KEY, digest TEXT)")
    ledger.executemany("INSERT INTO published VALUES (?, 'd')", [(path,) for path in files])
    ledger.commit()
    ledger.close()
    return tmp_path


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_only_the_time_of_writing_may_differ(state: Path) -> None:
    before = snapshot(state)
    assert len(before) == 5
    change(state / "extracted/2026-01/thr-1/a@x.json", extracted_at="2027-01-01")
    change(state / "extracted/_failed/00.json", first_seen="2027-01-01", tries=9)
    assert compare(before, snapshot(state)) == []
    change(state / "extracted/2026-01/thr-1/a@x.json", subject="new")
    [row] = compare(before, snapshot(state))
    assert row.path.endswith("a@x.json") and "new" in row.detail and row.mails == ["alice/1.eml"]


def test_a_missing_an_extra_and_a_temporary_file_are_differences(state: Path) -> None:
    before = snapshot(state)
    (state / "threads/thr-1.json").rename(state / "threads/thr-2.json")
    (state / "extracted/2026-01/thr-1/.a.tmp").write_bytes(b"torn {")
    found = {row.path: row.detail for row in compare(before, snapshot(state))}
    assert set(found) == {"threads/thr-1.json", "threads/thr-2.json", "extracted/2026-01/thr-1/.a.tmp"}


def test_ledger_and_disk_must_agree(state: Path) -> None:
    assert compare_with_ledger(state) == []
    (state / "threads/thr-1.json").rename(state / "threads/thr-2.json")
    ledger = sqlite3.connect(state / "ledger.db")
    ledger.execute("UPDATE published SET digest = '' WHERE path LIKE '%_failed%'")
    ledger.commit()
    ledger.close()
    assert [row.path for row in compare_with_ledger(state)] == [
        "extracted/_failed/00.json",
        "threads/thr-1.json",
        "threads/thr-2.json",
    ]
    (state / "ledger.db").unlink()
    [row] = compare_with_ledger(state)
    assert row.path == "ledger.db"


def test_a_rewritten_file_with_equal_bytes_is_seen(state: Path) -> None:
    before = exact_snapshot(state)
    path = state / "threads/thr-1.json"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    assert compare(before, exact_snapshot(state))
