"""The stage put together: headers, mentions, dates, amounts, customer, keywords, actions."""

from __future__ import annotations

from models.addresses import domain_of, is_under
from models.message import Address, Entities
from stages.entities.actions import find_actions
from stages.entities.amounts import find_amounts
from stages.entities.config import EntitiesPolicy
from stages.entities.customers import find_customer
from stages.entities.dates import find_dates
from stages.entities.keywords import find_keywords
from stages.entities.mentions import find_mentions, known_people, surname_table
from stages.entities.message import EntitiesInput
from stages.entities.people import (
    address_key,
    canonical_addresses,
    find_header_people,
    index_aliases,
)


def extract(message: EntitiesInput, policy: EntitiesPolicy) -> Entities:
    """Return the entities of one message (see `stages.entities.extract_entities`)."""
    text = message.text[: policy.max_chars]
    aliases = index_aliases(policy.aliases, policy.strip_plus_tags)
    header = find_header_people(message, policy, aliases)
    inside = {
        alias.email: is_under(domain_of(address_key(alias.email)), policy.company_domains)
        for alias in policy.aliases
    }
    known = known_people(header.people, policy.aliases, inside)
    mentions = find_mentions(text, known, surname_table(known))
    author = None
    if "via-list" in header.methods and header.people and header.people[0].role == "from":
        author = Address(name=header.people[0].name, email=header.people[0].email or "")
    customer = find_customer(message, policy, author)
    methods = header.methods + (["text-truncated"] if len(message.text) > policy.max_chars else [])
    people = header.people + mentions
    return Entities(
        canonical=canonical_addresses(message, policy, aliases),
        people=people,
        dates=find_dates(text, message.sent, policy.timezone),
        amounts=find_amounts(text, message.language, policy.home_currency),
        project_keywords=find_keywords(
            message.subject, text, policy.seeds, people, message.sent, policy.timezone
        ),
        actions=find_actions(message.subject, text),
        customer_id_candidate=customer.candidate,
        customer_matches=customer.matches,
        customer_receipt=customer.receipt,
        candidates=customer.candidates,
        people_methods=methods,
    )
