"""Mail domains: whose an address is. One rule for all stages, so that no two of them call a person inside and out."""

from __future__ import annotations

from collections.abc import Iterable


def domain_of(email: str | None) -> str:
    """Return the domain of an address, "" if it has none."""
    return email.rpartition("@")[2] if email and "@" in email else ""


def plain_domains(domains: Iterable[str]) -> list[str]:
    """Return domains as a person wrote them in comparing form: case-folded, no dot at either end, sorted."""
    return sorted({domain.casefold().strip(".") for domain in domains})


def is_under(domain: str, parents: Iterable[str]) -> bool:
    """Return whether `domain` is one of `parents` (plain) or below one of them."""
    return any(domain == parent or domain.endswith("." + parent) for parent in parents if parent)
