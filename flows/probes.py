"""Stage probes: JSON Lines in, exactly one JSON line out per line, in order (CONTRACTS §3).

Probes compose stages where one needs another, and import nothing that their stage does not need.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from models.base import content_hash, digest
from models.curated import Curated
from models.errors import AtlasError, CorruptInput, UsageError
from models.message import Address, Decoded, Dequoted
from models.thread import Node

if TYPE_CHECKING:
    from models.config import Settings
    from stages.thread.config import ThreadPolicy
    from storage.ledger import Ledger

Row = dict[str, Any]
Probe = Callable[[Row], Row]


def run_probe(options: argparse.Namespace) -> int:
    """Run a probe from standard input to standard output; returns 0 (a broken line is an error line)."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    settings, curated = _settings(options)
    if options.name == "thread":
        return _run_thread(options, settings, sys.stdin, sys.stdout)
    probe = _PROBES[options.name](settings, curated)
    for line in sys.stdin:
        _print(_answer(line, probe, options.timing), sys.stdout)
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
    row = _parsed(line)
    if "error" in row:
        return row
    began = time.perf_counter()
    answer = _guarded(row, probe)
    if timing:
        answer["ms"] = round((time.perf_counter() - began) * 1000, 3)
    return answer


def _parsed(line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": {"kind": "corrupt_input", "detail": f"not a JSON line: {error}"}}
    if not isinstance(row, dict):
        return {"id": None, "error": {"kind": "corrupt_input", "detail": "not a JSON object"}}
    row.pop("error", None)
    return row


def _guarded(row: Row, probe: Probe) -> Row:
    ident = row.get("id")
    try:
        return {"id": ident, **probe(row)}
    except AtlasError as error:
        return {"id": ident, "error": {"kind": error.kind, "detail": error.detail, "remedy": error.remedy}}
    except (msgspec.ValidationError, binascii.Error, UnicodeError) as error:
        return {"id": ident, "error": {"kind": "corrupt_input", "detail": str(error)}}
    except Exception as error:  # noqa: BLE001 - one record's defect is one error line
        return {"id": ident, "error": {"kind": "defect", "detail": f"{type(error).__name__}: {error}"}}


def _print(row: Row, out: TextIO) -> None:
    out.write(_json(row) + "\n")
    out.flush()


def _json(row: Row) -> str:
    """Return `row` as JSON on one line, whatever its `id` is: any JSON value comes back as it was given."""
    try:
        return msgspec.json.encode(row).decode()
    except (UnicodeEncodeError, OverflowError):  # half a character, or an integer of more than 64 bits
        return json.dumps(row)
    except RecursionError:
        return _json({"id": None, "error": {"kind": "corrupt_input", "detail": "nested too deeply"}})


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
        cut = dequote(input_of(message), msgspec.structs.replace(cutting, **chosen))
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


# ---- thread -----------------------------------------------------------------------------------------


def _run_thread(options: argparse.Namespace, settings: Settings, lines: Iterable[str], out: TextIO) -> int:
    """File all rows in a thread index (the state's, or one in memory), then answer each with its thread."""
    import tempfile

    from stages.thread.config import policy_of
    from storage.ledger import open_ledger

    with tempfile.TemporaryDirectory() as scratch:
        state = Path(options.state) if options.state else Path(scratch)
        if not state.is_dir():
            raise UsageError(f"state folder {state} does not exist", remedy="create it, or leave --state out")
        ledger = open_ledger(state, settings.ledger_url if options.state else None, settings.tenant)
        try:
            for row in _thread_answers(ledger, list(lines), policy_of(settings, Curated()), options.timing):
                _print(row, out)
        finally:
            ledger.close()
    return 0


def _thread_answers(ledger: Ledger, lines: list[str], policy: ThreadPolicy, timing: bool) -> Iterator[Row]:
    from stages.thread import place, settle
    from storage.thread_index import LedgerThreadIndex

    rows = [_parsed(line) for line in lines]
    nodes: list[Node | None] = []
    began = time.perf_counter()
    for number, row in enumerate(rows):
        if "error" in row:
            nodes.append(None)
            continue
        found = _guarded(row, lambda row: {"node": _node_of(row, policy)})
        if "error" in found:
            rows[number] = found
        nodes.append(found.get("node"))
    present = [node for node in nodes if node is not None]
    answers: dict[str, Row] = {}
    with ledger.write() as connection:
        index = LedgerThreadIndex(connection)
        for start in range(0, len(present), 200):
            place(present[start : start + 200], index, policy)
        homes = index.threads(node.raw for node in present)
        for surrogate in sorted(set(homes.values())):
            members = index.of_threads([surrogate])
            edges = index.soft_edges(node.raw for node in members)
            conversation = settle(members, edges)
            first = {record.key: record.best.raw for record in conversation.records}
            links = {link.key: link for link in conversation.links}
            for record in conversation.records:
                link = links[record.key]
                answer: Row = {
                    "thread_id": conversation.thread_id,
                    "method": link.method,
                    "score": link.score,
                }
                answer["parent"] = first.get(link.parent) if link.parent else None
                for copy in record.copies:
                    answers[copy.raw] = answer
    names = {node.raw: row.get("id") for node, row in zip(nodes, rows, strict=True) if node is not None}
    ms = round((time.perf_counter() - began) * 1000 / max(len(present), 1), 3)
    for node, row in zip(nodes, rows, strict=True):
        if node is None:
            yield row
            continue
        answer = answers[node.raw]
        out = {"id": row.get("id"), **answer, "parent": names.get(answer["parent"])}
        yield {**out, "ms": ms} if timing else out


def _node_of(row: Row, policy: ThreadPolicy) -> Node:
    """Return the index row of a probe record: the same that the pipeline makes of a message."""
    from stages.dequote import dequote, input_of
    from stages.dequote.config import DequotePolicy
    from stages.thread import make_node

    text = str(row.get("body_head") or "")
    key = content_hash(
        msgspec.json.encode([row.get("id"), row.get("message_id"), row.get("date"), text[:200]])
    )
    message = Decoded(
        raw=key,
        msg_id=row.get("message_id")
        or "blake3:" + digest(row.get("from"), row.get("date"), row.get("subject"), text),
        message_id=row.get("message_id"),
        subject=str(row.get("subject") or ""),
        from_=Address(email=str(row.get("from") or "").casefold()),
        to=[Address(email=str(one).casefold()) for one in row.get("to") or []],
        cc=[Address(email=str(one).casefold()) for one in row.get("cc") or []],
        sent_at=row.get("date"),
        in_reply_to=row.get("in_reply_to"),
        references=list(row.get("references") or []),
        thread_index=row.get("thread_index"),
        thread_topic=row.get("thread_topic"),
        list_id=row.get("list_id"),
        category=row.get("category") or "conversation",
        auto_reply=bool(row.get("auto_reply")),
        body_text=text,
    )
    cut: Dequoted = dequote(input_of(message), DequotePolicy())
    node = make_node(message, cut, policy)
    if row.get("provider_thread_id"):
        node.group_key = f"provider:{row['provider_thread_id']}"
    return node
