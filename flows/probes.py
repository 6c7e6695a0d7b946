"""Stage probes: JSON Lines in, exactly one JSON line out per line, in order (CONTRACTS §3).

Probes compose stages where one needs another, and import nothing that their stage does not need.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flows.probe_lines import Probe, Row, guarded, parsed, print_row
from models.curated import Curated
from models.errors import CorruptInput
from models.message import Address, Decoded

if TYPE_CHECKING:
    from models.config import Settings


def run_probe(options: argparse.Namespace) -> int:
    """Run a probe from standard input to standard output; returns 0 (a broken line is an error line)."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    settings, curated = _settings(options)
    if options.name == "thread":
        from flows.thread_probe import run_thread

        return run_thread(options, settings, curated, sys.stdin, sys.stdout)
    probe = _PROBES[options.name](settings, curated)
    for line in sys.stdin:
        print_row(_answer(line, probe, options.timing), sys.stdout)
    return 0


def _settings(options: argparse.Namespace) -> tuple[Settings, Curated]:
    """Return the settings and curated files; without --config and --state nothing is read from disk."""
    from models.config import load_settings

    settings = load_settings(options.config, state=options.state)
    if options.state is None and options.config is None:
        return settings, Curated()
    from storage.curated import read_curated

    return settings, read_curated(Path(settings.state), settings)


def _answer(line: str, probe: Probe, timing: bool) -> Row:
    row = parsed(line)
    if "error" in row:
        return row
    began = time.perf_counter()
    answer = guarded(row, probe)
    if timing:
        answer["ms"] = round((time.perf_counter() - began) * 1000, 3)
    return answer


def _bytes_of(row: Row) -> bytes:
    if isinstance(row.get("raw_b64"), str):
        return base64.b64decode(row["raw_b64"], validate=False)
    if isinstance(row.get("path"), str):
        try:
            return Path(row["path"]).read_bytes()
        except OSError as error:
            raise CorruptInput(f"{row['path']} cannot be read: {error.strerror}") from error
    raise CorruptInput("the record has neither `raw_b64` nor `path`")


# ---- decode -----------------------------------------------------------------------------------------


def _decode_probe(settings: Settings, curated: Curated) -> Probe:
    from stages.decode import decode, decode_parts
    from stages.decode.config import policy_of

    policy = msgspec.structs.replace(policy_of(settings, curated), body_html=True)

    def probe(row: Row) -> Row:
        raw = _bytes_of(row)
        answer: Row = msgspec.to_builtins(decode(raw, policy))
        if row.get("parts"):
            answer["parts"] = msgspec.to_builtins(decode_parts(raw, policy))
        return answer

    return probe


# ---- dequote ----------------------------------------------------------------------------------------


def _dequote_probe(settings: Settings, curated: Curated) -> Probe:
    from stages.decode import decode
    from stages.decode.config import policy_of as decode_policy
    from stages.dequote import dequote, input_of
    from stages.dequote.config import policy_of

    reading, cutting = decode_policy(settings, curated), policy_of(settings, curated)

    def probe(row: Row) -> Row:
        data = (
            base64.b64decode(row["input_b64"]) if "input_b64" in row else str(row.get("input", "")).encode()
        )
        message = decode(
            data if row.get("kind") == "eml" else _as_mail(data, row.get("kind", "text")), reading
        )
        if isinstance(row.get("from"), dict):
            message.from_ = msgspec.convert(row["from"], Address)
        if isinstance(row.get("lang"), str):
            message.language = row["lang"]
        chosen = {
            key: row[key] for key in ("signature_policy", "signoff_policy", "forward_policy") if key in row
        }
        given = row.get("earlier")
        earlier = [text for text in given if isinstance(text, str)] if isinstance(given, list) else []
        cut = dequote(input_of(message), msgspec.structs.replace(cutting, **chosen), earlier)
        answer: Row = msgspec.to_builtins(cut)
        return answer

    return probe


def _as_mail(body: bytes, kind: str) -> bytes:
    """Return a message around a bare body, so that text and HTML take the way of a real mail."""
    subtype = "html" if kind == "html" else "plain"
    head = (
        f"MIME-Version: 1.0\nContent-Type: text/{subtype}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
    )
    return head.encode() + body


# ---- entities, intent -------------------------------------------------------------------------------


def _entities_probe(settings: Settings, curated: Curated) -> Probe:
    from stages.decode import decode
    from stages.decode.config import policy_of as decode_policy
    from stages.entities import extract_entities, input_of
    from stages.entities.config import policy_of

    reading, policy = decode_policy(settings, curated), policy_of(settings, curated)

    def probe(row: Row) -> Row:
        given = row.get("headers")
        headers: Row = given if isinstance(given, dict) else {}
        message = decode(_head(headers) + b"\n\n.", reading)
        message.subject = str(row.get("subject") or message.subject)
        message.sent_at = row.get("sent") or None
        message.language = row.get("lang") or _language(str(row.get("body_text_clean", "")))
        text = str(row.get("body_text_clean", ""))
        answer: Row = msgspec.to_builtins(extract_entities(input_of(message, text), policy))
        return answer

    return probe


def _head(headers: Row) -> bytes:
    """Return a header section: values as given, one header each, never a new header from inside a value."""
    lines = [b"MIME-Version: 1.0"]
    for name, value in headers.items():
        for one in value if isinstance(value, list) else [value]:
            flat = " ".join(str(one).splitlines()).encode("utf-8", "surrogateescape")
            lines.append(str(name).encode("ascii", "ignore") + b": " + flat)
    return b"\n".join(lines)


def _language(text: str) -> str | None:
    from stages.decode.language import identify

    return identify(text).language


def _intent_probe(settings: Settings, curated: Curated) -> Probe:
    from stages.intent import classify_intent, input_of
    from stages.intent.config import policy_of

    policy = policy_of(settings, curated)

    def probe(row: Row) -> Row:
        text = str(row.get("body_text_clean") or "")
        message = Decoded(
            raw="", msg_id="", subject=str(row.get("subject") or ""), language=row.get("language")
        )
        intent = classify_intent(input_of(message, text), policy)
        answer: Row = msgspec.to_builtins(intent)
        answer["guardrails"] = {"flags": answer.pop("flags")}
        return answer

    return probe


_PROBES: dict[str, Callable[[Settings, Curated], Probe]] = {
    "decode": _decode_probe,
    "dequote": _dequote_probe,
    "entities": _entities_probe,
    "intent": _intent_probe,
}
