"""Progress of a run: a bar on a terminal, plain lines in a log, or nothing."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, TextIO

_LINE_SECONDS = 10.0


class Silent:
    """Shows nothing."""

    def listed(self, count: int) -> None: ...
    def finished(self, count: int, quarantined: int) -> None: ...
    def phase(self, name: str) -> None: ...
    def close(self) -> None: ...


class Lines(Silent):
    """A line every ten seconds, for logs."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._began = self._last = time.monotonic()
        self._listed = self._finished = self._quarantined = 0
        self._phase = "start"

    def listed(self, count: int) -> None:
        self._listed += count

    def phase(self, name: str) -> None:
        self._phase = name

    def finished(self, count: int, quarantined: int) -> None:
        with self._lock:
            self._finished += count
            self._quarantined += quarantined
            now = time.monotonic()
            if now - self._last < _LINE_SECONDS:
                return
            self._last = now
        rate = self._finished / max(now - self._began, 0.001)
        print(
            f"{self._phase}: {self._finished} of {self._listed} listed, {rate:.0f} a second, "
            f"{self._quarantined} quarantined so far",
            file=self._out,
            flush=True,
        )


class Bar(Silent):
    """A bar with rate, time left and the quarantined so far."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar: Any = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[held]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("start", total=0, rate="", held="")
        self._began = time.monotonic()
        self._listed = self._finished = self._quarantined = 0
        self._lock = threading.Lock()
        self._bar.start()

    def listed(self, count: int) -> None:
        self._listed += count
        self._bar.update(self._task, total=self._listed)

    def phase(self, name: str) -> None:
        self._bar.update(self._task, description=name)

    def finished(self, count: int, quarantined: int) -> None:
        with self._lock:
            self._finished += count
            self._quarantined += quarantined
            rate = self._finished / max(time.monotonic() - self._began, 0.001)
        held = f"{self._quarantined} quarantined" if self._quarantined else ""
        self._bar.update(self._task, completed=self._finished, rate=f"{rate:.0f}/s", held=held)

    def close(self) -> None:
        self._bar.stop()


def open_progress(*, quiet: bool) -> Silent:
    """Return the progress display that fits standard error."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines(sys.stderr)
