"""What a state root looks like from outside: its files, times of writing left out, and its ledger.

Only the files that users read and the ledger's table of published files are looked at, as any other program
could.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from models.base import Record

ALWAYS_NEW = ("extracted_at",)
NEW_WHEN_FAILED = ("first_seen", "tries")


class Difference(Record):
    """One file that is not as it should be, what is wrong, and the mails it is about."""

    path: str
    detail: str
    mails: list[str] = []


def snapshot(state: Path) -> dict[str, str]:
    """Return relative path → content of every file that the pipeline makes, times of writing left out."""
    return {path: _content(state / path) for path in produced_files(state)}


def exact_snapshot(state: Path) -> dict[str, str]:
    """Return relative path → hash of the bytes and time of change, to see that nothing was rewritten."""
    rows = {}
    for path in produced_files(state):
        data = (state / path).read_bytes()
        rows[path] = f"{hashlib.sha256(data).hexdigest()} {(state / path).stat().st_mtime_ns}"
    return rows


def produced_files(state: Path) -> list[str]:
    """Return the sorted relative paths of extracted mail, threads and proposals, stray temporary ones too."""
    found = [*_below(state / "extracted"), *_below(state / "threads")]
    found += (state / "people").glob("_to_merge.json")
    found += (state / "customers").glob("UNCLASSIFIED-*")
    return sorted(path.relative_to(state).as_posix() for path in found if path.name != "_manual.json")


def compare(expected: Mapping[str, str], found: Mapping[str, str]) -> list[Difference]:
    """Return one Difference per file that is missing, extra or has other content; empty when equal."""
    rows = []
    for path in sorted(expected.keys() | found.keys()):
        if expected.get(path) == found.get(path):
            continue
        if path not in found:
            detail = "missing here, present in the reference"
        elif path not in expected:
            detail = "not in the reference"
        else:
            detail = _short_diff(expected[path], found[path])
        rows.append(
            Difference(path=path, detail=detail, mails=_mails(found.get(path, expected.get(path, ""))))
        )
    return rows


def compare_with_ledger(state: Path) -> list[Difference]:
    """Return where the table `published` of the ledger and the files on disk disagree."""
    try:
        published = published_digests(state)
    except sqlite3.Error as error:
        return [Difference(path="ledger.db", detail=f"cannot be read: {error}")]
    rows = []
    on_disk = set(produced_files(state))
    for path in sorted(published.keys() | on_disk):
        if path not in on_disk and not (state / path).exists():
            rows.append(Difference(path=path, detail="published by the ledger, missing on disk"))
        elif path not in published:
            rows.append(Difference(path=path, detail="on disk, unknown to the ledger"))
        elif not published[path]:
            rows.append(Difference(path=path, detail="the ledger still says that it is being written"))
    return rows


def published_digests(state: Path) -> dict[str, str]:
    """Return the ledger's table `published` as path → digest. Raises sqlite3.Error if it is unreadable."""
    with closing(sqlite3.connect(f"file:{state / 'ledger.db'}?mode=ro", uri=True)) as ledger:
        return dict(ledger.execute("SELECT path, digest FROM published"))


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())


def _content(path: Path) -> str:
    data = path.read_bytes()
    try:
        value: Any = json.loads(data)
    except ValueError:
        return f"not JSON, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"
    if isinstance(value, dict):
        failed = path.parent.name == "_failed"
        for key in ALWAYS_NEW + (NEW_WHEN_FAILED if failed else ()):
            value.pop(key, None)
    return json.dumps(value, ensure_ascii=False, indent=1)


def _short_diff(expected: str, found: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), n=0, lineterm="")
    changed = [
        line.strip()[:150] for line in lines if line[:3] not in ("---", "+++", "@@ ") and line[:2] != "@@"
    ]
    more = f" … and {len(changed) - 4} more lines" if len(changed) > 4 else ""
    return " | ".join(changed[:4]) + more


def _mails(content: str) -> list[str]:
    """Return `account/uid` of the mails that a file is about, or message ids where it names no places."""
    try:
        value = json.loads(content)
    except ValueError:
        return []
    if not isinstance(value, dict):
        return []
    places = value.get("locations") or []
    if places:
        return [f"{place.get('account')}/{place.get('uid')}" for place in places]
    return [str(member.get("msg_id")) for member in value.get("members") or [] if isinstance(member, dict)]
