"""What a mail can make a terminal do: nothing."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from driving import HUNG, LATER, LOOK, ROOT, Product

from flows.summary import balance_sheet
from flows.terminal import harmless
from models.batch import Unreadable
from models.report import Report

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eabc\u2066 \x7f"


def steering(text: str) -> list[str]:
    """Return the characters of `text` that a terminal would obey."""
    return [
        c for c in text if c not in "\n\t" and (unicodedata.category(c) == "Cc" or 0x202A <= ord(c) <= 0x2069)
    ]


def test_what_steers_a_terminal_is_written_as_an_escape() -> None:
    assert harmless("\x1b[31m\x9b \u202e é 中文\n\t.") == "\\u001b[31m\\u009b \\u202e é 中文\n\t."


def test_a_json_document_says_the_same_when_harmless() -> None:
    text = harmless(json.dumps({"a": HOSTILE}, ensure_ascii=False))
    assert json.loads(text) == {"a": HOSTILE}
    assert not steering(text)


@pytest.mark.parametrize(
    "command",
    [("explain", "one@us.example"), ("thread", "show", "one@us.example"), ("thread", "show", "one@us.example", "--json"),
     ("quarantine", "list"), ("quarantine", "show")],
)  # fmt: skip
def test_no_command_lets_a_mail_steer_the_terminal(
    product: Product, tmp_path: Path, command: tuple[str, ...]
) -> None:
    mail = (
        f"From: Ann <ann@us.example>\nTo: bob@them.example\nSubject: s {HOSTILE}\n"
        "Date: Mon, 05 Jan 2026 10:00:00 +0800\nMessage-ID: <one@us.example>\nMIME-Version: 1.0\n"
        f"Content-Type: text/plain; charset=utf-8\n\nHello {HOSTILE} there.\n\n> quoted {HOSTILE}\n"
    )
    source = tmp_path / "mail"
    source.mkdir()
    (source / "one.eml").write_text(mail, encoding="utf-8")
    (source / "empty\x1b[2J.eml").write_bytes(b"")
    product.run("--source", source, code=LOOK)
    ended = product.call(*command)
    assert ended.out
    assert not steering(ended.out + ended.err)


def test_a_path_of_thousands_of_characters_does_not_fill_the_balance_sheet() -> None:
    report = Report(
        run_id="r", started_at="", unreadable=[Unreadable(path="d/" * 3000 + "x.eml", reason="too long")]
    )
    line = next(
        row
        for row in balance_sheet(report, argparse.Namespace(state=None, config=None)).splitlines()
        if "unreadable" in row
    )
    assert len(line) < 250
    assert line.endswith("d/x.eml: too long")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_sentence() -> None:
    command = [sys.executable, "-m", "flows.cli", "--version"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, timeout=HUNG, check=False
        )
    assert done.returncode == LATER
    assert done.stderr.startswith(b"atlas-extract: the output cannot be written: No space left on device\n")
    assert b"Traceback" not in done.stderr
