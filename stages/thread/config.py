"""What the thread stage reads of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.addresses import plain_domains
from models.base import Record

if TYPE_CHECKING:
    from models.config import Settings
    from models.curated import Curated


class ThreadPolicy(Record):
    """`window_hours`: how far a guess by subject may reach. `bucket_limit`: most candidates that are read.
    `company_domains`: whose people tell nothing about which customer a mail belongs to."""

    window_hours: int = 168
    bucket_limit: int = 64
    company_domains: list[str] = []


def policy_of(settings: Settings, curated: Curated) -> ThreadPolicy:
    """Return thread's slice of the configuration; no curated file is read by this stage yet."""
    return ThreadPolicy(
        window_hours=settings.email.heuristic_thread_window_h,
        company_domains=plain_domains(settings.company_domains),
    )
