"""The files that people edit under the state root: read, checked, merged with the configuration (CONTRACTS §5).

A broken file is an error with line and remedy; it is never written over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from models.config import Settings
from models.curated import Alias, Curated, Customer, Example, ManualThread, Seed
from models.errors import UsageError
from models.message import INTENTS
from storage.durable import make_folder, write_durable
from storage.json_place import line_of

ALIASES = "people/aliases.json"
NOT_SAME = "people/not_same.json"
DOMAIN_MAP = "customers/domain_map.json"
MANUAL = "threads/_manual.json"
SEEDS = "keywords/seeds.txt"
EXAMPLES = "intent/examples.jsonl"
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of a surrogate, half of a character

T = TypeVar("T")


def read_curated(state: Path, settings: Settings) -> Curated:
    """Return all curated files with the config entries merged over them.

    A missing file is empty. Raises UsageError naming file, line and remedy for a broken one.
    """
    return Curated(
        aliases=_aliases(state, settings),
        customers=_customers(state, settings),
        not_same=_read_json(state / NOT_SAME, _pairs),
        seeds=_seeds(state, settings),
        examples=_examples(state / EXAMPLES),
        manual_threads=_read_json(state / MANUAL, _manual),
    )


def add_manual(state: Path, entry: ManualThread) -> None:
    """Add a join or a split at the end of `threads/_manual.json`, whose other entries stay; durable on return.

    Raises UsageError where the file is broken (it is not touched) or cannot be written.
    """
    path = state / MANUAL
    entries = [*_read_json(path, _manual), entry]
    rows = [{"join": one.join} if one.join else {"split": one.split} for one in entries]
    lines = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    try:
        make_folder(path.parent)
        write_durable(path, f"[{lines}]\n".encode())
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", remedy="check the folder's rights"
        ) from error


def _aliases(state: Path, settings: Settings) -> list[Alias]:
    entries = {alias.email.casefold(): alias for alias in _read_json(state / ALIASES, _alias_list)}
    for section in settings.aliases:
        entries[section.email.casefold()] = Alias(
            name=section.name, email=section.email, also=sorted(section.also)
        )
    return [entries[email] for email in sorted(entries)]


def _alias_list(value: Any) -> list[Alias]:
    return _rows(
        value,
        lambda row: Alias(
            name=_text(row, "name"), email=_text(row, "email", needed=True), also=sorted(_texts(row, "also"))
        ),
    )


def _customers(state: Path, settings: Settings) -> list[Customer]:
    entries = {customer.id: customer for customer in _read_json(state / DOMAIN_MAP, _customer_list)}
    for domain, customer_id in settings.domain_map.items():
        for other in entries.values():
            other.domains = [name for name in other.domains if name != domain.casefold()]
        entry = entries.setdefault(customer_id, Customer(id=customer_id))
        entry.domains = sorted({*entry.domains, domain.casefold()})
    return [entries[key] for key in sorted(entries)]


def _customer_list(value: Any) -> list[Customer]:
    if not isinstance(value, dict):
        raise _Wrong('must be {"domain": "customer id"} or {"customers": {"id": {…}}}')
    if not isinstance(value.get("customers"), dict):
        found: dict[str, Customer] = {}
        for domain in value:
            customer_id = _text(value, domain, needed=True)
            entry = found.setdefault(customer_id, Customer(id=customer_id))
            entry.domains = sorted({*entry.domains, domain.casefold()})
        return list(found.values())
    for key in value:
        if key != "customers":
            raise _Wrong(f"`{key}` stands beside `customers`: use one of the two forms", key)
    customers = []
    for customer_id, row in value["customers"].items():
        with _inside("customers", customer_id):
            if not isinstance(row, dict):
                raise _Wrong(f"customer `{customer_id}` must be an object with name, domains, contacts")
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
    if not isinstance(value, list):
        raise _Wrong('must be a list of pairs, [["a@x","b@y"]]')
    for number, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            raise _Wrong("must be a pair of addresses", number)
    return sorted(sorted(pair) for pair in value)


def _manual(value: Any) -> list[ManualThread]:
    return _rows(value, _join_or_split)


def _join_or_split(row: dict[str, Any]) -> ManualThread:
    if ("join" in row) == ("split" in row):
        raise _Wrong("must have `join` or `split`, a list of message ids")
    return ManualThread(join=_texts(row, "join"), split=_texts(row, "split"))


def _seeds(state: Path, settings: Settings) -> list[Seed]:
    lines = list(settings.seed_keywords)
    path = state / SEEDS
    if path.exists():
        written = _read_text(path).split("\n")
        for number, line in enumerate(written, 1):
            if line.lstrip().startswith("="):
                raise _broken(path, f"line {number}: no keyword stands before `=`")
        lines = written + lines
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
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            examples.append(_example(_parse(line)))
        except json.JSONDecodeError as error:
            raise _broken(path, f"line {number}, column {error.colno}: {error.msg}") from error
        except _Wrong as error:
            raise _broken(path, f"line {number}: {error}") from error
    return examples


def _example(row: Any) -> Example:
    if not isinstance(row, dict):
        raise _Wrong("must be an object with subject, body_text_clean, primary, secondary")
    primary, secondary = _text(row, "primary", needed=True), _texts(row, "secondary")
    for label in (primary, *secondary):
        if label not in INTENTS:
            raise _Wrong(f"`{label}` is no intent: one of {' '.join(INTENTS)}")
    return Example(
        subject=_text(row, "subject"),
        body_text_clean=_text(row, "body_text_clean"),
        primary=primary,
        secondary=secondary,
    )


class _Wrong(ValueError):
    """A value that cannot be used, and where it stands (indices and keys, outermost first)."""

    def __init__(self, what: str, *place: int | str) -> None:
        super().__init__(what)
        self.place = place


@contextmanager
def _inside(*place: int | str) -> Iterator[None]:
    """Add where we are to the place of what is wrong there."""
    try:
        yield
    except _Wrong as error:
        error.place = (*place, *error.place)
        raise


def _read_json(path: Path, read: Callable[[Any], list[T]]) -> list[T]:
    if not path.exists():
        return []
    text = _read_text(path)
    try:
        return read(_parse(text))
    except json.JSONDecodeError as error:
        raise _broken(path, f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except _Wrong as error:
        raise _broken(path, f"line {line_of(text, error.place)}: {error}") from error


def _parse(text: str) -> Any:
    """Return the value of a JSON text. Raises JSONDecodeError, for what no record can hold too."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", text, 0) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise json.JSONDecodeError(str(error), text, 0) from error
    if (half := _HALF.search(text)) and not _is_unicode(value):
        raise json.JSONDecodeError("half of a character (a lone surrogate)", text, half.start())
    return value


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", remedy="check the file's rights"
        ) from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _broken(path, f"line {line}: not UTF-8 (byte {error.start})") from error


def _broken(path: Path, what: str) -> UsageError:
    return UsageError(f"{path}: {what}", remedy="correct the file (it was not touched) and run again")


def _rows(value: Any, read: Callable[[dict[str, Any]], T]) -> list[T]:
    if not isinstance(value, list):
        raise _Wrong("must be a list of objects")
    found = []
    for number, row in enumerate(value):
        with _inside(number):
            if not isinstance(row, dict):
                raise _Wrong("must be an object")
            found.append(read(row))
    return found


def _text(row: dict[str, Any], key: str, *, needed: bool = False) -> str:
    value = row.get(key)
    if needed and not (isinstance(value, str) and value.strip()):
        raise _Wrong(f"`{key}` must be a text that is not empty", key)
    if not isinstance(value, str | None):
        raise _Wrong(f"`{key}` must be a text", key)
    return value or ""


def _texts(row: dict[str, Any], key: str) -> list[str]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _Wrong(f"`{key}` must be a list of texts", key)
    return value
