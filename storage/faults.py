"""Named points where a test can make the process die, to prove that starting again loses nothing.

`ATLAS_CRASH_AT=<point>:<n>` kills the process with SIGKILL at the n-th passing of the point.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "blob-written",
    "fetch-committed",
    "decode-cached",
    "thread-committed",
    "settle-committed",
    "publish-noted",
    "publish-written",
    "publish-renamed",
    "publish-removed",
)
_passed: dict[str, int] = {}


def passing(point: str) -> None:
    """Note that `point` is passed; die here if the environment asks for it."""
    wish = os.environ.get("ATLAS_CRASH_AT")
    if wish is None:
        return
    name, _, count = wish.partition(":")
    if name != point:
        return
    _passed[point] = _passed.get(point, 0) + 1
    if _passed[point] >= int(count or 1):
        # the whole group: a dying worker alone would only be restarted by its parent
        os.killpg(os.getpgrp(), signal.SIGKILL) if os.environ.get("ATLAS_CRASH_GROUP") else os.kill(
            os.getpid(), signal.SIGKILL
        )


def inject(stage: str, raw: str) -> None:
    """Fail on purpose for one message: `ATLAS_INJECT=<stage>:<what>:<start of its hash>`, comma-separated.

    What: raise, segfault, hang (in C, deaf to signals) or bloat (memory).
    """
    wish = os.environ.get("ATLAS_INJECT")
    if wish is None:
        return
    for one in wish.split(","):
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
