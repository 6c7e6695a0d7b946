"""What the normalize stage reads of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.addresses import plain_domains
from models.base import Record

if TYPE_CHECKING:
    from models.config import Settings
    from models.curated import Curated


class NormalizePolicy(Record):
    """`body_html`: write the sanitised HTML body too. `company_domains`: whose people are internal."""

    body_html: bool = False
    company_domains: list[str] = []


def policy_of(settings: Settings, curated: Curated) -> NormalizePolicy:
    """Return normalize's slice of the configuration; no curated file is read by this stage."""
    return NormalizePolicy(
        body_html=settings.output.body_html,
        company_domains=plain_domains(settings.company_domains),
    )
