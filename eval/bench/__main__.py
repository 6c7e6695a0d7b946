"""`python -m eval.bench` (`make bench`): the product on a made-up mailbox, beside its peers."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from eval.bench.corpus import make_corpus
from eval.bench.measure import filesystem_of
from eval.bench.peers import cut_with_peers, index_with_commands, install_peers, read_with_peers
from eval.bench.product import ROOT, run_product
from eval.bench.records import SCHEMA, BenchReport, Cutting, Reading
from eval.bench.show import bench_text
from eval.scoring.sets import read_set
from models.errors import AtlasError
from stages import extraction_version


def main() -> int:
    """Run the benchmark; returns 0, or 1 where the product's run was not clean."""
    wish = _parser().parse_args()
    home = Path(wish.home).absolute()
    peers = home / "peers"
    if wish.install_peers:
        for name, reason in install_peers(peers):
            print(f"{name}: {reason or 'installed'}")
        return 0
    work = Path(wish.work).absolute() if wish.work else home / "work"
    work.mkdir(parents=True, exist_ok=True)
    _say(f"corpus of {wish.mails} mails")
    folder = home / f"corpus-{wish.mails}-{wish.seed}"
    facts = make_corpus(folder, wish.mails, wish.seed)
    box = folder / "Maildir"
    load = os.getloadavg()[0]
    _say("the product, cold and warm")
    cold, warm = run_product(box, work, wish.processes)
    reading: list[Reading] = []
    cutting: list[Cutting] = []
    if not wish.no_peers:
        _say("programs that read mail")
        reading += read_with_peers(peers, box, facts.mails, wish.peers)
        reading += index_with_commands(box, work, facts.mails, wish.peers)
        _say("quote parsers")
        cutting += cut_with_peers(peers, read_set(Path(wish.labelled))[0].rows, work, wish.peers)
    report = BenchReport(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=_machine(),
        filesystem=filesystem_of(work),
        load=load,
        version=extraction_version(),
        corpus=facts.digest,
        mails=facts.mails,
        mean_bytes=facts.mean_bytes,
        processes=wish.processes,
        cold=cold,
        warm=warm,
        reading=reading,
        cutting=cutting,
        labelled=Path(wish.labelled).name,
    )
    last = _last_like(report, home / "results")
    file = _keep(report, home / "results")
    print(msgspec.json.encode(report).decode() if wish.json else bench_text(report, last))
    _say(f"kept as {file}")
    clean = cold.exit_code == warm.exit_code == 0 and cold.balanced and warm.balanced
    return 0 if clean else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval.bench", description=__doc__)
    parser.add_argument("--mails", type=int, default=10_000, help="size of the corpus (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--processes", type=int, default=0, help="workers of the product (default: its own choice)"
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        default=str(ROOT / "state" / "bench"),
        help="folder of corpora, peers and kept results (default: state/bench)",
    )
    parser.add_argument(
        "--work", metavar="DIR", help="folder for the state that is measured (default: work in --home)"
    )
    parser.add_argument("--no-peers", action="store_true", help="the product alone")
    parser.add_argument("--peers", nargs="*", default=[], metavar="NAME", help="only these peers")
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        default=str(ROOT / "eval" / "dequote" / "own.jsonl"),
        help="labelled texts for the quote parsers (default: eval/dequote/own.jsonl)",
    )
    parser.add_argument(
        "--install-peers", action="store_true", help="install the Python peers, and only that"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def _say(words: str) -> None:
    print(f"bench: {words}", file=sys.stderr, flush=True)


def _machine() -> str:
    model = platform.processor() or platform.machine()
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model} x{os.cpu_count()}, Python {platform.python_version()}"


def _last_like(report: BenchReport, folder: Path) -> BenchReport | None:
    """Return the newest kept run of the same machine, corpus, file system and number of processes."""
    for file in sorted(folder.glob("*.json"), reverse=True):
        try:
            found = msgspec.json.decode(file.read_bytes(), type=BenchReport)
        except msgspec.MsgspecError:
            continue  # kept by another version
        if found.schema == SCHEMA and found.key == report.key:
            return found
    return None


def _keep(report: BenchReport, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stamp = report.started_at.replace(":", "").replace("-", "").partition("+")[0]
    file = folder / f"{stamp}-{report.mails}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    return file


if __name__ == "__main__":
    try:
        code = main()
    except AtlasError as error:
        print(f"bench: {error.sentence}", file=sys.stderr)
        code = 1
    sys.exit(code)
