"""Every rule of every pack: its inputs match, its near misses survive."""

from __future__ import annotations

from typing import Any

import pytest

from stages.dequote import DequoteInput, DequotePolicy, dequote
from stages.dequote.packs import read_packs

OPENER = "K7 42 ✓"  # a reply in no language, so that no pack's words stand in it
TABLES = (
    "header", "separator", "attribution", "signoff", "contact",
    "disclaimer", "list_footer", "banner", "device_line", "answer", "postscript", "own_below",
)  # fmt: skip


def _entries() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (pack["language"], table, entry)
        for pack in read_packs()
        for table in TABLES
        for entry in pack.get(table, [])
    ]


def _cases(key: str) -> list[Any]:
    return [
        pytest.param(language, table, entry["name"], text, id=f"{language}:{table}.{entry['name']}-{number}")
        for language, table, entry in _entries()
        for number, text in enumerate(entry.get(key, []))
    ]


def test_every_rule_has_two_inputs_and_two_near_misses() -> None:
    poor = [
        f"{language}:{table}.{entry['name']}"
        for language, table, entry in _entries()
        if len(entry.get("match", [])) < 2 or len(entry.get("survive", [])) < 2
    ]
    assert poor == []


@pytest.mark.parametrize(("language", "table", "name", "block"), _cases("match"))
def test_a_block_as_the_client_writes_it_is_cut(language: str, table: str, name: str, block: str) -> None:
    if table == "answer":  # answers stay between the lines of the quote
        found = dequote(DequoteInput(text=block), DequotePolicy())
        answers = [part for part in found.segments if part.kind == "reply" and part.answers is not None]
        assert len(answers) == 1 and found.clean.endswith(block.splitlines()[-1])
        return
    if table == "own_below":
        found = dequote(DequoteInput(text=block), DequotePolicy())
        assert found.clean.endswith(block.splitlines()[-1])
        assert "?" not in found.clean and "？" not in found.clean
        return
    if table == "postscript":  # it stays, and the closing above it goes
        found = dequote(DequoteInput(text=f"{OPENER}\n\n{block}"), DequotePolicy())
        assert found.clean == f"{OPENER}\n\n{block.splitlines()[-1]}"
        return
    text = f"{block}\n\n{OPENER}" if table == "banner" else f"{OPENER}\n\n{block}"
    found = dequote(DequoteInput(text=text), DequotePolicy())
    assert found.clean == OPENER
    assert {part.rule.split(":")[0] for part in found.segments if part.rule} - {"any"}


@pytest.mark.parametrize(("language", "table", "name", "block"), _cases("survive"))
def test_a_near_miss_survives(language: str, table: str, name: str, block: str) -> None:
    found = dequote(DequoteInput(text=block), DequotePolicy())
    assert found.clean == block
    assert found.strategy == "none"
