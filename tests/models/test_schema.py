"""The JSON Schemas beside the records are those that the records make, and they refuse what is not whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from models import schema
from models.errors import UsageError
from models.report import MergeProposal, QuarantineFile, Report
from models.schema import FOLDER, KINDS, print_schema, render_schema, schema_of, write_schemas
from models.thread import ThreadFile

ROOT = Path(__file__).resolve().parents[2]
SAMPLES: dict[str, Any] = {
    "thread": ThreadFile(
        thread_id="thr-2026-03-02-000000000000",
        subject="Plan",
        first_date=None,
        last_date="2026-03-02T09:00:00Z",
        participants=["a@x.example"],
        members=[],
    ),
    "report": Report(run_id="run-1", started_at="2026-03-02T09:00:00+00:00"),
    "quarantine": QuarantineFile(
        kind="corrupt_input",
        stage="decode",
        detail="an empty file",
        remedy=None,
        raw="blake3:00",
        locations=[],
        first_seen="2026-03-02T09:00:00+00:00",
        tries=1,
    ),
    "merges": [MergeProposal(a="a@x", b="b@x", score=0.9, reasons=["same name"])],
}
CONTRACT = """
msg_id thread_id internal_date sent_at from to cc sender reply_to subject subject_normalized language languages
body_text_clean entities intent low_confidence attachments calendar nested category skip_reason is_forward
in_reply_to references list_id auto_reply report signed encrypted unclustered segments body_text ambiguities
guardrails locations content_hash raw versions repairs extraction_version extracted_at rule_audit
"""


@pytest.mark.parametrize("name", KINDS)
def test_the_schema_in_the_tree_is_the_one_that_the_records_make(name: str) -> None:
    kept = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert kept == render_schema(name), "run `python -m models.schema` and keep what it writes"


def test_no_schema_is_kept_that_no_record_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.schema.json" for name in KINDS}


@pytest.mark.parametrize("name", KINDS)
def test_every_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


@pytest.mark.parametrize("name", KINDS)
def test_every_key_is_required_for_absent_knowledge_is_null(name: str) -> None:
    for title, definition in schema_of(name)["$defs"].items():
        if "properties" in definition:
            keys = set(definition["properties"]) - ({"body_html"} if title == "Email" else set())
            assert set(definition["required"]) == keys, title


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_record_writes_is_valid_and_with_a_key_missing_it_is_not(name: str) -> None:
    validator = jsonschema.Draft202012Validator(schema_of(name))
    value = json.loads(msgspec.json.encode(SAMPLES[name]))
    assert list(validator.iter_errors(value)) == []
    row = value[0] if isinstance(value, list) else value
    for key in list(row):
        kept = row.pop(key)
        assert list(validator.iter_errors(value)) != [], key
        row[key] = kept
    assert list(validator.iter_errors({"surprise": 1})) != []


def test_the_email_of_the_contract_has_these_keys() -> None:
    contract = CONTRACT.split()
    assert set(contract) <= set(schema_of("email")["$defs"]["Email"]["required"])


def test_writing_the_schemas_writes_each_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "FOLDER", tmp_path / "schema")
    write_schemas()
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "schema").iterdir()}
    assert written == {f"{name}.schema.json": render_schema(name) for name in KINDS}


def test_a_schema_is_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", "from models.schema import print_schema; print_schema('email')"]
    for seed in ("1", "2"):
        done = subprocess.run(
            command,
            capture_output=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        )
        assert done.stdout.decode() == render_schema("email")


def test_a_schema_is_printed_by_name_and_an_unknown_name_lists_the_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert print_schema("report") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "report"
    with pytest.raises(UsageError, match="no schema `mail`") as unknown:
        print_schema("mail")
    assert unknown.value.remedy == f"one of: {', '.join(KINDS)}"
