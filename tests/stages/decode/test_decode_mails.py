"""Every pair in tests/mails/decode: a mail and, beside it, the fields that must come out."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.errors import BadInput
from stages.decode import DecodePolicy, decode

MAILS = Path(__file__).parents[2] / "mails" / "decode"
PAIRS = sorted(MAILS.rglob("*.eml"))


def agrees(found: Any, wanted: Any, where: str = "") -> None:
    """Assert that `found` has what `wanted` names; lists have the same length."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            agrees(found[key], value, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{where}: {found}"
        for index, value in enumerate(wanted):
            agrees(found[index], value, f"{where}[{index}]")
    else:
        assert found == wanted, where


@pytest.mark.parametrize("mail", PAIRS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_mail_decodes_to_its_expected_values(mail: Path) -> None:
    wanted = json.loads(mail.with_suffix(".json").read_text("utf-8"))
    raw = mail.read_bytes()
    if "error" in wanted:
        with pytest.raises(BadInput) as refused:
            decode(raw, DecodePolicy())
        assert refused.value.kind == wanted["error"]
        assert refused.value.stage == "decode"
        assert refused.value.remedy
        return
    decoded = decode(raw, DecodePolicy())
    agrees(msgspec.to_builtins(decoded), wanted)
    for mark in decoded.quote_marks:
        assert 0 <= mark.start < mark.end <= len(decoded.body_text)


def test_there_are_pairs() -> None:
    assert len(PAIRS) >= 30
    assert all(path.with_suffix(".json").is_file() for path in PAIRS)
