"""Driving the product as a user does: by its command, with a configuration and a state folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from eval.snapshot import Difference, compare, compare_with_ledger, snapshot
from models.schema import schema_of

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "flows.cli")
CLEAN, LOOK, LATER, USAGE, BUSY = 0, 1, 2, 64, 75
OUTCOMES = ("written", "unchanged", "duplicate", "quarantined", "pending")
CONFIG: dict[str, Any] = {"company_domains": ["us.example"], "pipeline": {"processes": 1}}
WITHOUT_ROOT = (
    sys.executable,
    "-c",
    "import ctypes, os, sys; prctl = ctypes.CDLL(None, use_errno=True).prctl\n"
    "if os.geteuid() == 0 and (prctl(24, 1, 0, 0, 0) or prctl(24, 2, 0, 0, 0)): sys.exit('rights cannot be dropped')\n"
    "os.execv(sys.argv[1], sys.argv[1:])",
)
"""Put before a command, it takes root's right to read and write what the file rights forbid (CAP_DAC_OVERRIDE and
CAP_DAC_READ_SEARCH leave the bounding set): tests that run as root see what a user sees."""
HUNG = 300.0
"""Seconds after which a test gives up on a command that does not end; nothing is asserted on it."""


class Ended:
    """A command that ended: exit code, standard output and standard error."""

    def __init__(self, command: object, code: int, out: str, err: str) -> None:
        self.command, self.code, self.out, self.err = command, code, out, err

    @property
    def all(self) -> str:
        """Both outputs with runs of space as one space."""
        return " ".join(f"{self.out} {self.err}".split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        told = f"exit {self.code}\n--- out\n{self.out[-3000:]}\n--- err\n{self.err[-3000:]}"
        return f"{self.command}: {told}"


class Product:
    """The command with a folder of its own: `atlas.toml`, `state/` and whatever a test puts beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"  # a test may move it, and then says so in the configuration
        self.environment: dict[str, str] = {}
        self.prefix: tuple[str, ...] = ()
        self.python_path = str(ROOT)
        folder.mkdir(parents=True, exist_ok=True)
        self.configure()

    def configure(self, **sections: Any) -> None:
        """Write `atlas.toml`: the defaults of the tests, `sections` over them."""
        values = {**CONFIG, **sections}
        tables = {key: value for key, value in values.items() if isinstance(value, dict)}
        lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if key not in tables]
        for name, table in tables.items():
            lines += [
                f"[{name}]",
                *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items()),
            ]
        (self.folder / "atlas.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        """Start the command in its own process group and return it running."""
        return subprocess.Popen(
            [*self.prefix, *COMMAND, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            env=self._environment(environment),
            start_new_session=True,
        )

    def finish(self, running: subprocess.Popen[str], code: int | None = None) -> Ended:
        """Wait for a started command; `code` is the exit code that it must have."""
        try:
            out, err = running.communicate(timeout=HUNG)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            out, err = running.communicate()
        ended = Ended(running.args, running.returncode, out, err)
        assert code is None or ended.code == code, ended
        assert "Traceback (most recent call last)" not in ended.err, ended
        return ended

    def call(self, *arguments: str | Path, code: int | None = CLEAN, **environment: str) -> Ended:
        """Run the command to its end."""
        return self.finish(self.start(*arguments, **environment), code)

    def run(self, *arguments: str | Path, code: int | None = CLEAN, **environment: str) -> dict[str, Any]:
        """Run the pipeline over the sources in `arguments`; returns the report, checked."""
        return self.check(self.call(*arguments, "--json", code=code, **environment))

    def check(self, ended: Ended) -> dict[str, Any]:
        """Return the report that a run printed: valid, balanced, and true of the files on disk."""
        report: dict[str, Any] = ended.json
        validate("report", report)
        assert report["exit_code"] == ended.code, ended
        assert report["balanced"] and report["seen"] == sum(report[name] for name in OUTCOMES), ended
        if ended.code in (CLEAN, LOOK) and not report["dry_run"]:
            assert report["pending"] == 0, ended
            assert compare_with_ledger(self.state) == []
        return report

    def tree(self) -> dict[str, str]:
        """Return all produced files, times of writing left out."""
        return snapshot(self.state)

    def bytes(self) -> dict[str, bytes]:
        """Return all produced files to the byte."""
        return {path: (self.state / path).read_bytes() for path in self.tree()}

    def emails(self) -> dict[str, dict[str, Any]]:
        """Return msg_id → Email of all written messages."""
        paths = (self.state / "extracted").glob("*/*/*.json")
        found = [json.loads(path.read_bytes()) for path in sorted(paths)]
        assert len({email["msg_id"] for email in found}) == len(found)
        return {email["msg_id"]: email for email in found}

    def failed(self) -> dict[str, dict[str, Any]]:
        """Return raw hash → quarantine file."""
        paths = (self.state / "extracted" / "_failed").glob("*.json")
        return {row["raw"]: row for row in (json.loads(path.read_bytes()) for path in sorted(paths))}

    def threads(self) -> dict[str, dict[str, Any]]:
        """Return thread id → thread file."""
        paths = (self.state / "threads").glob("thr-*.json")
        return {path.stem: json.loads(path.read_bytes()) for path in sorted(paths)}

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
        own = {"XDG_CONFIG_HOME": str(self.folder / "no-config"), "PYTHONUTF8": "1", "TZ": "UTC"}
        path = os.pathsep.join(filter(None, [self.python_path, os.environ.get("PYTHONPATH")]))
        return {**kept, **own, "PYTHONPATH": path, **self.environment, **more}


@cache
def _validator(kind: str) -> Any:
    return jsonschema.Draft202012Validator(schema_of(kind))


def validate(kind: str, value: Any) -> None:
    """Fail where a JSON value is not as the published schema of its kind says."""
    errors = [
        f"{'/'.join(map(str, error.path))}: {error.message[:300]}"
        for error in _validator(kind).iter_errors(value)
    ]
    assert errors == [], f"not a valid {kind}"


def json_files(state: Path) -> Iterator[tuple[str, Path]]:
    """Yield kind and path of every JSON file that the product wrote under a state folder."""
    for path in sorted((state / "extracted").rglob("*.json")):
        yield ("quarantine" if path.parent.name == "_failed" else "email"), path
    for path in sorted((state / "threads").glob("*.json")):
        if path.name != "_manual.json":
            yield "thread", path
    for kind, pattern in (("candidate", "customers/UNCLASSIFIED-*.json"), ("report", "runs/*.json")):
        yield from ((kind, path) for path in sorted(state.glob(pattern)))
    yield from (("merges", path) for path in state.glob("people/_to_merge.json"))


def wait_for_mail(product: Product, running: subprocess.Popen[str]) -> None:
    """Return as soon as a started run has stored its first message; it is in the middle of its work then."""
    while running.poll() is None:
        if any((product.state / "raw").glob("*/*.zst")):
            return
        time.sleep(0.002)
    raise AssertionError(product.finish(running))


def assert_equal_trees(expected: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Fail with the first differences unless two trees are equal."""
    rows: list[Difference] = compare(expected, found)
    assert not rows, "\n".join(f"{row.path}: {row.detail}" for row in rows[:8])


def inject(*faults: tuple[str, str, str]) -> dict[str, str]:
    """Return the environment that makes (stage, fault, raw hash) happen."""
    rows = [f"{stage}:{fault}:{raw.removeprefix('blake3:')[:16]}" for stage, fault, raw in faults]
    return {"ATLAS_INJECT": ",".join(rows)}
