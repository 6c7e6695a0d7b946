"""Mails written apart from the code to break decode: what a careful reader would see must come out.

Beside each mail of `hostile/` stands what is wanted: `error` (the kind of a typed refusal), `fields` (values of
the record), `emails` (addresses of a header, in order), `has` and `lacks` (pieces of a text), `starts`, `first_to`,
`repaired`, `plain_filenames` (None: any). `grow` puts a piece many times where the mail says `@@GROW@@`;
`known` is the reason why a case does not hold yet.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.errors import BadInput
from stages.decode import DecodePolicy, decode, decode_parts

FOLDER = Path(__file__).parent / "hostile"
CASES = sorted(path.stem for path in FOLDER.glob("*.eml"))
MUTANTS = 500
POLICY = DecodePolicy()


def wanted_of(name: str) -> dict[str, Any]:
    wanted: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return wanted


def mail_of(name: str, largest: int | None = None) -> bytes:
    """Return the bytes of a case; `largest` bounds how often its piece is repeated."""
    raw = (FOLDER / f"{name}.eml").read_bytes()
    grow = wanted_of(name).get("grow")
    if grow is None:
        return raw
    times = min(grow["times"], largest or grow["times"])
    return raw.replace(b"@@GROW@@", grow["piece"].encode() * times)


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


def cases() -> list[Any]:
    rows = []
    for name in CASES:
        known = wanted_of(name).get("known")
        marks = [pytest.mark.xfail(strict=True, raises=AssertionError, reason=known)] if known else []
        rows.append(pytest.param(name, marks=marks, id=name))
    return rows


@pytest.mark.parametrize("name", cases())
def test_a_hostile_mail_shows_what_a_careful_reader_sees(name: str) -> None:
    raw, wanted = mail_of(name), wanted_of(name)
    if "error" in wanted:
        with pytest.raises(BadInput) as refused:
            decode(raw, POLICY)
        assert refused.value.kind == wanted["error"]
        return
    found = msgspec.to_builtins(decode(raw, POLICY))
    msgspec.json.encode(found)
    agrees(found, wanted.get("fields", {}))
    for header, emails in wanted.get("emails", {}).items():
        assert [row["email"] for row in found[header]] == emails
    for field, pieces in wanted.get("has", {}).items():
        assert [piece for piece in pieces if piece not in found[field]] == [], found[field][:600]
    for field, pieces in wanted.get("lacks", {}).items():
        assert [piece for piece in pieces if piece in found[field]] == [], found[field][:600]
    assert found["body_text"].startswith(wanted.get("starts", ""))
    assert not wanted.get("first_to") or found["to"][0]["email"] == wanted["first_to"]
    assert not wanted.get("repaired") or found["repairs"]
    if "plain_filenames" in wanted:
        names = [row["filename"] for row in found["attachments"]]
        assert len(names) == len(wanted["plain_filenames"])
        for name_found, name_wanted in zip(names, wanted["plain_filenames"], strict=True):
            assert name_wanted in (None, name_found)
            assert name_found and not any(char in "/\\" or ord(char) < 32 for char in name_found)


def mutant(seed: int) -> bytes:
    """Return one damaged hostile mail: cut, bytes flipped, a run doubled, moved or taken from another mail."""
    dice = random.Random(f"mutant/{seed}")
    data = bytearray(mail_of(dice.choice(CASES), largest=200))
    other = mail_of(dice.choice(CASES), largest=20)
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(data) + 1)
        run = data[start : start + dice.randrange(1, 200)]
        place = dice.randrange(len(data) + 1)
        match dice.randrange(6):
            case 0:
                del data[start:]
            case 1:
                for at in range(start, min(len(data), start + 40), dice.randint(1, 9)):
                    data[at] = dice.randrange(256)
            case 2:
                data[place:place] = run * dice.choice([1, 2, 300])
            case 3:
                del data[start : start + len(run)]
            case 4:
                at = dice.randrange(len(other))
                data[place:place] = other[at : at + dice.randrange(1, 800)]
            case _:
                data = bytearray(bytes(data).replace(*dice.choice(SWAPS)))
        data = data[:400_000]
    return bytes(data) or b"x"


SWAPS = [
    (b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n\n", b"\n"), (b"boundary=", b"boundary=b; boundary="), (b"utf-8", b"utf-16"),
    (b"base64", b"quoted-printable"), (b"text/plain", b"text/html"), (b"text/plain", b"message/rfc822"), (b"--b", b"--b--"),
    (b"Subject:", b"Content-Type: text/calendar\nSubject:"), (b"gb", b"hz-gb"), (b"?=", b"=?"), (b"<", b"<<"), (b" ", b"\t\n "),
]  # fmt: skip


@pytest.mark.parametrize("block", range(10))
def test_damaged_hostile_mails_give_a_record_or_a_typed_error(block: int) -> None:
    for seed in range(block, MUTANTS, 10):
        raw = mutant(seed)
        try:
            found = decode(raw, POLICY)
            decode_parts(raw, POLICY)
        except BadInput:
            continue
        msgspec.json.encode(found)
        assert "\r" not in found.body_text and "\0" not in found.body_text, seed
        assert "\n" not in found.subject, seed


def test_there_are_hostile_mails() -> None:
    assert len(CASES) >= 30
    assert all((FOLDER / f"{name}.json").is_file() for name in CASES)
