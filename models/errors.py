"""The error tree: bad input, our own defect, try again later, unusable set-up.

Errors carry attributes (stage, kind, message, detail, remedy); nobody matches their strings.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["corrupt_input", "unsupported_feature", "resource_limit", "transient", "defect"]


class AtlasError(Exception):
    """Base of all errors raised on purpose."""

    kind: Kind = "defect"

    def __init__(
        self, detail: str, *, stage: str | None = None, message: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.stage = stage
        self.message = message
        self.remedy = remedy

    @property
    def sentence(self) -> str:
        """What happened, and in brackets what to do."""
        return f"{self.detail} ({self.remedy})" if self.remedy else self.detail

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.detail, self.stage, self.message, self.remedy))


def _rebuild(
    cls: type[AtlasError], detail: str, stage: str | None, message: str | None, remedy: str | None
) -> AtlasError:
    return cls(detail, stage=stage, message=message, remedy=remedy)


class BadInput(AtlasError):
    """The message itself is at fault: it goes to quarantine and the rest goes on."""


class CorruptInput(BadInput):
    """It cannot be parsed at all."""

    kind = "corrupt_input"


class UnsupportedFeature(BadInput):
    """A format that we do not read."""

    kind = "unsupported_feature"


class ResourceLimit(BadInput):
    """Over a cap on size, attachments, parts, depth, time or memory."""

    kind = "resource_limit"


class Transient(AtlasError):
    """Network, 429, lock, timeout, full disk: try again later, nothing is lost."""

    kind = "transient"


class Defect(AtlasError):
    """Our own exception on one message."""

    kind = "defect"


class UsageError(AtlasError):
    """Config, curated file, tenant, source or state folder unusable: nothing was read (exit 64)."""


class MailboxBusy(AtlasError):
    """Another run holds the mailbox (exit 75)."""

    kind = "transient"
