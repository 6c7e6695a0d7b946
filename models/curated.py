"""The files that people edit under `state/` (CONTRACTS §5), as typed values."""

from __future__ import annotations

from models.base import Record


class Alias(Record):
    """One person: canonical name and address, and other names or addresses of the same person."""

    name: str
    email: str
    also: list[str] = []


class Customer(Record):
    """A customer of the domain map: its domains, and addresses of contacts that write from elsewhere."""

    id: str
    name: str = ""
    domains: list[str] = []
    contacts: list[str] = []


class Seed(Record):
    """A project keyword as it is to be written, with its synonyms."""

    keyword: str
    synonyms: list[str] = []


class Example(Record):
    """A labelled mail from `intent/examples.jsonl`."""

    subject: str
    body_text_clean: str
    primary: str
    secondary: list[str] = []


class ManualThread(Record):
    """One hand-made join or split of `threads/_manual.json` (message ids)."""

    join: list[str] = []
    split: list[str] = []


class Curated(Record):
    """All curated files, config entries merged over them, each sorted so that equal content is equal."""

    aliases: list[Alias] = []
    customers: list[Customer] = []
    not_same: list[list[str]] = []
    seeds: list[Seed] = []
    examples: list[Example] = []
    manual_threads: list[ManualThread] = []
