"""Records as the JSON files that people and programs read: UTF-8, two spaces, keys in the order of the contract."""

from __future__ import annotations

from typing import Any

import msgspec

from models.base import digest
from models.email import Email


def render_email(email: Email, extracted_at: str) -> tuple[str, bytes]:
    """Return the digest of `email` (which ignores the time) and the bytes of its file at that time."""
    known = digest(msgspec.structs.replace(email, extracted_at=""))
    return known, render_record(msgspec.structs.replace(email, extracted_at=extracted_at))


def render_record(record: Any) -> bytes:
    """Return the bytes of a JSON file for any record."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
