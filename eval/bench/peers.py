"""The peers: installed on request, each in an environment of its own, and run as programs."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from eval.bench.measure import run_measured
from eval.bench.records import Cutting, Reading
from eval.scoring.dequote import MEASURES, compare_clean, probe_row
from eval.scoring.intervals import summed
from eval.scoring.probe import ask_stage
from eval.scoring.records import Row, Unit
from eval.scoring.text import input_text

_PROGRAM = Path(__file__).with_name("peer_programs.py")
_PATIENCE = 1800  # seconds for one peer
_ABSENT = "not installed: make bench-peers"


def peer_rows(kind: str) -> list[dict[str, Any]]:
    """Return the rows of peers.toml of one kind: `python` or `command`."""
    table = tomllib.loads((resources.files("eval.bench") / "peers.toml").read_text("utf-8"))
    rows: list[dict[str, Any]] = table[kind]
    return rows


def install_peers(home: Path) -> Iterator[tuple[str, str]]:
    """Install every Python peer that is not there; yield (name, "" or why it does not install)."""
    for peer in peer_rows("python"):
        folder = home / peer["name"]
        done, reason = folder / ".installed", folder / ".reason"
        if done.is_file() and done.read_text(encoding="utf-8") == peer["requirement"]:
            yield peer["name"], ""
            continue
        venv.create(folder, with_pip=True, clear=True)
        command = [str(_python_of(folder)), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        tried = subprocess.run(
            [*command, *peer["requirement"].split()], capture_output=True, encoding="utf-8", check=False
        )
        if tried.returncode:
            errors = [line for line in tried.stderr.splitlines() if line.startswith("ERROR")]
            why = (errors or tried.stderr.strip().splitlines() or ["pip gives no reason"])[-1][:200]
            reason.write_text(why, encoding="utf-8")
            yield peer["name"], why
        else:
            done.write_text(peer["requirement"], encoding="utf-8")
            yield peer["name"], ""


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _absence(home: Path, peer: Mapping[str, Any]) -> str:
    """Return why a peer cannot run; empty where it can."""
    folder = home / peer["name"]
    if (folder / ".installed").is_file():
        return ""
    reason = folder / ".reason"
    return f"does not install: {reason.read_text(encoding='utf-8')}" if reason.is_file() else _ABSENT


def read_with_peers(home: Path, maildir: Path, mails: int, names: Sequence[str]) -> Iterator[Reading]:
    """Yield what each program for reading mail takes over the mails of the corpus, the standard library first."""
    yield _read(
        "floor", Path(sys.executable), maildir, mails, "standard library, compat32: parse, walk, decode texts"
    )
    for peer in peer_rows("python"):
        if peer["job"] != "decode" or (names and peer["name"] not in names):
            continue
        if absent := _absence(home, peer):
            yield Reading(name=peer["name"], absent=absent)
            continue
        python, most = _python_of(home / peer["name"]), min(mails, peer.get("at_most", mails))
        yield _read(peer["name"], python, maildir, most, peer.get("note", ""))


def _read(name: str, python: Path, maildir: Path, mails: int, note: str) -> Reading:
    found = _answers([str(python), str(_PROGRAM), "decode", name, str(maildir), str(mails)])
    if isinstance(found, str):
        return Reading(name=name, absent=found)
    row = found[-1]
    return Reading(
        name=name, mails=row["mails"], cpu=row["cpu"], wall=row["wall"], failed=row["failed"], note=note
    )


def _answers(command: list[str]) -> list[dict[str, Any]] | str:
    """Return the JSON lines that a peer's program prints, or why there are none."""
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {_PATIENCE} s"
    rows = [json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")]
    if done.returncode or not rows:
        return "failed: " + (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
    return rows


def index_with_commands(maildir: Path, work: Path, mails: int, names: Sequence[str]) -> Iterator[Reading]:
    """Yield what indexing and threading the whole mailbox takes the mail indexers that are installed."""
    for peer in peer_rows("command"):
        name = peer["name"]
        if names and name not in names:
            continue
        program = shutil.which(name)
        if program is None:
            yield Reading(name=name, absent=f"not installed: apt-get install {peer['debian']}")
            continue
        home = work / name
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        environment = dict(os.environ)
        if name == "notmuch":
            config = home / "config"
            config.write_text(
                f"[database]\npath={home}\nmail_root={maildir}\n[user]\nname=b\nprimary_email=b@us.example\n"
                "[new]\ntags=new\n",
                encoding="utf-8",
            )
            environment["NOTMUCH_CONFIG"] = str(config)
            command = [program, "new", "--quiet"]
        else:
            subprocess.run(
                [program, "init", f"--muhome={home}", f"--maildir={maildir}"],
                capture_output=True,
                check=False,
            )
            command = [program, "index", "--quiet", f"--muhome={home}"]
        cost = run_measured(command, env=environment)
        shutil.rmtree(home, ignore_errors=True)
        if cost.exit_code:
            yield Reading(name=name, absent=f"failed: exit code {cost.exit_code}")
        else:
            yield Reading(
                name=name, mails=mails, cpu=cost.cpu, wall=cost.wall, note="parses, indexes and threads"
            )


def cut_with_peers(home: Path, rows: list[Row], work: Path, names: Sequence[str]) -> Iterator[Cutting]:
    """Yield how right and how fast each quote parser is on labelled rows, the product first.

    Peers get HTML and whole mails as text, and have no options for the rows' policies.
    """
    answers = ask_stage("dequote", map(probe_row, rows))
    yield _scored("atlas-extract", rows, answers)
    file = work / "labelled.jsonl"
    texts = [{"id": row["id"], "text": input_text(probe_row(row))} for row in rows]
    file.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    for peer in peer_rows("python"):
        if peer["job"] != "dequote" or (names and peer["name"] not in names):
            continue
        if absent := _absence(home, peer):
            yield Cutting(name=peer["name"], absent=absent)
            continue
        found = _answers(
            [str(_python_of(home / peer["name"])), str(_PROGRAM), "dequote", peer["name"], str(file)]
        )
        if isinstance(found, str):
            yield Cutting(name=peer["name"], absent=found)
        else:
            scored = _scored(peer["name"], rows, {str(one["id"]): one for one in found})
            scored.note = peer.get("note", "")
            yield scored


def _scored(name: str, rows: list[Row], answers: Mapping[str, Row]) -> Cutting:
    units = []
    for row in rows:
        accepted = [row["expected_clean"], *row.get("also_ok", [])]
        counts, _ = compare_clean(
            probe_row(row), accepted, str(answers.get(row["id"], {}).get("clean") or "")
        )
        units.append(Unit(id=row["id"], counts=counts))
    totals = summed(units)
    figures = {measure.name: measure.value(totals) or 0.0 for measure in MEASURES}
    return Cutting(
        name=name,
        rows=len(rows),
        exact=figures["exact"],
        lost=figures["lost"],
        left=figures["left"],
        ms=statistics.median(float(answer.get("ms", 0.0)) for answer in answers.values()),
        failed=sum("failed" in answer or "error" in answer for answer in answers.values()),
    )
