"""Hostile and damaged input: typed errors or a record, the same each time, in bounded work."""

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import BadInput
from stages.decode import DecodePolicy, decode, decode_parts

MAILS = sorted((Path(__file__).parents[2] / "mails" / "decode").rglob("*.eml"))
SHARED = Path(__file__).parents[4] / "shared" / "eval" / "decode"
POLICY = DecodePolicy()

PIECES = [
    b"From: ", b"Subject: ", b"Date: ", b"Content-Type: multipart/mixed; boundary=b\n", b"Content-Type: message/rfc822\n",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n", b"\n\n", b"\n", b"\r", b"--b\n",
    b"--b--\n", b"=?utf-8?B?", b"?=", b'"', b"<", b">", b"(", b"\0", b"\xe4\xbd\xa0", b"\xff", b"a@b", b"=", b" ", b";",
    b"Content-Type: text/html\n", b"<blockquote>", b"Content-Type: text/calendar\n", b"BEGIN:VCALENDAR\n", b"BEGIN:VEVENT\n",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join))
def test_any_shuffled_mail_gives_a_record_or_a_typed_error(raw: bytes) -> None:
    try:
        first = decode(raw, POLICY)
    except BadInput:
        return
    assert decode(raw, POLICY) == first
    msgspec.json.encode(first)
    assert "\r" not in first.body_text and "\0" not in first.body_text
    decode_parts(raw, POLICY)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_a_record_or_a_typed_error(raw: bytes) -> None:
    try:
        decode(raw, POLICY)
    except BadInput as error:
        assert error.stage == "decode" and error.remedy


@pytest.mark.parametrize("mail", MAILS, ids=lambda path: path.stem)
def test_cut_and_flipped_mails_give_a_record_or_a_typed_error(mail: Path) -> None:
    raw = mail.read_bytes()
    for seed in range(20 if raw else 0):
        dice = random.Random(f"{mail.stem}/{seed}")
        data = bytearray(raw[: dice.randrange(1, len(raw) + 1)])
        for _ in range(1 + len(data) // 100):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            decode(bytes(data), POLICY)
        except BadInput:
            continue


# Each of these is quadratic or worse for a pattern or loop that looks ahead without bound.
LONG = 90_000
HOSTILE = {
    "quotes": b"From: " + b'"' * LONG,
    "backslashes": b'From: "' + b"\\" * LONG,
    "open parens": b"From: " + b"(a" * (LONG // 2),
    "angles": b"To: " + b"<" * LONG,
    "commas": b"To: " + b"a," * (LONG // 2),
    "dots": b"From: " + b"a." * (LONG // 2),
    "at signs": b"Cc: " + b"a@" * (LONG // 2),
    "open words": b"Subject: " + b"=?a?q?" * (LONG // 6),
    "word starts": b"From: " + b"=?" * (LONG // 2),
    "semicolons": b"Content-Type: text/plain" + b"; " * (LONG // 2),
    "open parameters": b"Content-Type: text/plain" + b';a="' * (LONG // 4),
    "references": b"References: " + b"<" * LONG,
    "date": b"Date: " + b"1 " * (LONG // 2),
    "fields": b"X: y\n" * 100_000,
    "received": b"Received: by x; Mon, 2 Mar 2026 10:00:00 +0800\n" * 5_000,
    "escapes": b"X: y\n\n" + b"\x1b$B" * 100_000,
    "blank lines": b"X: y\n\n" + b" \n" * 300_000,
    "delimiters in one line": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b" * 300_000,
    "nested quotes in HTML": b"Content-Type: text/html\n\n" + b"<blockquote>" * 20_000 + b"x",
    "empty marks in HTML": b"Content-Type: text/html\n\n" + b"<div id=appendonsend></div>" * 20_000 + b"x",
    "open tags": b"Content-Type: text/html\n\n" + b"<" * 300_000,
    "open events": b"Content-Type: text/calendar\n\nBEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\n" * 10_000,
    "armor": b"X: y\n\n" + b"-----BEGIN PGP SIGNED MESSAGE-----\n" * 20_000,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_mail_is_decoded_to_its_end(raw: bytes) -> None:
    decode(raw + b"\n\nend", POLICY)


@pytest.mark.slow
def test_the_shared_corpora_give_at_most_ten_typed_errors() -> None:
    mails = sorted(SHARED.glob("dev*/**/*.eml"))
    if not mails:
        pytest.skip(f"no shared evaluation data at {SHARED}")
    refused = []
    for mail in mails:
        try:
            decode(mail.read_bytes(), POLICY)
        except BadInput as error:
            refused.append((mail.name, error.kind))
    assert len(refused) <= 10, refused
