"""Stage probes: exactly one JSON line out for each line in, whatever the line is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from driving import HUNG, ROOT

BROKEN = [
    b"",
    b"  ",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"\xff\xfe",
    b'{"id":' + b"9" * 5000 + b"}",
    b'{"id":"a\x00b"}',
]
ODD_IDS = [b'"\\ud800"', b"9" * 4000, b'{"x":[1,null]}', b'"' + b"x" * 1_000_000 + b'"', b'"\xff"', b"null"]


def answers(stage: str, lines: list[bytes]) -> list[dict[str, object]]:
    """Return what a probe says to `lines`, one answer for each."""
    command = [sys.executable, "-m", "flows.cli", "stage", stage]
    done = subprocess.run(
        command,
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        cwd=ROOT,
        timeout=HUNG,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == len(lines)
    return said


@pytest.mark.parametrize("stage", ["decode", "dequote", "thread", "entities", "intent"])
def test_a_broken_line_is_one_error_line_and_the_next_line_is_answered(stage: str) -> None:
    said = answers(stage, [*BROKEN, b'{"id":"last","input":"hi","message_id":"a@x"}'])
    assert [one["error"]["kind"] for one in said[:-1]] == ["corrupt_input"] * len(BROKEN)  # type: ignore[index]
    assert said[-1]["id"] == "last"


@pytest.mark.parametrize("stage", ["decode", "dequote", "entities", "intent"])
def test_any_json_value_as_id_comes_back_as_it_was_given(stage: str) -> None:
    said = answers(stage, [b'{"id":' + ident + b"}" for ident in ODD_IDS])
    given = [json.loads(ident.decode("utf-8", "surrogateescape")) for ident in ODD_IDS]
    assert [one["id"] for one in said] == given


def test_a_thread_probe_without_a_state_folder_opens_no_database() -> None:
    script = (
        "import sys\n"
        "from flows.cli import main\n"
        "code = main(['stage', 'thread'])\n"
        "heavy = [name for name in ('sqlalchemy', 'prefect', 'storage.ledger') if name in sys.modules]\n"
        "sys.exit(f'imported {heavy}' if heavy else code)\n"
    )
    rows = b'{"id": 1, "message_id": "a@x.example"}\n{"id": 2, "in_reply_to": "a@x.example"}\n'
    done = subprocess.run(
        [sys.executable, "-c", script], input=rows, capture_output=True, cwd=ROOT, timeout=HUNG, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (second["thread_id"], second["parent"]) == (first["thread_id"], 1)
