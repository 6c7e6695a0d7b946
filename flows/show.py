"""The commands that show and mend: status, explain, path, thread show, quarantine, unclustered."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

import stages
from flows.explain import explain_email
from flows.summary import balance_sheet, quarantine_sentence
from flows.terminal import say
from flows.thread_edit import join_threads, sentence_of, split_thread
from models.config import load_settings
from models.errors import UsageError
from models.report import QuarantineFile
from models.thread import ThreadFile, ThreadMember
from storage import quarantine, schema, work
from storage.files import Publisher, want_all
from storage.ledger import Ledger, count_rows, open_ledger
from storage.lookup import find_message, is_held, read_email, read_thread
from storage.runs import last_report

_FIRST_WORDS = 60


@contextmanager
def _ledger(options: argparse.Namespace) -> Iterator[tuple[Ledger, Path]]:
    """Yield the ledger of the state folder and the folder. Raises UsageError where there is none."""
    settings = load_settings(options.config, state=options.state)
    state = Path(settings.state).absolute()
    if settings.ledger_url is None and not (state / "ledger.db").exists():
        raise UsageError(
            f"there is no state in {state}", remedy="run atlas-extract --source PATH first, or give --state"
        )
    ledger = open_ledger(state, settings.ledger_url, settings.tenant)
    try:
        yield ledger, state
    finally:
        ledger.close()


def show_status(options: argparse.Namespace) -> int:
    """Print what the state holds and the last balance."""
    with _ledger(options) as (ledger, state):
        with ledger.read() as connection:
            counts = {
                "messages": count_rows(connection, schema.record),
                "threads": connection.execute(
                    select(func.count()).where(schema.thread.c.public_id.is_not(None))
                ).scalar_one(),
                "copies": count_rows(connection, schema.location),
                "quarantined": count_rows(connection, schema.quarantine),
                "pending": connection.execute(
                    select(func.count()).where(schema.work.c.status == "pending")
                ).scalar_one(),
                "unclustered": connection.execute(
                    select(func.count()).where(schema.record.c.unclustered)
                ).scalar_one(),
            }
        report = last_report(ledger)
    if options.json:
        _print_json({"state": str(state), **counts, "last_run": msgspec.to_builtins(report)})
        return 0
    say(f"state {state}")
    for name, count in counts.items():
        say(f"  {name:<12} {count:>7}")
    say(balance_sheet(report, options) if report else "no run has ended yet")
    return 0


def show_explain(options: argparse.Namespace) -> int:
    """Print why a message became what it is; returns 1 where it is held or not finished."""
    with _ledger(options) as (ledger, _), ledger.read() as connection:
        found = find_message(connection, options.message)
        email = read_email(connection, found)
        if email is None:
            return _explain_unfinished(connection, found.raw, options)
        sentences = explain_email(email, read_thread(connection, email.thread_id))
    if options.json:
        _print_json({"msg_id": email.msg_id, "path": found.path, "sentences": sentences})
    else:
        say("\n".join(sentences))
    return 0


def _explain_unfinished(connection: Connection, raw: str, options: argparse.Namespace) -> int:
    rows = [row for row, _ in quarantine.listing(connection) if row.raw == raw]
    text = quarantine_sentence(rows[0]) if rows else f"{raw} is stored but not finished: run again"
    if options.json:
        _print_json({"raw": raw, "sentences": text.splitlines()})
    else:
        say(text)
    return 1


def show_path(options: argparse.Namespace) -> int:
    """Print where a message's file is."""
    with _ledger(options) as (ledger, state), ledger.read() as connection:
        found = find_message(connection, options.message)
    if options.json:
        _print_json({"msg_id": found.key, "path": found.path, "raw": found.raw})
    else:
        say(str(state / found.path))
    return 0


def show_thread(options: argparse.Namespace) -> int:
    """Print a conversation as a tree, or note that conversations are to be split or joined."""
    if options.action != "join" and len(options.names) > 1:
        raise UsageError(f"thread {options.action} takes one name", remedy="name one thread or message")
    if options.action != "show":
        return _edit_threads(options)
    with _ledger(options) as (ledger, _), ledger.read() as connection:
        thread = read_thread(connection, options.names[0])
        words = {}
        for member in thread.members:
            email = read_email(connection, find_message(connection, member.msg_id))
            words[member.msg_id] = " ".join(email.body_text_clean.split()) if email else ""
    if options.json:
        _print_json(msgspec.to_builtins(thread))
        return 0
    say(f"{thread.thread_id}  {thread.subject}")
    say(
        f"{len(thread.members)} messages, {thread.first_date} to {thread.last_date}, {len(thread.participants)} people"
    )
    for line in thread_tree(thread, words):
        say(line)
    return 0


def _edit_threads(options: argparse.Namespace) -> int:
    with _ledger(options) as (ledger, state), ledger.read() as connection:
        if options.action == "join":
            entry = join_threads(connection, state, options.names)
        else:
            entry = split_thread(connection, state, options.names[0])
    if options.json:
        _print_json({"action": options.action, "messages": entry.join or entry.split})
    else:
        say(sentence_of(entry))
    return 0


def thread_tree(thread: ThreadFile, words: dict[str, str]) -> list[str]:
    """Return the lines of a tree: who, when, how linked, first words."""
    children: dict[str | None, list[ThreadMember]] = {}
    for member in thread.members:
        children.setdefault(member.parent, []).append(member)
    lines: list[str] = []
    stack = [(member, 0) for member in reversed(children.get(None, []))]
    while stack:
        member, depth = stack.pop()
        text = words.get(member.msg_id, "")
        shown = text if len(text) <= _FIRST_WORDS else text[: _FIRST_WORDS - 1] + "…"
        how = member.method if not member.guess else f"{member.method}, a guess, {member.score:g}"
        lines.append(f"{'  ' * depth}- {(member.date or 'undated')[:16]} {member.sender} [{how}] {shown}")
        stack += [(child, depth + 1) for child in reversed(children.get(member.msg_id, []))]
    return lines


def manage_quarantine(options: argparse.Namespace) -> int:
    """List or show what is held, or note that it is to be retried or dismissed."""
    with _ledger(options) as (ledger, state):
        with ledger.read() as connection:
            rows = quarantine.listing(connection)
        if options.action == "list":
            return _list_quarantine(rows, options)
        chosen = _chosen(ledger, rows, options)
        if options.action == "show":
            shown = [row for row, _ in rows if row.raw in chosen]
            if options.json:
                _print_json(msgspec.to_builtins(shown))
            else:
                say("\n\n".join(quarantine_sentence(row) for row in shown))
            return 0
        with ledger.write() as connection:
            if options.action == "retry":
                count = work.retry(connection, chosen)
                quarantine.dismiss(connection, chosen, dismissed=False)
            else:
                count = quarantine.dismiss(connection, chosen)
                want_all(connection, {raw: [] for raw in chosen})
        Publisher(state, ledger).publish()
    said = (
        "will be tried again by the next run"
        if options.action == "retry"
        else "dismissed; `retry` brings them back"
    )
    if options.json:
        _print_json({"action": options.action, "messages": sorted(chosen)})
    else:
        say(f"{count} {said}")
    return 0


def _list_quarantine(rows: list[tuple[QuarantineFile, bool]], options: argparse.Namespace) -> int:
    if options.json:
        _print_json([{**msgspec.to_builtins(row), "dismissed": dismissed} for row, dismissed in rows])
        return 0
    if not rows:
        say("nothing is in quarantine")
    for row, dismissed in rows:
        place = f"{row.locations[0].account}: {row.locations[0].uid}" if row.locations else ""
        mark = " (dismissed)" if dismissed else ""
        say(f"{row.raw.removeprefix('blake3:')[:12]}  {row.kind:<19} {place}  {row.detail}{mark}")
    return 0


def _chosen(
    ledger: Ledger, rows: list[tuple[QuarantineFile, bool]], options: argparse.Namespace
) -> list[str]:
    known = [row.raw for row, _ in rows]
    if options.all:
        return known
    if not options.messages:
        if options.action == "show":
            return known
        raise UsageError(f"quarantine {options.action}: which messages?", remedy="name them, or give --all")
    chosen = []
    with ledger.read() as connection:
        for name in options.messages:
            raw = find_message(connection, name).raw
            if not is_held(connection, raw):
                raise UsageError(f"`{name}` is not in quarantine", remedy="see atlas-extract quarantine list")
            chosen.append(raw)
    return chosen


def show_unclustered(options: argparse.Namespace) -> int:
    """Print the messages whose text could not be read and that are in no thread."""
    record = schema.record.c
    with _ledger(options) as (ledger, _), ledger.read() as connection:
        rows = connection.execute(
            select(record.key, record.path).where(record.unclustered).order_by(record.key)
        ).all()
    if options.json:
        _print_json([{"msg_id": key, "path": path} for key, path in rows])
        return 0
    for key, path in rows:
        say(f"{key}  {path}")
    if not rows:
        say("every message could be read or stands in a thread")
    return 0


def print_versions() -> int:
    """Print the version of the program, of the rules, and of each stage."""
    say(f"atlas-extract {version('atlas-extract')}, rules {stages.extraction_version()}")
    for name in stages.NAMES:
        say(f"  {name} {stages.version(name)}")
    return 0


def _print_json(value: Any) -> None:
    say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "status": show_status,
    "explain": show_explain,
    "path": show_path,
    "thread": show_thread,
    "quarantine": manage_quarantine,
    "unclustered": show_unclustered,
}
