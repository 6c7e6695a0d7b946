"""What filing one message in the thread index costs, as the store grows.

`python -m flows.thread_cost [--stored 10000 100000] [--json]` files made-up messages in the ledger's index: a
mail a minute, one fifth of them under ten subjects that everybody uses, a tenth of the replies without headers,
a twentieth days late. At each size it files 2,000 more in batches of 200, as the pipeline does, and 1,000 one by
one, and prints CPU time per message, the mean and the 99th percentile.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles

from models.base import content_hash, shift_key
from models.thread import Node
from stages.thread.config import ThreadPolicy
from stages.thread.place import place
from storage.ledger import Ledger, open_ledger
from storage.thread_index import LedgerThreadIndex

_BATCH = 200
_FILL = 1000
_START = "2020-01-01T00:00:00Z"
_SHARED = [
    "weekly report",
    "invoice",
    "order",
    "question",
    "meeting",
    "周报",
    "会议纪要",
    "報告",
    "update",
    "hello",
]


def make_messages(seed: int) -> Iterator[Node]:
    """Yield rows of messages without end, in the order of arrival: a function of the seed."""
    chance = random.Random(seed)
    recent: list[Node] = []
    late: list[tuple[int, Node]] = []
    for number in range(sys.maxsize):
        node = _make_message(number, chance, recent)
        recent.append(node)
        del recent[:-500]
        if chance.random() < 0.05:
            late.append((number + chance.randrange(4000), node))
        else:
            yield node
        due = [row for row in late if row[0] <= number]
        late = [row for row in late if row[0] > number]
        yield from (row[1] for row in due)


def _make_message(number: int, chance: random.Random, recent: Sequence[Node]) -> Node:
    raw = content_hash(f"{number}".encode())
    said = sorted(chance.getrandbits(48) for _ in range(10))
    parent = chance.choice(recent) if recent and chance.random() < 0.6 else None
    sender = f"p{chance.randrange(3000)}@firm{chance.randrange(300)}.example"
    people = sorted({sender, *(f"p{chance.randrange(3000)}@us.example" for _ in range(2))})
    subject = (
        chance.choice(_SHARED) if chance.random() < 0.2 else f"matter {chance.getrandbits(40):x} in hand"
    )
    quoted: list[int] = []
    refs: list[str] = []
    if parent is not None:
        subject, people = parent.subject_key, parent.people
        sender = chance.choice([one for one in people if one != parent.sender] or people)
        quoted = parent.said
        if chance.random() < 0.9:
            refs = [*parent.refs, parent.msg_id][-10:]
    return Node(
        raw=raw,
        msg_id=f"{number}@x.example",
        identity=raw[7:39],
        content_hash=raw,
        date=shift_key(_START, number / 60),
        own_ids=[f"{number}@x.example"],
        twin_key=f"twin:{number:012} {raw[7:39]}",
        refs=refs,
        parent_ref=refs[-1] if refs else None,
        subject=subject,
        subject_key=subject,
        people=people,
        sender=sender,
        reply_sign=parent is not None,
        tokens=sorted(f"w{chance.randrange(5000)}" for _ in range(40)),
        said=said,
        quoted=quoted,
    )


def measure(sizes: Sequence[int], seed: int = 1) -> Iterator[dict[str, float]]:
    """Yield for each size of the store, in order: `stored`, `mean_ms`, `single_mean_ms`, `p99_ms` (CPU)."""
    messages = make_messages(seed)
    policy = ThreadPolicy(company_domains=["us.example"])
    with tempfile.TemporaryDirectory() as scratch:
        ledger = open_ledger(Path(scratch), None, "cost")
        try:
            stored = 0
            for size in sizes:
                while stored < size:
                    stored += len(_file(ledger, messages, min(_FILL, size - stored), policy)[0])
                batches = [_file(ledger, messages, _BATCH, policy)[1] for _ in range(10)]
                singles = [_file(ledger, messages, 1, policy)[1] for _ in range(1000)]
                stored += 10 * _BATCH + len(singles)
                yield {
                    "stored": size,
                    "mean_ms": round(sum(batches) * 1000 / (10 * _BATCH), 3),
                    "single_mean_ms": round(sum(singles) * 1000 / len(singles), 3),
                    "p99_ms": round(quantiles(singles, n=100)[-1] * 1000, 3),
                }
        finally:
            ledger.close()


def _file(
    ledger: Ledger, messages: Iterator[Node], count: int, policy: ThreadPolicy
) -> tuple[list[Node], float]:
    nodes = [next(messages) for _ in range(count)]
    began = time.process_time()
    with ledger.write() as connection:
        place(nodes, LedgerThreadIndex(connection), policy)
    return nodes, time.process_time() - began


def main() -> int:
    """Print the table; returns 0."""
    parser = argparse.ArgumentParser(description="CPU time of filing one message in the thread index.")
    parser.add_argument("--stored", type=int, nargs="+", default=[10_000, 100_000], help="sizes of the store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object per size")
    options = parser.parse_args()
    for row in measure(sorted(options.stored), options.seed):
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            print(
                f"{row['stored']:>9.0f} stored: {row['mean_ms']:.3f} ms a message in batches of {_BATCH}, "
                f"{row['single_mean_ms']:.3f} ms alone, p99 {row['p99_ms']:.2f} ms",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
