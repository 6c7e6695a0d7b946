"""Messages written apart from the rules to make them eat fresh text, or keep what others wrote.

One JSON object a line of `hostile.jsonl`: `input` (`kind` text or html) with the clean text by the default
policy; `also_ok` holds further right answers, `known` the reason why a message is not read right yet.
White space is not compared, nor are quote marks that stay in front of cited lines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.message import Address
from stages.decode import DecodePolicy, decode
from stages.dequote import DequoteInput, DequotePolicy, dequote, input_of

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "hostile.jsonl").read_text("utf-8").splitlines()
]


def input_from(row: dict[str, Any]) -> DequoteInput:
    sender = Address(**row["from"]) if "from" in row else None
    if row["kind"] == "text":
        return DequoteInput(text=row["input"], from_=sender, subject=row["subject"], language=row["lang"])
    raw = b"Content-Type: text/html; charset=utf-8\n\n" + row["input"].encode()
    message = input_of(decode(raw, DecodePolicy()))
    return msgspec.structs.replace(message, from_=sender, subject=row["subject"])


def cases() -> list[Any]:
    rows = []
    for row in ROWS:
        known = row.get("known")
        marks = [pytest.mark.xfail(strict=True, raises=AssertionError, reason=known)] if known else []
        rows.append(pytest.param(row, marks=marks, id=row["id"]))
    return rows


@pytest.mark.parametrize("row", cases())
def test_a_hostile_message_keeps_its_senders_words_and_no_others(row: dict[str, Any]) -> None:
    message = input_from(row)
    found = dequote(message, DequotePolicy())
    accepted = [row["expected_clean"], *row["also_ok"]]
    assert _squeezed(found.clean) in [_squeezed(text) for text in accepted], found.clean
    assert "".join(message.text[part.start : part.end] for part in found.segments) == message.text


def _squeezed(text: str) -> str:
    return "".join("".join(line.lstrip("> ") for line in text.split("\n")).split())


def test_there_are_forty_messages_and_half_of_them_lose_nothing() -> None:
    assert len(ROWS) >= 40
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert sum(row["layout"] == "nothing" for row in ROWS) >= 20
    assert {"zh-CN", "zh-TW", "ja", "en", "de", "fr", "mixed"} <= {row["lang"] for row in ROWS}
