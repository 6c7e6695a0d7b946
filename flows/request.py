"""What a run is asked to do: sources and bounds, checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from models.errors import UsageError


@dataclass(frozen=True)
class RunRequest:
    """`sources`: account → path. `since` and `until` are days (inclusive), in UTC of the message's own date.

    `limit`: take at most so many messages that are not known yet.
    """

    sources: dict[str, str]
    since: date | None = None
    until: date | None = None
    limit: int | None = None

    def covers(self, utc: str | None) -> bool:
        """Return whether a sortable UTC time lies in the asked days; no date at all is always taken."""
        if utc is None:
            return True
        day = utc[:10]
        if self.since and day < self.since.isoformat():
            return False
        return not (self.until and day > self.until.isoformat())

    @property
    def bounded(self) -> bool:
        """Whether days were asked for: then each message's own date decides."""
        return self.since is not None or self.until is not None


def name_sources(paths: list[str], account: str | None) -> dict[str, str]:
    """Return account → absolute path for the sources of the command line.

    Raises UsageError for a source without a name or with an impossible one, and where two would have one name.
    """
    named: dict[str, str] = {}
    for path in paths:
        if not path:  # an unset variable of a script: not "the folder that the command runs in"
            raise UsageError(
                "--source names nothing", remedy="name a folder or file; `.` is the present folder"
            )
        absolute = str(Path(path).absolute())
        stem = Path(absolute)
        try:
            is_file = stem.is_file()
        except OSError as error:
            raise UsageError(
                f"source {path[:200]} cannot be read: {error.strerror}",
                remedy="check the path given with --source and its rights",
            ) from error
        name = account or (stem.stem if is_file else stem.name) or "archive"
        if named.get(name, absolute) != absolute:
            raise UsageError(
                f"two sources are both named `{name}`: {named[name]} and {absolute}",
                remedy="run them one after the other, each with a --account NAME of its own",
            )
        named[name] = absolute
    return named
