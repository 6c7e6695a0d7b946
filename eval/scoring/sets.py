"""Labelled sets: which there are, and how their files are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.scoring.records import LabelledSet, Row
from eval.scoring.shapes import MAILS, Shape, shape_of
from models.errors import UsageError

HOME = Path(__file__).resolve().parents[1]
MANIFEST = "MANIFEST.jsonl"
_TRAINING = frozenset(("intent/authored.jsonl",))  # what a shipped model was made from proves nothing
_STAGES = ("decode", "dequote", "thread", "entities", "intent")


def own_sets(stages: Sequence[str]) -> Iterator[tuple[LabelledSet, Shape]]:
    """Yield the sets of the repository for these stages: `eval/<stage>/*.jsonl`, training data left out."""
    for stage in _STAGES:
        if stage not in stages:
            continue
        for path in sorted((HOME / stage).glob("*.jsonl")):
            if path.relative_to(HOME).as_posix() not in _TRAINING:
                yield read_set(path, name=f"{stage}/{path.stem}")


def read_set(path: Path, name: str | None = None) -> tuple[LabelledSet, Shape]:
    """Return the set at `path`: a file of JSON Lines, or a folder with a MANIFEST.jsonl of mail files.

    Raises UsageError where it cannot be read, is empty, or holds rows of no known shape.
    """
    file = path / MANIFEST if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", remedy="name a JSON Lines file, or a folder with a MANIFEST.jsonl"
        ) from error
    rows = list(_rows(data, file))
    shape = shape_of(rows[0]) if rows else None
    if shape is None:
        raise UsageError(
            f"{file}: rows of no known shape" if rows else f"{file} is empty",
            remedy="docs/evaluation.md lists the keys of each kind of labelled row",
        )
    for number, row in enumerate(rows, 1):
        if shape_of(row) is not shape:
            raise UsageError(f"{file}, line {number}: not a row of the shape of the first ({shape.name})")
    if shape is MAILS:
        rows = [_located(row, file.parent) for row in rows if row.get("kind", "eml") == "eml"]
    labelled = LabelledSet(
        stage=shape.stage,
        name=name
        or (f"{path.parent.name}/{path.stem}" if path.is_file() else f"{path.parent.name}/{path.name}"),
        shape=shape.name,
        path=str(path),
        digest=hashlib.sha256(data).hexdigest()[:16],
        rows=rows,
    )
    return labelled, shape


def _rows(data: bytes, file: Path) -> Iterator[Row]:
    seen: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{file}, line {number}: not JSON: {error}") from error
        if not isinstance(row, dict) or "id" not in row:
            raise UsageError(f"{file}, line {number}: not a JSON object with an `id`")
        row["id"] = str(row["id"])
        if row["id"] in seen:
            raise UsageError(f"{file}, line {number}: the id {row['id']} stands there twice")
        seen.add(row["id"])
        yield row


def _located(row: Row, folder: Path) -> Row:
    """Return a row of mails with the paths of its files."""
    golden = [str(folder / name) for name in row.get("golden") or []]
    return {**row, "path": str(folder / row["file"]), "golden": golden}
