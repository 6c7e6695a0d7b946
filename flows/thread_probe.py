"""The thread probe: all rows are filed in an index (the state's, or one in memory), then each has its answer."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from flows.probe_lines import Row, guarded, parsed, print_row
from models.base import content_hash, digest
from models.curated import Curated
from models.errors import UsageError
from models.message import Address, Decoded
from models.thread import Node
from stages.dequote import dequote, input_of
from stages.dequote.config import DequotePolicy
from stages.thread import make_node, place, settle
from stages.thread.config import ThreadPolicy, policy_of
from stages.thread.index import ThreadIndex
from stages.thread.memory import MemoryThreadIndex

if TYPE_CHECKING:
    from models.config import Settings

_BATCH = 200  # messages that are filed at once, as in the pipeline


def run_thread(
    options: argparse.Namespace, settings: Settings, curated: Curated, lines: Iterable[str], out: TextIO
) -> int:
    """Answer each line with its thread, after the end of input; returns 0."""
    policy = policy_of(settings, curated)
    rows = [parsed(line) for line in lines]
    if options.state is None:
        answers = answer_rows(rows, MemoryThreadIndex(), policy, options.timing)
    else:
        answers = _answers_in(Path(options.state), settings, rows, policy, options.timing)
    for row in answers:
        print_row(row, out)
    return 0


def _answers_in(
    state: Path, settings: Settings, rows: list[Row], policy: ThreadPolicy, timing: bool
) -> Iterator[Row]:
    from storage.ledger import open_ledger
    from storage.thread_index import LedgerThreadIndex

    if not state.is_dir():
        raise UsageError(f"state folder {state} does not exist", remedy="create it, or leave --state out")
    ledger = open_ledger(state, settings.ledger_url, settings.tenant)
    try:
        with ledger.write() as connection:
            yield from answer_rows(rows, LedgerThreadIndex(connection), policy, timing)
    finally:
        ledger.close()


def answer_rows(
    rows: Sequence[Row], index: ThreadIndex, policy: ThreadPolicy, timing: bool = False
) -> Iterator[Row]:
    """Yield the answer to each row, in order: `id, thread_id, parent, method, score`, or its error."""
    began = time.perf_counter()
    made = [
        row if "error" in row else guarded(row, lambda row: {"node": node_of(row, policy)}) for row in rows
    ]
    present = [row["node"] for row in made if "node" in row]
    for start in range(0, len(present), _BATCH):
        place(present[start : start + _BATCH], index, policy)
    answers = _answers(present, index)
    names = {row["node"].raw: row["id"] for row in made if "node" in row}
    ms = round((time.perf_counter() - began) * 1000 / max(len(present), 1), 3)
    for row in made:
        if "node" not in row:
            yield row
            continue
        answer = answers[row["node"].raw]
        out = {"id": row["id"], **answer, "parent": names.get(answer["parent"])}
        yield {**out, "ms": ms} if timing else out


def _answers(nodes: Sequence[Node], index: ThreadIndex) -> dict[str, Row]:
    answers: dict[str, Row] = {}
    for surrogate in sorted(set(index.threads(node.raw for node in nodes).values())):
        members = index.of_threads([surrogate])
        edges = index.soft_edges(node.raw for node in members)
        twins = index.twins(sorted({node.msg_id for node in members}))
        conversation = settle(members, edges, twins=twins)
        first = {record.key: record.best.raw for record in conversation.records}
        for record, link in zip(conversation.records, conversation.links, strict=True):
            answer: Row = {
                "thread_id": conversation.thread_id,
                "method": link.method,
                "score": link.score,
                "parent": first[link.parent] if link.parent else None,
            }
            answers.update((copy.raw, answer) for copy in record.copies)
    return answers


def node_of(row: Row, policy: ThreadPolicy) -> Node:
    """Return the index row of a probe record: the same that the pipeline makes of a message."""
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
    node = make_node(message, dequote(input_of(message), DequotePolicy()), policy)
    if row.get("provider_thread_id"):
        node.group_keys = sorted([*node.group_keys, f"provider:{row['provider_thread_id']}"])
    return node
