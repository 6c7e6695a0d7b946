"""JSON Schema of every file that is written, generated from the records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from models.email import Email
from models.errors import UsageError
from models.report import CandidateFile, MergeProposal, QuarantineFile, Report
from models.thread import ThreadFile

KINDS: dict[str, Any] = {
    "email": Email,
    "thread": ThreadFile,
    "report": Report,
    "quarantine": QuarantineFile,
    "candidate": CandidateFile,
    "merges": list[MergeProposal],
}
FOLDER = Path(__file__).parent / "schema"


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one kind of file: every field required, except body_html."""
    schema: dict[str, Any] = msgspec.json.schema(KINDS[name])
    for definition in schema.get("$defs", {}).values():
        if definition.get("type") == "object" and "properties" in definition:
            names = list(definition["properties"])
            definition["required"] = [key for key in names if key != "body_html"]
            for value in definition["properties"].values():
                value.pop("default", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}


def render_schema(name: str) -> str:
    """Return one schema as the text of its file."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"


def print_schema(name: str) -> int:
    """Print one schema. Raises UsageError for an unknown name."""
    if name not in KINDS:
        raise UsageError(f"there is no schema `{name}`", remedy=f"one of: {', '.join(KINDS)}")
    print(render_schema(name), end="")
    return 0


def write_schemas() -> None:
    """Write all schemas beside this module (a test compares them)."""
    FOLDER.mkdir(exist_ok=True)
    for name in KINDS:
        (FOLDER / f"{name}.schema.json").write_text(render_schema(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
