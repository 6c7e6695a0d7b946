"""Small disks that a test can fill: tmpfs mounts, by root or in a user namespace of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


class Disks:
    """Mounts and unmounts small disks. Where the user is not root, they live in a namespace that is reached
    through /proc, so that the product sees them as ordinary folders."""

    def __init__(self) -> None:
        self._mounted: list[str] = []
        self._enter: list[str] = []
        self._root = Path("/")
        self._holder: subprocess.Popen[bytes] | None = None
        if os.geteuid() != 0:
            self._hold_namespace()

    def mount(self, path: Path, kilobytes: int, *, read_only: bool = False) -> Path:
        """Mount a disk of so many kilobytes at `path` and return the path under which it is seen."""
        path.mkdir(parents=True, exist_ok=True)
        options = f"{'ro,' if read_only else ''}size={kilobytes}k,mode=700"
        self._do("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path))
        self._mounted.append(str(path))
        return self._root / path.relative_to("/")

    def close(self) -> None:
        for path in reversed(self._mounted):
            subprocess.run([*self._enter, "umount", "--lazy", path], check=True)
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()

    def _hold_namespace(self) -> None:
        command = [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            "echo ready; exec sleep 600",
        ]
        try:
            self._holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError:
            pytest.skip("no small disk: needs root, or unshare (util-linux)")
        assert self._holder.stdout is not None
        if not self._holder.stdout.readline():
            pytest.skip("no small disk: needs root, or a system that allows user namespaces")
        self._root = Path(f"/proc/{self._holder.pid}/root")
        self._enter = [
            "nsenter",
            "--target",
            str(self._holder.pid),
            "--user",
            "--mount",
            "--preserve-credentials",
        ]

    def _do(self, *command: str) -> None:
        done = subprocess.run([*self._enter, *command], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no small disk: {done.stderr.strip()}")


def fill(disk: Path, left: int) -> None:
    """Leave so many kilobytes free on a disk."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    status = os.statvfs(disk)
    if (size := status.f_bavail * status.f_frsize - left * 1024) > 0:
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
