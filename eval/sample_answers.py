"""The sample mailbox's hand-written values (`NNN-slug.json` beside a mail), and the records that a run left."""

from __future__ import annotations

from pathlib import Path

import msgspec

from models.base import Record
from models.email import Email


class Amount(Record):
    text: str
    value: float
    value_max: float | None
    currency: str | None
    approx: bool


class Attachment(Record):
    filename: str | None
    mime: str
    inline: bool


class Date(Record):
    text: str
    iso: str
    iso_start: str | None
    grain: str


class Person(Record):
    name: str | None
    email: str | None
    internal: bool
    role: str


class Expected(Record):
    """The hand-written values of one mail; what they mean stands in `eval/sample/README.md`."""

    outcome: str
    quarantine_kind: str | None
    thread: str | None
    clean: str | None
    clean_also: list[str]
    language: str | None
    category: str | None
    people: list[Person]
    dates: list[Date]
    amounts: list[Amount]
    customer: str | None
    keywords: list[str]
    intent: str | None
    intent_also: list[str]
    secondary: list[str]
    actions: list[str]
    attachments: list[Attachment]
    is_forward: bool
    note: str


def read_expected(mailbox: Path) -> dict[str, Expected]:
    """Return path in the mailbox → hand-written values, for every mail of `mailbox`."""
    answers = {}
    for path in sorted(mailbox.rglob("*.eml")):
        name = path.relative_to(mailbox).as_posix()
        answers[name] = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=Expected)
    return answers


def read_emails(state: Path) -> list[Email]:
    """Return the Emails under `extracted/` of a state folder, in order of their paths."""
    paths = sorted(path for path in (state / "extracted").glob("*/*/*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Email) for path in paths]
