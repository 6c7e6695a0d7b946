"""The files that people edit under the state root: read, checked, merged with the configuration; never written
over when broken (CONTRACTS §5)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.config import Settings
from models.curated import Alias, Curated, Customer, Example, ManualThread, Seed
from models.errors import UsageError
from models.message import INTENTS

ALIASES = "people/aliases.json"
NOT_SAME = "people/not_same.json"
DOMAIN_MAP = "customers/domain_map.json"
MANUAL = "threads/_manual.json"
SEEDS = "keywords/seeds.txt"
EXAMPLES = "intent/examples.jsonl"


def read_curated(state: Path, settings: Settings) -> Curated:
    """Return all curated files with the config entries merged over them.

    A missing file is empty. Raises UsageError naming file, line and remedy for a broken one.
    """
    return Curated(
        aliases=_aliases(state, settings),
        customers=_customers(state, settings),
        not_same=_read_json(state / NOT_SAME, [], _pairs),
        seeds=_seeds(state, settings),
        examples=_examples(state / EXAMPLES),
        manual_threads=_read_json(state / MANUAL, [], _manual),
    )


def _aliases(state: Path, settings: Settings) -> list[Alias]:
    entries = {alias.email.casefold(): alias for alias in _read_json(state / ALIASES, [], _alias_list)}
    for section in settings.aliases:
        entries[section.email.casefold()] = Alias(name=section.name, email=section.email, also=section.also)
    return [entries[email] for email in sorted(entries)]


def _alias_list(value: Any) -> list[Alias]:
    return [
        Alias(name=_text(row, "name"), email=_text(row, "email", needed=True), also=sorted(_texts(row, "also")))
        for row in _rows(value)
    ]


def _customers(state: Path, settings: Settings) -> list[Customer]:
    entries = {customer.id: customer for customer in _read_json(state / DOMAIN_MAP, [], _customer_list)}
    for domain, customer_id in settings.domain_map.items():
        for other in entries.values():
            other.domains = [name for name in other.domains if name != domain.casefold()]
        entry = entries.setdefault(customer_id, Customer(id=customer_id))
        entry.domains = sorted({*entry.domains, domain.casefold()})
    return [entries[key] for key in sorted(entries)]


def _customer_list(value: Any) -> list[Customer]:
    if not isinstance(value, dict):
        raise ValueError('must be {"domain": "customer id"} or {"customers": {"id": {…}}}')
    if not isinstance(value.get("customers"), dict):
        found: dict[str, Customer] = {}
        for domain, customer_id in value.items():
            if not isinstance(customer_id, str):
                raise ValueError(f"the customer id of `{domain}` must be a text")
            entry = found.setdefault(customer_id, Customer(id=customer_id))
            entry.domains = sorted({*entry.domains, domain.casefold()})
        return list(found.values())
    customers = []
    for customer_id, row in value["customers"].items():
        if not isinstance(row, dict):
            raise ValueError(f"customer `{customer_id}` must be an object with name, domains, contacts")
        customers.append(
            Customer(
                id=customer_id,
                name=_text(row, "name"),
                domains=sorted({name.casefold() for name in _texts(row, "domains")}),
                contacts=sorted({name.casefold() for name in _texts(row, "contacts")}),
            )
        )
    return customers


def _pairs(value: Any) -> list[list[str]]:
    if not isinstance(value, list) or any(
        not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair) for pair in value
    ):
        raise ValueError('must be a list of pairs, [["a@x","b@y"]]')
    return sorted(sorted(pair) for pair in value)


def _manual(value: Any) -> list[ManualThread]:
    return [ManualThread(join=_texts(row, "join"), split=_texts(row, "split")) for row in _rows(value)]


def _seeds(state: Path, settings: Settings) -> list[Seed]:
    lines = list(settings.seed_keywords)
    path = state / SEEDS
    if path.exists():
        lines = _read_text(path).splitlines() + lines
    seeds: dict[str, Seed] = {}
    for line in lines:
        keyword, _, synonyms = line.partition("=")
        keyword = keyword.strip()
        if keyword and not keyword.startswith("#"):
            words = [word.strip() for word in synonyms.replace("，", ",").split(",") if word.strip()]
            seeds[keyword] = Seed(keyword=keyword, synonyms=sorted(words))
    return [seeds[keyword] for keyword in sorted(seeds)]


def _examples(path: Path) -> list[Example]:
    if not path.exists():
        return []
    examples = []
    for number, line in enumerate(_read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            primary = _text(row, "primary", needed=True)
            if primary not in INTENTS:
                raise ValueError(f"`primary` must be one of {' '.join(INTENTS)}")
            examples.append(
                Example(
                    subject=_text(row, "subject"),
                    body_text_clean=_text(row, "body_text_clean"),
                    primary=primary,
                    secondary=_texts(row, "secondary") if isinstance(row.get("secondary"), list) else [],
                )
            )
        except (ValueError, AttributeError) as error:
            raise _broken(path, f"line {number}: {error}") from error
    return examples


def _read_json(path: Path, default: Any, read: Callable[[Any], Any]) -> Any:
    if not path.exists():
        return default
    try:
        return read(json.loads(_read_text(path)))
    except json.JSONDecodeError as error:
        raise _broken(path, f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise _broken(path, "nested too deeply") from error
    except ValueError as error:
        raise _broken(path, str(error)) from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", remedy="check the file's rights") from error
    except UnicodeDecodeError as error:
        raise _broken(path, f"not UTF-8 (byte {error.start})") from error


def _broken(path: Path, what: str) -> UsageError:
    return UsageError(f"{path}: {what}", remedy="correct the file (it was not touched) and run again")


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError("must be a list of objects")
    return value


def _text(row: dict[str, Any], key: str, *, needed: bool = False) -> str:
    value = row.get(key, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise ValueError(f"`{key}` must be a text{' that is not empty' if needed else ''}")
    return value


def _texts(row: dict[str, Any], key: str) -> list[str]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"`{key}` must be a list of texts")
    return value
