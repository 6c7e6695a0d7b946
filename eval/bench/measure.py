"""What a command costs: CPU of the whole process tree, wall time, peak memory, bytes written.

On Linux the measuring process adopts orphans of the command (a fork server outlives its parent's call), so that
the CPU of every process is counted when it is waited for; memory is sampled from /proc, pages that processes
share counted once where the kernel tells. Elsewhere CPU is that of the awaited children, memory is unknown.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from models.base import Record

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_SAMPLE_SECONDS = 0.1
_BLOCK = 512  # bytes in a unit of ru_oublock
_LINUX = sys.platform == "linux"


class Cost(Record):
    """Seconds of CPU (user and system) and of wall time; bytes of memory (None: unknown) and handed to the disk."""

    exit_code: int
    cpu: float
    wall: float
    peak_memory: int | None
    processes: int
    written: int


def run_measured(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, log: Path | None = None
) -> Cost:
    """Run a command to its end and return what it cost. Its output goes to `log` (or nowhere).

    No other child of this process may run meanwhile.
    """
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(log, "wb")) if log else subprocess.DEVNULL
        child = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        watch = _Watch(child.pid)
        watch.start()
        exit_code = child.wait()
        wall = time.perf_counter() - began
        _await_orphans()
        watch.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        exit_code=exit_code,
        cpu=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        wall=wall,
        peak_memory=watch.peak or None,
        processes=watch.most,
        written=(after.ru_oublock - before.ru_oublock) * _BLOCK,
    )


def _await_orphans(patience: float = 10.0) -> None:
    """Wait for adopted processes to end, so that their CPU is counted."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            done, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not done:
            time.sleep(0.02)


class _Watch(threading.Thread):
    """Samples the memory of a process and all its descendants."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.peak = self.most = 0
        self._done = threading.Event()

    def run(self) -> None:
        while _LINUX and not self._done.wait(_SAMPLE_SECONDS):
            tree = descendants(self.root)
            self.most = max(self.most, len(tree))
            self.peak = max(self.peak, sum(map(_memory, tree)))

    def stop(self) -> None:
        """Stop sampling."""
        self._done.set()
        self.join()


def descendants(root: int) -> list[int]:
    """Return the process ids of `root` and everything below it, as /proc tells now."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                after_name = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
                children.setdefault(int(after_name.split()[1]), []).append(int(entry.name))
    tree, front = [root], [root]
    while front:
        front = [child for parent in front for child in children.get(parent, [])]
        tree += front
    return tree


def _memory(process: int) -> int:
    """Return the bytes of memory of a process, its part of shared pages only; 0 once it has gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def folder_bytes(folder: Path) -> int:
    """Return the bytes that the files below a folder take on the disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def filesystem_of(folder: Path) -> str:
    """Return the kind of file system that a folder is on ("unknown" where the system does not tell)."""
    best, kind = "", "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
            _, mount, name, *_ = line.split()
            if Path(mount) in (folder, *folder.parents) and len(mount) >= len(best):
                best, kind = mount, name
    return kind
