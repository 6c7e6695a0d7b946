"""What the thread stage reads of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.addresses import built_in_free_mail, plain_domains
from models.base import Record
from models.curated import Curated, ManualThread

if TYPE_CHECKING:
    from models.config import Settings

_LONG_HOURS = 120 * 24


class ThreadPolicy(Record):
    """What guesses may read and how far they reach.

    `window_hours`: how far a guess by a plain subject reaches, `long_hours` one by a specific subject.
    `bucket_limit`: most candidates that are read. `line_limit`: most earlier messages that may have written a
    line which is to tell one of them. `company_domains`: whose people tell nothing about which customer a mail
    belongs to; `free_mail`: domains (beside the built-in ones) where anybody gets an address.
    `manual`: what somebody joined and split by hand, in order.
    """

    window_hours: int = 168
    long_hours: int = _LONG_HOURS
    bucket_limit: int = 64
    line_limit: int = 6
    company_domains: list[str] = []
    free_mail: list[str] = []
    manual: list[ManualThread] = []

    def is_free_mail(self, domain: str) -> bool:
        """Return whether anybody can get an address of `domain`."""
        return domain in built_in_free_mail() or domain in self.free_mail


def policy_of(settings: Settings, curated: Curated) -> ThreadPolicy:
    """Return thread's slice of the configuration and of the curated files."""
    return ThreadPolicy(
        window_hours=settings.email.heuristic_thread_window_h,
        long_hours=max(settings.email.heuristic_thread_window_h, _LONG_HOURS),
        company_domains=plain_domains(settings.company_domains),
        free_mail=plain_domains(settings.free_mail),
        manual=curated.manual_threads,
    )
