"""The entities stage's slice of the configuration and of the curated files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.addresses import plain_domains
from models.base import Record
from models.curated import Alias, Curated, Customer, Seed

if TYPE_CHECKING:
    from models.config import Settings


MAX_CHARS = 20_000  # of the clean text that are read


class EntitiesPolicy(Record):
    """What the stage may know beside the message. `free_mail` is added to the built-in list (packs/)."""

    company_domains: list[str] = []
    free_mail: list[str] = []
    strip_plus_tags: bool = False
    timezone: str = "Asia/Shanghai"
    home_currency: str = "CNY"
    aliases: list[Alias] = []
    customers: list[Customer] = []
    seeds: list[Seed] = []
    max_chars: int = MAX_CHARS


def policy_of(settings: Settings, curated: Curated) -> EntitiesPolicy:
    """Return the policy; `curated` already has the aliases, domain map and seeds of the config merged in."""
    return EntitiesPolicy(
        company_domains=plain_domains(settings.company_domains),
        free_mail=plain_domains(settings.free_mail),
        strip_plus_tags=settings.email.strip_plus_tags,
        timezone=settings.timezone,
        home_currency=settings.home_currency,
        aliases=curated.aliases,
        customers=curated.customers,
        seeds=curated.seeds,
    )
