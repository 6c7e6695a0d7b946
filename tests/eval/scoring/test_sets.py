"""Labelled files of every shape are known by their keys, and a broken one is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.scoring.sets import read_set
from models.errors import UsageError

ROWS: dict[str, dict[str, Any]] = {
    "clean": {"kind": "text", "input": "a\n> b", "expected_clean": "a"},
    "zones": {"kind": "text", "text": "a", "zones": [], "expected_clean": "a"},
    "threads": {"message_id": "1@x.example", "gold_thread": "t", "subject": "a"},
    "mails": {"file": "a.eml", "kind": "eml"},
    "date_expressions": {"text": "Friday", "ref_time": "2026-03-02T09:00:00", "expected": []},
    "amount_expressions": {"text": "$5", "expected": []},
    "intents": {"body_text_clean": "a", "primary": "通知"},
    "asking": {"text": "a", "actionable": True},
    "entities": {"body_text_clean": "a", "dates": []},
}


def write(folder: Path, *rows: object) -> Path:
    file = folder / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("shape", ROWS)
def test_each_shape_is_known_by_its_keys(shape: str, tmp_path: Path) -> None:
    labelled, found = read_set(write(tmp_path, {"id": 1, **ROWS[shape]}))
    assert found.name == shape
    assert labelled.rows[0]["id"] == "1"


def test_a_folder_is_read_by_its_manifest(tmp_path: Path) -> None:
    write(tmp_path, {"id": "a", **ROWS["mails"]}, {"id": "b", "file": "b.ics", "kind": "ics"})
    (tmp_path / "own.jsonl").rename(tmp_path / "MANIFEST.jsonl")
    labelled, _ = read_set(tmp_path)
    assert [row["path"] for row in labelled.rows] == [str(tmp_path / "a.eml")]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((), "is empty"),
        (({"id": 1, "words": "a"},), "no known shape"),
        (({"id": 1, **ROWS["clean"]}, {"id": 1, **ROWS["clean"]}), "line 2: the id 1 stands there twice"),
        (({"id": 1, **ROWS["clean"]}, {"id": 2, **ROWS["intents"]}), "line 2: not a row of the shape"),
        (({"text": "a"},), "line 1: not a JSON object with an `id`"),
    ],
)
def test_a_broken_set_is_a_usage_error_that_names_the_place(
    rows: tuple[Any, ...], told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        read_set(write(tmp_path, *rows))


def test_a_missing_set_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_set(tmp_path / "none.jsonl")
