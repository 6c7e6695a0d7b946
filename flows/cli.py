"""The command `atlas-extract`. Nothing heavy is imported before it is known what is asked."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

EXIT_USAGE = 64
EXIT_BUSY = 75
_PLAIN_NAMES = ("models", "stages", "storage", "projections", "eval", "flows")

_EPILOG = """exit codes: 0 clean and balanced; 1 look at this (something quarantined, unreadable or unbalanced);
2 a backend gave up or mail is pending, nothing lost, run again later; 64 usage; 75 another run holds the mailbox

examples:
  atlas-extract --source ~/Maildir --account me@example.org
  atlas-extract --source old.mbox --since 2026-01-01 --report report.json
  atlas-extract explain '<abc@mail.example>'"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")

    def refuse_unknown(self, arguments: Sequence[str]) -> None:
        """Name an unknown option before the command; argparse would take its value for the command's name."""
        import difflib

        for word in arguments:
            if word == "--" or word in self._commands():
                return
            if not word.startswith("-"):
                continue
            if word.startswith("--") and (name := word.partition("=")[0]) not in self._option_string_actions:
                near = difflib.get_close_matches(name, self._option_string_actions, n=1)
                self.error(f"unknown option {name}" + (f"; did you mean {near[0]}?" if near else ""))

    def _commands(self) -> Collection[str]:
        groups = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return next((group.choices for group in groups), {})

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if (
            isinstance(action, argparse._SubParsersAction)
            and value not in action.choices
            and os.path.exists(value)
        ):
            self.error(f"{value} is no command; to read it as mail: {self.prog} --source {value}")
        super()._check_value(action, value)


def build_parser() -> _Parser:
    """Return the parser of the whole command."""
    parser = _Parser(
        prog="atlas-extract",
        description="Turn raw mail into clean, threaded, labelled Email records. Without a command: run the pipeline.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the versions and exit")
    run = parser.add_argument_group("run")
    run.add_argument(
        "--source",
        action="append",
        metavar="PATH",
        help="folder (.eml, mbox, Maildir; sub-folders too) or file; repeatable",
    )
    run.add_argument("--account", metavar="NAME", help="name of the mailbox (default: the folder's name)")
    run.add_argument("--since", metavar="YYYY-MM-DD", help="only messages of this day or later")
    run.add_argument("--until", metavar="YYYY-MM-DD", help="only messages of this day or earlier")
    run.add_argument(
        "--limit", type=_positive, metavar="N", help="take at most N messages that are not known yet"
    )
    run.add_argument("--dry-run", action="store_true", help="list and count, write nothing")
    run.add_argument("--report", metavar="FILE", help="write the run report (JSON) there too")
    run.add_argument("--quiet", action="store_true", help="no progress and no balance sheet")
    _common(parser, argparse.SUPPRESS, run)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=_Parser
    )

    def command(name: str, text: str, *, json_output: bool = True) -> argparse.ArgumentParser:
        child: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=text, allow_abbrev=False
        )
        _common(child, argparse.SUPPRESS, json_output=json_output)
        return child

    command("status", "what the state folder holds, and the last run's balance")
    command("explain", "why a message became what it is, in sentences").add_argument("message", metavar="MSG")
    command("path", "where a message's file is").add_argument("message", metavar="MSG")
    thread = command("thread", "show a conversation as a tree; split or join conversations by hand")
    thread.add_argument("action", choices=["show", "split", "join"])
    thread.add_argument(
        "names",
        nargs="+",
        metavar="ID|MSG",
        help="show: a thread or a message in it; split: the first message that is to leave, what hangs below it "
        "leaves too; join: two or more messages or threads",
    )
    held = command("quarantine", "messages that could not be taken: why, and the way back")
    held.add_argument("action", choices=["list", "show", "retry", "dismiss"])
    held.add_argument(
        "messages", nargs="*", metavar="MSG", help="raw hash (a start of 8 or more), msg_id or uid"
    )
    held.add_argument("--all", action="store_true", help="retry or dismiss all of them")
    command("unclustered", "messages whose text could not be read and that are in no thread")
    schema = command("schema", "print the JSON Schema of the files that atlas-extract writes")
    schema.add_argument(
        "name", nargs="?", default="email", help="email, thread, report, quarantine, candidate, merges"
    )
    evaluation = command("eval", "how right each stage is, on labelled mail: figures, changes, worst misses")
    evaluation.add_argument("stages", nargs="*", metavar="STAGE", help="only these stages (default: all)")
    evaluation.add_argument(
        "--set",
        action="append",
        default=[],
        dest="sets",
        metavar="FILE",
        help="labelled rows: JSON Lines, or a folder with a MANIFEST.jsonl; repeatable (default: the sets that come "
        "with a checkout)",
    )
    evaluation.add_argument(
        "--baseline", metavar="RUN", help="compare with a kept run: `last`, a run id or its start, or a file"
    )
    evaluation.add_argument("--html", metavar="FILE", help="write the report as one page with plots too")
    evaluation.add_argument(
        "--misses", type=_count, default=3, metavar="N", help="worst misses shown per set (default: 3)"
    )
    evaluation.add_argument(
        "--floors",
        action="store_true",
        help="end with 1 where a figure is under its floor (eval/floors.toml)",
    )
    stage = command(
        "stage", "run one stage on JSON Lines (standard input to standard output)", json_output=False
    )
    stage.add_argument("name", choices=["decode", "dequote", "thread", "entities", "intent"])
    stage.add_argument("--timing", action="store_true", help="add `ms`, the time inside the stage")
    return parser


def _common(
    parser: argparse.ArgumentParser,
    default: str,
    group: argparse._ArgumentGroup | None = None,
    *,
    json_output: bool = True,
) -> None:
    add = (group or parser).add_argument
    add(
        "--state", metavar="DIR", default=default, help="state folder (default: `state` of the configuration)"
    )
    add(
        "--config",
        metavar="FILE",
        default=default,
        help="configuration file (default: ./atlas.toml, else the user's)",
    )
    if json_output:
        add("--json", action="store_true", default=default, help="print JSON on standard output")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Chinese is no defect
    if (shadow := _shadowing_file()) is not None:
        print(
            f"atlas-extract: {shadow} hides a package of atlas-extract; rename it, or install atlas-extract in an "
            "environment of its own (pipx or venv)",
            file=sys.stderr,
        )
        return EXIT_USAGE
    parser = build_parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser.refuse_unknown(given)
    options = parser.parse_args(given)
    for name in ("state", "config", "json"):
        if not hasattr(options, name):
            setattr(options, name, None)
    from flows.terminal import say
    from models.errors import AtlasError, MailboxBusy, Transient, UsageError

    try:
        return _dispatch(options)
    except AtlasError as error:
        say(f"atlas-extract: {error.detail}", sys.stderr)
        if error.remedy:
            say(f"  {error.remedy}", sys.stderr)
        if isinstance(error, MailboxBusy):
            return EXIT_BUSY
        return 2 if isinstance(error, Transient) else EXIT_USAGE if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(options: argparse.Namespace) -> int:
    if options.version:
        from flows.show import print_versions

        return print_versions()
    if options.command is None:
        from flows.start import start_run

        return start_run(options)
    if options.command == "stage":
        from flows.probes import run_probe

        return run_probe(options)
    if options.command == "eval":
        from flows.evaluation import run_eval

        return run_eval(options)
    if options.command == "schema":
        from models.schema import print_schema

        return print_schema(options.name)
    from flows import show

    return show.COMMANDS[options.command](options)


def _shadowing_file() -> str | None:
    """Return the file that hides one of our packages (their names are plain words), or None."""
    import importlib.util

    home = Path(__file__).resolve().parent.parent
    for name in _PLAIN_NAMES:
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec else None
        if origin is not None and origin != "namespace" and Path(origin).resolve().parent.parent != home:
            return origin
    return None


if __name__ == "__main__":
    sys.exit(main())
