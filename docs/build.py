"""Writes the pages that are made from the code: docs/cli.md from the `--help` of every command, and
docs/configuration.md from models/config.py.

    python docs/build.py            write them
    python docs/build.py --check    only say whether they are up to date (exit 1 if not)
    python docs/build.py --demo     write them, and put the output of a fresh demo run into the READMEs
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from eval import sample_run, tour
from eval.sample_answers import read_emails
from flows.cli import EXIT_BUSY, EXIT_USAGE, build_parser
from models.config import Settings

DOCS = Path(__file__).resolve().parent
WIDTH = "100"  # columns of the help texts

EXIT_CODES = {
    0: "Clean and balanced.",
    1: "Look at this: something is in quarantine or unreadable, the sums do not balance, or a defect. "
    "A run over an archive that holds a quarantined mail ends with 1 every time, until the mail gets through "
    "or you `quarantine dismiss` it.",
    2: "A backend gave up, the disk is full, the run was stopped (Ctrl-C, SIGTERM), or mail is still pending. "
    "Nothing is lost: run the same command again.",
    EXIT_USAGE: "Usage: an option, the configuration, a file that you edit, the tenant, a source or the state "
    "folder cannot be used as it is. Nothing was read; the message names the thing and the remedy.",
    EXIT_BUSY: "Another run holds the mailbox; the message says which.",
}

LATER = {"pipeline.quarantine_limit", "folders", "accounts", "intent"}
"""Keys and sections that are accepted, but that nothing in this version reads."""

_CLI_HEAD = """\
# The command line

Made by `docs/build.py` from `atlas-extract --help`; do not edit by hand.

Without a command `atlas-extract` runs the pipeline over the sources; each command below only reads the state
folder, except `quarantine retry` and `quarantine dismiss`. `--state` and `--config` may stand before or after
the command. A message (`MSG`) is named by its msg_id (with or without angle brackets), the start of its raw hash
(8 digits or more), its file, or its uid, which for an archive is the path inside the source
(`INBOX/029-complaint.eml`; in an mbox, a hash). A thread is named by its id, an earlier id too, or by any message
in it.

## Exit codes

"""

_CLI_PROBES = """\
## Stage probes

`atlas-extract stage NAME` runs one stage alone: one JSON object per line in, exactly one JSON line out for each,
in order, as they come (`thread` answers after the end of input). Nothing is stored unless `--state` is given.
Unknown keys are ignored. A line that cannot be read or a record that fails gives
`{"id": …, "error": {"kind", "detail"}}`.

| stage | keys of a line in |
|---|---|
| decode | `id`, and `raw_b64` (the mail, base64) or `path`; `parts: true` adds every leaf of the MIME tree |
| dequote | `id`, `kind` (`text`, `html` or `eml`), `input` or `input_b64`; optional `lang`, `from {name, email}`, and `signature_policy`, `signoff_policy`, `forward_policy` (`kept` or `removed`) |
| thread | in order of arrival: `id`, `message_id`, `in_reply_to`, `references[]`, `subject`, `from`, `to[]`, `cc[]`, `date`, `thread_index`, `thread_topic`, `body_head`; optional `provider_thread_id`, `category`, `list_id`, `auto_reply` |
| entities | `id`, `subject`, `body_text_clean`, `headers {From, To, Cc, …}` as they stand in the mail, `sent`; optional `lang` |
| intent | `id`, `subject`, `body_text_clean`; optional `language` |

For example:

```sh
echo '{"id": 1, "kind": "text", "input": "Fine.\\n\\nOn 2 Mar 2026, Ann wrote:\\n> Is Friday fine?"}' \\
  | atlas-extract stage dequote
```
"""  # noqa: E501

_CONFIG_HEAD = """\
# Configuration

Made by `docs/build.py` from `models/config.py`; do not edit by hand.

No configuration is needed to try it. The file is `atlas.toml`: the one given with `--config`, else `./atlas.toml`,
else the user's own (`~/.config/atlas-extract/atlas.toml`, on macOS
`~/Library/Application Support/atlas-extract/atlas.toml`). Flags win over the environment, the environment over
the file. An unknown key is an error that names the nearest one. A start:

```toml
company_domains = ["us.example"]     # whose people are internal
timezone = "Europe/Berlin"
home_currency = "EUR"

[email]
max_attachments = 100

[domain_map]
"northwind.example" = "C001"
```

Every key is also an environment variable: `ATLAS_` and the key in capitals, `__` between section and key
(`ATLAS_HOME_CURRENCY`, `ATLAS_EMAIL__MAX_MESSAGE_MB`). Lists and tables are written there as JSON
(`ATLAS_COMPANY_DOMAINS='["us.example"]'`).

A changed key takes effect on the next run, which makes anew exactly what depends on it. What people edit beside
the configuration (aliases, customers, keywords) stands in the state folder: see `state/README.md`.

**Later**: what is marked so is accepted and checked, but nothing in this version reads it. A configured account,
and `intent.llm` other than `"off"`, are refused with exit code 64, for they would otherwise be silently ignored.
"""


class Key(NamedTuple):
    """One key of the configuration: dotted name, accepted values, default as TOML ("" if none), meaning."""

    name: str
    values: str
    default: str
    meaning: str


def build_cli() -> str:
    """Return docs/cli.md."""
    os.environ.update(COLUMNS=WIDTH, NO_COLOR="1")
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    parts = [_CLI_HEAD, "| code | meaning |\n|---|---|\n", codes, "\n"]
    for name, parser in commands():
        parts.append(f"## {name}\n\n```text\n{parser.format_help().rstrip()}\n```\n\n")
    return "".join([*parts, _CLI_PROBES])


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of the command itself and of each of its commands."""
    parser = build_parser()
    yield parser.prog, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield child.prog, child


def build_configuration() -> str:
    """Return docs/configuration.md."""
    parts = [_CONFIG_HEAD]
    for title, intro, keys in sections():
        parts.append(f"\n## {title}\n\n{intro}| key | values | default | meaning |\n|---|---|---|---|\n")
        for key in keys:
            later = " *Later.*" if _is_later(key.name) else ""
            default = f"`{key.default}`" if key.default else "–"
            parts.append(f"| `{key.name}` | {key.values} | {default} | {key.meaning}{later} |\n")
    return "".join(parts)


def sections() -> Iterator[tuple[str, str, list[Key]]]:
    """Yield title, introduction and keys of each section of the configuration."""
    plain = [name for name, field in Settings.model_fields.items() if not _section_of(field)]
    yield "Top level", "", [_key(name, Settings.model_fields[name], name) for name in plain]
    for name, field in Settings.model_fields.items():
        section = _section_of(field)
        if section is None:
            continue
        shown, dotted = f"`[{name}]`", name
        if get_origin(field.annotation) is dict:
            shown, dotted = f"`[{name}.NAME]`", f"{name}.NAME"
        elif get_origin(field.annotation) is list:
            shown = f"`[[{name}]]`"
        intro = (section.__doc__ or "").strip()
        if field.description:
            intro = f"{field.description} {intro}"
        keys = [_key(f"{dotted}.{key}", inner, key) for key, inner in section.model_fields.items()]
        yield shown, f"{intro}\n\n" if intro else "", keys


def _section_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a section, also where the key is a table or a list of them."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _key(dotted: str, field: FieldInfo, name: str) -> Key:
    if not field.description:
        raise SystemExit(f"docs: `{dotted}` has no description in models/config.py")
    unset = field.default is PydanticUndefined or field.default is None
    default = "" if unset else json.dumps(field.default, ensure_ascii=False)
    return Key(dotted, _values(field), default, field.description)


def _values(field: FieldInfo) -> str:
    limits: dict[str, Any] = {}
    for limit in field.metadata:
        for sign in ("ge", "gt", "le"):
            if (value := getattr(limit, sign, None)) is not None:
                limits[sign] = value
    words = _type_words(field.annotation)
    if "ge" in limits and "le" in limits:
        return f"{words}, {limits['ge']} to {limits['le']}"
    if "ge" in limits:
        return f"{words}, {limits['ge']} or more"
    return f"{words}, more than {limits['gt']}" if "gt" in limits else words


def _type_words(kind: Any) -> str:
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_type_words(one) for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is Literal:
        return ", ".join(f"`{json.dumps(one)}`" for one in get_args(kind))
    if get_origin(kind) is list:
        return "list of texts"
    if get_origin(kind) is dict:
        return "table of texts"
    return {bool: "`true`, `false`", int: "whole number", float: "number", str: "text"}[kind]


def _is_later(dotted: str) -> bool:
    return dotted in LATER or dotted.split(".", maxsplit=1)[0] in LATER


def demo_blocks() -> dict[str, str]:
    """Run the demo in a new state folder; returns the samples that the READMEs show."""
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch) / "state"
        sample_run.copy_curated(sample_run.SAMPLE / "state", state)
        ran = sample_run.run_sample(state)
        shown = tour.shown_email(read_emails(state))
    if shown is None:
        raise SystemExit(f"docs: {tour.SHOWN_MAIL} did not get through\n{ran.sheet}")
    record = tour.render_json(tour.telling_fields(shown))
    return {"sheet": f"```text\n{ran.sheet}\n```", "json": f"```json\n{record}\n```"}


def fill(text: str, blocks: dict[str, str]) -> str:
    """Return `text` with each block between `<!-- demo: NAME -->` and `<!-- end -->` replaced."""
    for name, block in blocks.items():
        head, mark, rest = text.partition(f"<!-- demo: {name} -->\n")
        tail = rest.partition("<!-- end -->")[2]
        text = f"{head}{mark}{block}\n<!-- end -->{tail}"
    return text


PAGES = {"cli.md": build_cli, "configuration.md": build_configuration}
READMES = ("README.md", "README.zh-CN.md")


def main() -> int:
    """Write or check the pages; returns 1 if a checked page is stale."""
    parser = argparse.ArgumentParser(description="write the pages of docs/ that are made from the code")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument(
        "--demo", action="store_true", help="run the demo and refresh the READMEs' samples too"
    )
    options = parser.parse_args()
    stale = []
    if options.demo:
        blocks = demo_blocks()
        for name in READMES:
            path = DOCS.parent / name
            path.write_text(fill(path.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    for name, build in PAGES.items():
        path, text = DOCS / name, build()
        if options.check:
            present = path.read_text(encoding="utf-8") if path.exists() else ""
            if present.split() != text.split():  # another Python may wrap the help differently
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/{name} is stale: run `python docs/build.py`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
