"""Header people: canonical address after aliases, role, inside or outside, and the rule that decided."""

from __future__ import annotations

import contextlib
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from models.addresses import domain_of, is_under
from models.curated import Alias
from models.message import Address, Person, Role
from stages.entities.config import EntitiesPolicy
from stages.entities.folding import fold_name
from stages.entities.message import EntitiesInput


class AliasIndex(NamedTuple):
    """Aliases by canonical key of an address and by folded name (names that two aliases share are left out)."""

    by_email: dict[str, Alias]
    by_name: dict[str, Alias]


class HeaderPeople(NamedTuple):
    """One row per header occurrence of a person, and the names of the rules that decided who it is."""

    people: list[Person]
    methods: list[str]


@cache
def load_pack() -> dict[str, Any]:
    """Return the pack of role addresses, titles, family names and words that are no names."""
    return tomllib.loads(files(__package__).joinpath("packs/people.toml").read_text(encoding="utf-8"))


@cache
def _role_locals() -> frozenset[str]:
    return frozenset(load_pack()["role_locals"])


def address_key(email: str, *, strip_plus: bool = False) -> str:
    """Return the canonical key of an address: NFKC, case folded, IDNA domain, `+tag` dropped if asked."""
    plain = unicodedata.normalize("NFKC", email).strip().strip("<>").casefold()
    local, at, domain = plain.rpartition("@")
    if not at:
        return plain
    if not domain.isascii():
        with contextlib.suppress(UnicodeError):
            domain = domain.encode("idna").decode("ascii")
    if strip_plus and "+" in local[1:]:
        local = local[: local.index("+", 1)]
    return f"{local}@{domain}"


def is_role_address(email: str, list_id: str | None = None) -> bool:
    """Return whether an address belongs to a role, a list or a machine rather than to a person."""
    local, _, domain = email.partition("@")
    pack, roles = load_pack(), _role_locals()
    if local in roles or local.endswith(tuple(pack["list_suffixes"])):
        return True
    head = local
    for mark in "+-_.":
        head = head.partition(mark)[0]
    if head in (
        "noreply",
        "donotreply",
        "bounce",
        "bounces",
        "notification",
        "notifications",
        "newsletter",
        "mailer",
    ):
        return True
    if local.startswith(("no-reply", "no_reply", "do-not-reply", "no.reply")):
        return True
    if domain.startswith(tuple(pack["list_prefixes"])):
        return True
    if list_id:
        bare = list_id.strip("<> ").casefold()
        return bool(bare) and (email.replace("@", ".") == bare or email == bare)
    return False


def index_aliases(aliases: list[Alias], strip_plus: bool) -> AliasIndex:
    """Return the aliases by address and by name."""
    by_email: dict[str, Alias] = {}
    by_name: dict[str, Alias] = {}
    shared: set[str] = set()
    for alias in aliases:
        for known in (alias.email, *alias.also):
            if "@" in known or known.upper().startswith("/O="):
                by_email.setdefault(address_key(known, strip_plus=strip_plus), alias)
        for name in (alias.name, *(known for known in alias.also if "@" not in known)):
            key = fold_name(name)
            if key and by_name.setdefault(key, alias) is not alias:
                shared.add(key)
    return AliasIndex(by_email, {key: alias for key, alias in by_name.items() if key not in shared})


def clean_name(name: str) -> str:
    """Return a display name without quotes and brackets around it; an address is no name."""
    name = " ".join(name.replace("\n", " ").split()).strip("'\"“”‘’ ")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    return "" if "@" in name and " " not in name else name


def find_header_people(message: EntitiesInput, policy: EntitiesPolicy, aliases: AliasIndex) -> HeaderPeople:
    """Return one row per header occurrence of a person, From first, and the rules that changed an address."""
    people: list[Person] = []
    methods: list[str] = []
    rows: list[tuple[Role, Address]] = []
    sender = _real_sender(message, methods)
    if sender is not None:
        rows.append(("from", sender))
    if message.sender is not None and not _same(message.sender, message.from_):
        rows.append(("sender", message.sender))
    rows += [("to", address) for address in message.to]
    rows += [("cc", address) for address in message.cc]
    rows += [("reply_to", address) for address in message.reply_to if not _same(address, message.from_)]
    for role, address in rows[:500]:
        person = _person(role, address, message, policy, aliases, methods)
        if person is not None:
            people.append(person)
    return HeaderPeople(people, list(dict.fromkeys(methods)))


def canonical_addresses(
    message: EntitiesInput, policy: EntitiesPolicy, aliases: AliasIndex
) -> dict[str, str]:
    """Return, for each header address that another one stands for, that other address."""
    found: dict[str, str] = {}
    headers = [message.from_, message.sender, *message.to, *message.cc, *message.reply_to]
    for address in [one for one in headers if one is not None][:500]:
        key = address_key(address.email, strip_plus=policy.strip_plus_tags)
        alias = aliases.by_email.get(key)
        canonical = address_key(alias.email, strip_plus=policy.strip_plus_tags) if alias else key
        if canonical != address.email:
            found[address.email] = canonical
    return found


def _same(one: Address, other: Address | None) -> bool:
    return other is not None and address_key(one.email) == address_key(other.email)


def _real_sender(message: EntitiesInput, methods: list[str]) -> Address | None:
    """Return who wrote: behind `X via List` it is X-Original-From, else a Reply-To whose name is X."""
    sender = message.from_
    if sender is None:
        return None
    if message.original_from is not None and message.original_from.email:
        methods.append("via-list")
        return message.original_from
    name, via, _ = sender.name.partition(" via ")
    if not via or not (
        message.list_id or domain_of(sender.email).startswith(tuple(load_pack()["list_prefixes"]))
    ):
        return sender
    bare = clean_name(name)
    for address in message.reply_to:
        if fold_name(address.name) == fold_name(bare) and address.email:
            methods.append("via-list")
            return Address(name=bare, email=address.email)
    methods.append("via-unresolved")
    return Address(name=bare, email="")


def _person(
    role: Role,
    address: Address,
    message: EntitiesInput,
    policy: EntitiesPolicy,
    aliases: AliasIndex,
    methods: list[str],
) -> Person | None:
    key = address_key(address.email, strip_plus=policy.strip_plus_tags)
    if policy.strip_plus_tags and key != address_key(address.email):
        methods.append("plus-tag")
    name = clean_name(address.name)
    alias = aliases.by_email.get(key)
    if alias is not None:
        canonical = address_key(alias.email, strip_plus=policy.strip_plus_tags)
        if canonical != key or (alias.name and alias.name != name):
            methods.append("alias")
        key, name = canonical, alias.name or name
    elif key.startswith("/o=") or "@" not in key:
        named = aliases.by_name.get(fold_name(name)) if name else None
        if named is not None:
            methods.append("alias")
            key, name = address_key(named.email), named.name
        elif not name:
            return None
        else:
            return Person(name=name, email=None, internal=False, role=role)
    elif is_role_address(key, message.list_id):
        methods.append("role-address")
        return None
    if not name:
        name = key.partition("@")[0]
    return Person(name=name, email=key, internal=is_under(domain_of(key), policy.company_domains), role=role)
