"""What a person wants to see after a first run, as text: the demo's pages."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size

from models.email import Email
from models.report import CandidateFile, MergeProposal

WIDTH = 100
SHOWN_MAIL = "INBOX/029-complaint.eml"
_HEADERS = ("From:", "To:", "Cc:", "Subject:", "Date:", "Message-ID:", "In-Reply-To:", "Content-Type:")


def show_tour(state: Path, mailbox: Path, emails: Sequence[Email], printed: Mapping[str, str]) -> str:
    """Return the whole tour. `printed` is what the command itself said: `sheet`, `tree`, `held`."""
    balance = ("1. The balance: every mail stands in exactly one line", printed["sheet"].splitlines())
    shown = shown_email(emails)
    if shown is None:
        return "\n".join(balance[1])
    pages = [
        balance,
        ("2. One conversation, with how each mail found its place", _clipped(printed["tree"].splitlines())),
        (f"3. One mail as it came in ({SHOWN_MAIL}) …", raw_head(mailbox / SHOWN_MAIL)),
        ("… and what was made of it (the telling fields)", render_json(telling_fields(shown)).splitlines()),
        ("4. What was found", found_table(state, emails)),
        ("5. The mails that could not be taken, and why", printed["held"].rstrip().splitlines()),
        ("6. Where things are", where_lines(state)),
        ("7. What to try next", next_lines(state)),
    ]
    return "\n".join(line for title, lines in pages for line in ["", title, "-" * cell_len(title), *lines])


def shown_email(emails: Iterable[Email]) -> Email | None:
    """Return the record of the mail that is shown, None where it did not get through."""
    return next((one for one in emails if any(place.uid == SHOWN_MAIL for place in one.locations)), None)


def raw_head(path: Path) -> list[str]:
    """Return the telling headers of a raw mail and the first lines of its body, as they stand in the file."""
    head, _, body = path.read_bytes().replace(b"\r\n", b"\n").decode("ascii", "replace").partition("\n\n")
    lines = [line for line in _unfolded(head) if line.startswith(_HEADERS)]
    body_lines = [line for line in body.splitlines() if line.strip()]
    return [*_clipped(lines), "", *body_lines[:7], f"… {len(body_lines) - 7} more lines"]


def _unfolded(head: str) -> list[str]:
    lines: list[str] = []
    for line in head.splitlines():
        if line[:1].isspace() and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def telling_fields(email: Email) -> dict[str, Any]:
    """Return a part of the record for reading; the file has every field of docs/email.md."""
    full = msgspec.to_builtins(email)
    entities, intent, audit = full["entities"], full["intent"], full["rule_audit"]
    text = " ".join(email.body_text_clean.split())
    return {
        **{key: full[key] for key in ("msg_id", "thread_id", "sent_at", "from", "subject", "language")},
        "body_text_clean": _clipped([text], 140)[0],
        "entities": {
            "dates": _parts(entities["dates"], "text", "iso", "rule"),
            "amounts": _parts(entities["amounts"], "text", "value", "currency", "approx"),
            "project_keywords": entities["project_keywords"],
            "internal_people": entities["internal_people"],
            "external_people": entities["external_people"],
            "customer_id_candidate": entities["customer_id_candidate"],
        },
        "intent": {
            **{key: intent[key] for key in ("primary", "secondary", "confidence", "method")},
            "ranking": intent["ranking"][:3],
        },
        "low_confidence": full["low_confidence"],
        "segments": [
            {"kind": one["kind"], "start": one["start"], "end": one["end"], "rule": one["rule"]}
            for one in full["segments"]
        ],
        "rule_audit": {key: audit[key] for key in ("dequote_strategy", "thread_method", "customer_receipt")},
    }


def _parts(rows: Iterable[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{key: row[key] for key in keys} for row in rows]


def render_json(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return JSON that keeps on one line what fits there; `before` columns of the first line are taken."""
    flat = json.dumps(value, ensure_ascii=False)
    if cell_len(flat) + before < WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner, pad = indent + 2, "\n" + " " * (indent + 2)
    if isinstance(value, list):
        return (
            "[" + ",".join(pad + render_json(one, inner, inner) for one in value) + "\n" + " " * indent + "]"
        )
    parts = []
    for key, one in value.items():
        name = json.dumps(key, ensure_ascii=False) + ": "
        parts.append(pad + name + render_json(one, inner, inner + cell_len(name)))
    return "{" + ",".join(parts) + "\n" + " " * indent + "}"


def found_table(state: Path, emails: Sequence[Email]) -> list[str]:
    """Return what the run found, in a few rows: languages, intents, customers, amounts, dates, candidates."""
    names = _customer_names(state)
    customers = Counter(email.entities.customer_id_candidate for email in emails)
    rows = [
        ("messages", f"{len(emails)} in {len({email.thread_id for email in emails})} threads"),
        ("languages", _counts(Counter(email.language or "none" for email in emails))),
        ("kinds of mail", _counts(Counter(email.category for email in emails))),
        ("intents", _counts(Counter(email.intent.primary for email in emails))),
        ("", f"of these {sum(email.low_confidence for email in emails)} too unsure to say: shown as 通知"),
        ("customers", _counts(Counter({names.get(key or "", "none"): n for key, n in customers.items()}))),
        *_amount_rows(emails),
        *_date_rows(emails),
        *_candidate_rows(state),
    ]
    return [f"{name:<14} {value}".rstrip() for name, value in rows]


def _customer_names(state: Path) -> dict[str, str]:
    known = json.loads((state / "customers" / "domain_map.json").read_text(encoding="utf-8"))
    return {key: f"{key} {row['name']}" for key, row in known.get("customers", {}).items()}


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())


def _amount_rows(emails: Sequence[Email]) -> list[tuple[str, str]]:
    amounts = [(amount, email) for email in emails for amount in email.entities.amounts]
    rows = [("amounts", f"{len(amounts)}; the largest of each currency:")]
    largest = {
        amount.currency: (amount, email) for amount, email in sorted(amounts, key=lambda row: row[0].value)
    }
    for currency, (amount, email) in sorted(largest.items(), key=lambda row: row[0] or "~"):
        rows.append(("", f"{amount.text} = {amount.value:,.10g} {currency}  ({_title(email)})"))
    return rows


def _date_rows(emails: Sequence[Email]) -> list[tuple[str, str]]:
    """Return how many dates there are, and for each language one that had to be worked out."""
    count = sum(len(email.entities.dates) for email in emails)
    rows = [("dates", f"{count}; some that had to be worked out:")]
    seen = set()
    for email in emails:
        for date in email.entities.dates:
            if email.language in seen or any(char.isdigit() for char in date.text) or len(date.text) < 3:
                continue
            seen.add(email.language)
            since = f"{date.iso_start} to " if date.iso_start else ""
            rows.append(
                (
                    "",
                    f"{date.text} = {since}{date.iso}  (sent {(email.sent_at or '')[:10]}, {email.language})",
                )
            )
    return rows


def _candidate_rows(state: Path) -> list[tuple[str, str]]:
    """Return what waits for a person: domains that may be customers, addresses that may be one person."""
    rows = []
    for path in sorted((state / "customers").glob("UNCLASSIFIED-*.json")):
        one = msgspec.json.decode(path.read_bytes(), type=CandidateFile)
        rows.append(("", f"customer? {one.domain}: {one.messages} messages, {', '.join(one.people[:2])}"))
    merges = state / "people" / "_to_merge.json"
    if merges.exists():
        for pair in msgspec.json.decode(merges.read_bytes(), type=list[MergeProposal]):
            rows.append(("", f"one person? {pair.a} and {pair.b}: {'; '.join(pair.reasons)}"))
    if rows:
        rows[0] = ("to confirm", rows[0][1])
    return rows


def _title(email: Email) -> str:
    return (
        email.subject_normalized
        if len(email.subject_normalized) <= 30
        else email.subject_normalized[:29] + "…"
    )


def where_lines(state: Path) -> list[str]:
    """Return where the files of a state folder are."""
    return [
        f"state folder: {shown_path(state)}",
        "  extracted/YYYY-MM/<thread>/<message>.json   one file per mail",
        "  extracted/_failed/                          those in quarantine, and why",
        "  threads/<thread>.json                       one file per conversation",
        "  runs/<run>.json                             the report of every run",
        "yours to edit there; the next run makes anew what depends on it:",
        "  people/aliases.json   customers/domain_map.json   keywords/seeds.txt",
    ]


def next_lines(state: Path) -> list[str]:
    """Return commands to go on with: on the demo's state, then on one's own mail."""
    command, base = shown_command(), shown_path(state)
    return [
        f"{command} explain {SHOWN_MAIL} --state {base}",
        f"{command} quarantine show --state {base}",
        "",
        "Your own mail is only read, never changed, and nothing leaves this machine:",
        "",
        f"{command} --source PATH --state mystate",
        "",
        "PATH is a Maildir, an mbox file, a folder of .eml files, or one .eml file. First try --dry-run, or",
        "--limit 200. A file atlas.toml where you run it tells who you are:",
        "",
        'company_domains = ["your.domain"]',
    ]


def shown_command() -> str:
    """Return how to call the command from here: by the path of this environment when it lies below."""
    script = Path(sys.executable).parent / "atlas-extract"
    return shown_path(script) if script.exists() else "atlas-extract"


def shown_path(path: Path) -> str:
    """Return `path` relative to the current folder where it lies below it."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _clipped(lines: Iterable[str], width: int = WIDTH) -> list[str]:
    return [
        line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…" for line in lines
    ]
