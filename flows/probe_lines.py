"""The lines of a probe: one JSON record in, one JSON record out, whatever is wrong with it."""

from __future__ import annotations

import binascii
import json
from collections.abc import Callable
from typing import Any, TextIO

import msgspec

from models.errors import AtlasError

Row = dict[str, Any]
Probe = Callable[[Row], Row]


def parsed(line: str) -> Row:
    """Return the record of a line, or a row that holds `error`."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": {"kind": "corrupt_input", "detail": f"not a JSON line: {error}"}}
    if not isinstance(row, dict):
        return {"id": None, "error": {"kind": "corrupt_input", "detail": "not a JSON object"}}
    row.pop("error", None)
    return row


def guarded(row: Row, probe: Probe) -> Row:
    """Return the answer of `probe` to one record; what it raises is an error row."""
    ident = row.get("id")
    try:
        return {"id": ident, **probe(row)}
    except AtlasError as error:
        return {"id": ident, "error": {"kind": error.kind, "detail": error.detail, "remedy": error.remedy}}
    except (msgspec.ValidationError, binascii.Error, UnicodeError) as error:
        return {"id": ident, "error": {"kind": "corrupt_input", "detail": str(error)}}
    except Exception as error:  # noqa: BLE001 - one record's defect is one error line
        return {"id": ident, "error": {"kind": "defect", "detail": f"{type(error).__name__}: {error}"}}


def print_row(row: Row, out: TextIO) -> None:
    """Write one answer as a line, and flush it."""
    out.write(_json(row) + "\n")
    out.flush()


def _json(row: Row) -> str:
    """Return `row` as JSON on one line, whatever its `id` is: any JSON value comes back as it was given."""
    try:
        return msgspec.json.encode(row).decode()
    except (UnicodeEncodeError, OverflowError):  # half a character, or an integer of more than 64 bits
        return json.dumps(row)
    except RecursionError:
        return _json({"id": None, "error": {"kind": "corrupt_input", "detail": "nested too deeply"}})
