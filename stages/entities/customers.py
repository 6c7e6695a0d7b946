"""Customers: the id that the domain map gives, with a sentence that says why, and domains still unknown."""

from __future__ import annotations

from typing import NamedTuple

from models.addresses import built_in_free_mail, domain_of, is_under
from models.message import Address, Candidate, CustomerMatch
from stages.entities.config import EntitiesPolicy
from stages.entities.message import EntitiesInput
from stages.entities.people import address_key, clean_name, is_role_address


class CustomerFinding(NamedTuple):
    """The customer's id (None: no domain map entry fits), why, and outside domains that the map does not know."""

    candidate: str | None
    matches: list[CustomerMatch]
    receipt: str
    candidates: list[Candidate]


def is_free_mail(domain: str, policy: EntitiesPolicy) -> bool:
    """Return whether anybody can get an address of `domain`."""
    return domain in built_in_free_mail() or domain in policy.free_mail


def find_customer(
    message: EntitiesInput, policy: EntitiesPolicy, author: Address | None = None
) -> CustomerFinding:
    """Return the customer of the first mapped header address in the order From, To, Cc.

    `author` is who really wrote (behind "X via List"), before From. Contacts count before domains for each
    address, a subdomain inherits its parent's customer, the longest domain wins. The company's own and free
    mail domains never give a customer by domain.
    """
    contacts = {
        address_key(contact): customer.id for customer in policy.customers for contact in customer.contacts
    }
    domains = {
        domain.casefold().strip(".@"): customer.id
        for customer in policy.customers
        for domain in customer.domains
    }
    matches: list[CustomerMatch] = []
    unknown: dict[str, list[Address]] = {}
    seen: list[str] = []
    rows = [("From", address) for address in (author, message.from_) if address is not None and address.email]
    rows += [("To", address) for address in message.to] + [("Cc", address) for address in message.cc]
    for header, address in rows[:500]:
        key = address_key(address.email)
        domain = domain_of(key)
        if not domain:
            continue
        customer, reason = contacts.get(key), f"{header}: {key} is a contact"
        if customer is None and is_under(domain, policy.company_domains):
            seen.append("company")
            continue
        if customer is None and is_free_mail(domain, policy):
            seen.append("free")
            continue
        if customer is None:
            parent = _mapped_parent(domain, domains)
            if parent is not None:
                customer = domains[parent]
                below = "" if parent == domain else f", a subdomain of {parent}"
                reason = f"{header}: domain {domain}{below} is in the domain map"
        if customer is None:
            seen.append("unknown")
            people = unknown.setdefault(domain, [])
            name = clean_name(address.name)
            if not any(person.email == key for person in people):
                people.append(Address(name=name, email=key))
            continue
        if not any(match.customer_id == customer for match in matches):
            matches.append(CustomerMatch(customer_id=customer, reason=reason))
    candidate = matches[0].customer_id if matches else None
    return CustomerFinding(
        candidate, matches, _receipt(matches, seen, unknown), _candidates(message, unknown)
    )


def _mapped_parent(domain: str, domains: dict[str, str]) -> str | None:
    while domain:
        if domain in domains:
            return domain
        _, _, domain = domain.partition(".")
    return None


def _receipt(matches: list[CustomerMatch], seen: list[str], unknown: dict[str, list[Address]]) -> str:
    if matches:
        more = len(matches) - 1
        rest = f"; {more} more customer{'s' if more > 1 else ''} in this mail" if more else ""
        return f"{matches[0].reason} of {matches[0].customer_id}{rest}"
    if unknown:
        return f"outside domain {next(iter(unknown))} is not in the domain map"
    if "free" in seen:
        return "free mail domain, no contact known"
    if "company" in seen:
        return "only company addresses"
    return "no header address"


def _candidates(message: EntitiesInput, unknown: dict[str, list[Address]]) -> list[Candidate]:
    """Return the unknown outside domains with their people; machine mail and list mail propose none."""
    if message.category not in ("conversation", "auto_reply", "calendar") or message.list_id:
        return []
    found = []
    for domain in sorted(unknown):
        people = [person for person in unknown[domain] if not is_role_address(person.email)]
        found.append(Candidate(domain=domain, people=sorted(people, key=lambda person: person.email)))
    return found
