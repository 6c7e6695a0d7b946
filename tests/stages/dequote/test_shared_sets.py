"""Figures on the labelled sets, where they lie beside the repository: content lost stays rare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stages.dequote import DequoteInput, DequotePolicy, dequote

SETS = Path(__file__).resolve().parents[4] / "shared" / "eval" / "dequote"


def _rows(name: str) -> list[dict[str, Any]]:
    path = SETS / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: the labelled sets are not part of the repository")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _squeezed(text: str) -> str:
    return "".join(text.split())


def test_public_text_records_are_mostly_exact() -> None:
    rows = [row for row in _rows("public_dev.jsonl") if row["kind"] == "text" and "input" in row]
    hits = 0
    for row in rows:
        policy = DequotePolicy(
            **{key: row[key] for key in ("signature_policy", "signoff_policy", "forward_policy")}
        )
        clean = dequote(DequoteInput(text=row["input"].replace("\r\n", "\n")), policy).clean
        accepted = [row["expected_clean"], *row.get("also_ok", [])]
        hits += any(_squeezed(clean) == _squeezed(text) for text in accepted)
    assert hits >= 0.88 * len(rows)


def test_senders_lines_survive_in_real_chinese_client_mail() -> None:
    kept = lost = 0
    for row in _rows("zones_cjk_dev.jsonl"):
        text = row["text"]
        clean = set(dequote(DequoteInput(text=text), DequotePolicy()).clean.split("\n"))
        for zone in row["zones"]:
            if zone["kind"] == "reply" and not zone.get("alt"):
                for line in text[zone["start"] : zone["end"]].split("\n"):
                    if line.strip():
                        kept += 1
                        lost += line.rstrip() not in clean
    assert lost <= 0.02 * kept
