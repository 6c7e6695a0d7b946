"""The whole command with its ledger in PostgreSQL makes the same files as with SQLite."""

from __future__ import annotations

import json
import os
import random
import shutil
import string
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "eval" / "sample" / "mailbox"
CONFIG = '[pipeline]\nbatch_size = 40\nprocesses = 1\n[domain_map]\n"northwind.example" = "C001"\n'
NEVER_SAME = {"extracted_at": None, "first_seen": None, "tries": None}  # two runs may try one mail

pytestmark = pytest.mark.postgres


class Command:
    """`atlas-extract` with a state folder and a ledger of its own; starts at once, ends when asked for its report."""

    def __init__(self, state: Path, url: str | None, sources: Sequence[str]) -> None:
        state.parent.mkdir(parents=True, exist_ok=True)
        (state.parent / "atlas.toml").write_text(CONFIG)
        ledger = {"ATLAS_LEDGER_URL": url} if url else {}
        words = [sys.executable, "-m", "flows.cli", "--state", str(state), "--config", "atlas.toml", "--json"]
        self.process = subprocess.Popen(
            words + [word for source in sources for word in ("--source", source)],
            cwd=state.parent,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **ledger},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def report(self) -> dict[str, Any]:
        out, err = self.process.communicate()
        assert out, err
        report: dict[str, Any] = json.loads(out)
        assert (report["balanced"], report["stopped"], report["pending"]) == (True, None, 0), report
        assert self.process.returncode == report["exit_code"]
        return report


def tree(state: Path) -> dict[str, Any]:
    """Return every JSON file that a run makes, its times of writing left out."""
    trees = ("extracted", "threads", "people", "customers")
    found = [path for name in trees for path in sorted((state / name).rglob("*")) if path.is_file()]
    rows = {}
    for path in found:
        value = json.loads(path.read_bytes())
        rows[path.relative_to(state).as_posix()] = value | NEVER_SAME if isinstance(value, dict) else value
    return rows


def exact(state: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(state.rglob("*.json"))}


def odd_mails(folder: Path) -> int:
    """Write mails whose headers PostgreSQL would refuse as they are; returns how many."""

    def long(seed: int) -> str:  # longer than an index row may be, and it does not compress
        return "".join(random.Random(seed).choices(string.ascii_lowercase + string.digits, k=4000))

    headers = [
        {"Message-ID": f"<{long(1)}@x.example>"},
        {"Subject": long(2)},
        {"From": f'"{long(3)}" <{long(4)}@{long(5)}.example>'},
        {"References": f"<{long(6)}@x.example> <{long(7)}@x.example>"},
        {
            "Message-ID": "<a\0b@x.example>",
            "Subject": "nul \0 =?utf-8?q?=00?=",
            "From": '"\0" <\0@x.example>',
        },
        {"Subject": "=?utf-8?b?7aCA?=", "To": "\N{REPLACEMENT CHARACTER}=?utf-16?q?=D8=00?= <b@x.example>"},
    ]
    for number, more in enumerate(headers):
        lines = {
            "Message-ID": f"<m{number}@x.example>",
            "Date": f"Mon, 2 Mar 2026 09:00:0{number} +0000",
            "From": "Ann <ann@x.example>",
            "To": "bob@y.example",
            "Subject": f"letter {number}",
            **more,
        }
        text = "".join(f"{name}: {value}\n" for name, value in lines.items()) + "\nhello\n"
        (folder / f"odd-{number}.eml").write_text(text)
    return len(headers)


def test_two_mailboxes_at_once_become_the_same_files_as_one_run_with_sqlite(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    sample = sorted(SAMPLE.rglob("*.eml"))
    for account, part in (("ann", sample[:80]), ("bob", sample[60:])):  # some lie in both
        (tmp_path / account).mkdir()
        for mail in part:
            shutil.copy(mail, tmp_path / account)
    odd = odd_mails(tmp_path / "bob")
    sources = [str(tmp_path / "ann"), str(tmp_path / "bob")]
    reference, state = tmp_path / "sqlite" / "state", tmp_path / "postgres" / "state"
    url = postgres.create_database()
    runs = [Command(reference, None, sources), *(Command(state, url, [source]) for source in sources)]
    here, *there = (run.report() for run in runs)
    assert here["seen"] == len(sample) + 20 + odd == sum(report["seen"] for report in there)
    assert here["quarantine_kinds"].keys() <= {"corrupt_input", "resource_limit"}
    assert tree(state) == tree(reference)
    assert not (state / "ledger.db").exists()

    # again, with the files gone and without the record cache: nothing is new, every byte comes back
    before = exact(state / "extracted")
    shutil.rmtree(state / "extracted")
    for file in state.glob("cache.db*"):
        file.unlink()
    again = Command(state, url, sources).report()
    assert (again["written"], again["unchanged"], again["stage_calls"]) == (0, here["written"], {})
    assert (again["seen"], again["duplicate"]) == (here["seen"], here["duplicate"])
    assert exact(state / "extracted") == before
