"""Mail domains: whose an address is. One rule for all stages, so that no two of them call a person inside and out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files


def domain_of(email: str | None) -> str:
    """Return the domain of an address, "" if it has none."""
    return email.rpartition("@")[2] if email and "@" in email else ""


def plain_domains(domains: Iterable[str]) -> list[str]:
    """Return domains as a person wrote them in comparing form: case-folded, no dot at either end, sorted."""
    return sorted({domain.casefold().strip(".") for domain in domains})


def is_under(domain: str, parents: Iterable[str]) -> bool:
    """Return whether `domain` is one of `parents` (plain) or below one of them."""
    return any(domain == parent or domain.endswith("." + parent) for parent in parents if parent)


@cache
def built_in_free_mail() -> frozenset[str]:
    """Return the built-in list of free mail domains: anybody can get an address there."""
    text = files("models").joinpath("free_mail.txt").read_text(encoding="utf-8")
    return frozenset(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
