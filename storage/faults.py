"""Named points where a test can make the process die, to prove that starting again loses nothing.

`ATLAS_CRASH_AT=<point>:<n>` kills the process with SIGKILL at the n-th passing of the point, and with
`ATLAS_CRASH_GROUP` its whole process group. The environment is read when a process starts.
"""

from __future__ import annotations

import os
import signal
from typing import Literal

Point = Literal[
    "blob-written",
    "fetch-committed",
    "decode-cached",
    "thread-committed",
    "settle-committed",
    "publish-noted",
    "publish-written",
    "publish-renamed",
    "publish-removed",
]
_CRASH_AT = os.environ.get("ATLAS_CRASH_AT")
_INJECT = os.environ.get("ATLAS_INJECT")
_passed: dict[str, int] = {}


def passing(point: Point) -> None:
    """Note that `point` is passed; die here if the environment asks for it."""
    if _CRASH_AT is None:
        return
    name, _, count = _CRASH_AT.partition(":")
    if name != point:
        return
    _passed[point] = _passed.get(point, 0) + 1
    if _passed[point] >= int(count or 1):
        if os.environ.get("ATLAS_CRASH_GROUP"):  # a dying worker alone would only be replaced by its parent
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def inject(stage: str, raw: str) -> None:
    """Fail on purpose for one message: `ATLAS_INJECT=<stage>:<what>:<start of its hash>`, comma-separated.

    What: raise, segfault, hang (in C, deaf to signals) or bloat (memory).
    """
    if _INJECT is None:
        return
    for one in _INJECT.split(","):
        where, what, prefix = one.split(":")
        if where != stage or not raw.removeprefix("blake3:").startswith(prefix):
            continue
        if what == "raise":
            raise RuntimeError(f"injected into {stage}")
        if what == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "hang":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM})
            while True:
                signal.sigwait({signal.SIGALRM})
        if what == "bloat":
            hoard = []
            while True:
                hoard.append(bytearray(64 << 20))
