"""The pages of docs/ and the READMEs say what the code says."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from pydantic import BaseModel

import flows.cli
from flows.cli import build_parser
from models.config import Settings, known_keys
from models.email import Email
from models.message import INTENTS
from models.schema import KINDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
READMES = ("README.md", "README.zh-CN.md")
SECTION_OF = {
    "email": "Email",
    "thread": "Thread",
    "report": "Run report",
    "quarantine": "Quarantine",
    "candidate": "Customer candidate",
    "merges": "Merge proposals",
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *DOCS.glob("*"), ROOT / "state/README.md", ROOT / "eval/sample/README.md"]
    return sorted(path for path in found if path.is_file())


# ---- the command line -------------------------------------------------------------------------------


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    parser = build_parser()
    yield parser.prog, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield child.prog, child


def section(text: str, title: str, level: str = "##") -> str:
    """Return the text under a heading, up to the next of its level."""
    found = re.search(rf"(?ms)^{level} {re.escape(title)}\b.*?(?=^{level} |\Z)", text)
    assert found, f"no section `{title}`"
    return found[0]


def test_every_command_option_and_choice_stands_in_the_page_of_the_command_line() -> None:
    page = read("docs/cli.md")
    for name, parser in parsers():
        part = section(page, name)
        for action in parser._actions:
            for word in [*action.option_strings, *(action.choices or ())]:
                assert str(word) in part, f"`{word}` of `{name}` is not in docs/cli.md"
            if not action.option_strings and action.metavar:
                assert str(action.metavar) in part, f"`{action.metavar}` of `{name}` is not in docs/cli.md"


def test_the_pages_made_from_the_code_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "build.py", "--check"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [[], ["quarantine"]])
def test_the_page_shows_the_help_that_the_command_prints(command: list[str]) -> None:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert " ".join(done.stdout.split()).replace("cli.py", "atlas-extract") in " ".join(
        read("docs/cli.md").split()
    )


def test_every_exit_code_stands_in_the_docs() -> None:
    constants = {value for name, value in vars(flows.cli).items() if name.startswith("EXIT_")}
    told = {int(code) for code in re.findall(r"(?:exit codes: |; |;\n)(\d+) ", build_parser().epilog or "")}
    assert {0, 1, 2} | constants == told
    for name in ("docs/cli.md", *READMES):
        rows = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", read(name))}
        assert rows == told, f"exit codes in {name}"


# ---- configuration ----------------------------------------------------------------------------------


def config_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not inner:
            yield prefix + name
        for kind in inner:
            by_name = "NAME." if get_origin(field.annotation) is dict else ""
            yield from config_keys(kind, f"{prefix}{name}.{by_name}")


def test_every_configuration_key_stands_in_its_page() -> None:
    page = read("docs/configuration.md")
    rows = set(re.findall(r"(?m)^\| `([^`]+)` \|", page))
    assert rows == set(config_keys())


def test_what_is_marked_as_later_is_a_key_or_a_section() -> None:
    build = load_build()
    assert set(known_keys()) >= build.LATER


def load_build() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["docs/configuration.md", *READMES])
def test_the_examples_of_a_configuration_file_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in [key for key in os.environ if key.startswith("ATLAS_")]:
        monkeypatch.delenv(key)
    examples = re.findall(r"(?ms)^```toml\n(.*?)^```", read(name))
    assert examples
    for example in examples:
        values = tomllib.loads(example)
        assert values
        Settings(**values)


def test_the_variables_named_in_the_configuration_page_exist() -> None:
    known = {"ATLAS_" + key.upper().replace(".", "__") for key in known_keys()}
    named = set(re.findall(r"ATLAS_[A-Z][A-Z_]*", read("docs/configuration.md")))
    assert named
    assert named <= known


# ---- the files --------------------------------------------------------------------------------------


def records(kind: Any, seen: set[Any] | None = None) -> Iterator[type[msgspec.Struct]]:
    """Yield every record type that a file of this kind may hold."""
    seen = set() if seen is None else seen
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in seen:
            return
        seen.add(kind)
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from records(field.type, seen)
    for inner in get_args(kind):
        yield from records(inner, seen)


def literals(kind: Any) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    elif get_origin(kind) in (Union, types.UnionType, list, dict):
        for inner in get_args(kind):
            yield from literals(inner)


def words_of(text: str) -> set[str]:
    """Return the words inside backticks."""
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def test_every_kind_of_file_has_a_section() -> None:
    assert SECTION_OF.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sorted(SECTION_OF))
def test_every_json_field_and_value_stands_in_the_page_of_the_files(kind: str) -> None:
    part = section(read("docs/email.md"), SECTION_OF[kind])
    words = words_of(part)
    if kind != "email":  # places and links are explained once
        words |= words_of(section(read("docs/email.md"), SECTION_OF["email"]))
    for record in records(KINDS[kind]):
        for field in msgspec.structs.fields(record):
            assert field.encode_name in words, f"{kind}: `{field.encode_name}` of {record.__name__}"
            if field.name == "kind" and kind == "quarantine":
                continue  # transient failures are retried, never quarantined
            for value in literals(field.type):
                assert value in words, f"{kind}: value `{value}` of {record.__name__}.{field.name}"


def test_every_field_of_the_email_has_a_row_of_its_own_or_in_its_group() -> None:
    part = section(read("docs/email.md"), "Email")
    rows = {word for row in re.findall(r"(?m)^\| ([^|]+) \|", part) for word in words_of(row)}
    groups = set(re.findall(r"### .*`(\w+)`", part))
    for field in msgspec.structs.fields(Email):
        assert field.encode_name in rows | groups, field.encode_name


def test_every_intent_is_named() -> None:
    part = section(read("docs/email.md"), "Email")
    assert all(label in part for label in (*INTENTS, "unknown"))


# ---- the READMEs ------------------------------------------------------------------------------------


def shell_lines(name: str) -> list[list[str]]:
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", read(name))
    commands = [part for block in blocks for line in block.splitlines() for part in line.split("&&")]
    return [words for command in commands if (words := shlex.split(command, comments=True))]


@pytest.mark.parametrize("name", READMES)
def test_the_commands_of_a_readme_exist(name: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", read("Makefile")))
    lines = shell_lines(name)
    assert ["make", "demo"] in lines
    assert ["make", "test"] in lines
    for program, *arguments in lines:
        if program == "make":
            assert arguments[0] in targets
        elif program == "atlas-extract":
            build_parser().parse_args(arguments)  # exits where an option or a command is unknown
        else:
            assert program.rsplit("/", 1)[-1] in ("pipx", "python3", "pip"), f"unknown command {program}"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_named_in_a_text_exist(path: Path) -> None:
    """Also with its action: `atlas-extract thread join` is none while `thread` knows only `show`."""
    known = {f"{name} {choice}" for name, parser in parsers() for choice in first_words(parser)}
    for name, parser in parsers():
        known |= {
            name,
            *(f"{name} {option}" for action in parser._actions for option in action.option_strings),
        }
    text = re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))
    for code in re.findall(r"`([^`\n]+)`", text):
        words = code.split()
        if words[0] == "make" and len(words) > 1:
            assert re.search(rf"(?m)^{words[1]}:", read("Makefile")), code
        if words[0] == "atlas-extract" and len(words) > 1:
            assert " ".join(words[:2]) in known, code
            has_actions = any(name.startswith(" ".join(words[:2]) + " ") for name in known)
            if has_actions and len(words) > 2 and not words[2].isupper():
                assert " ".join(words[:3]) in known, code


def first_words(parser: argparse.ArgumentParser) -> list[str]:
    """Return what the first positional argument of a command may be, where it is a choice."""
    for action in parser._actions:
        if not action.option_strings:
            return [str(choice) for choice in action.choices or ()]
    return []


def test_the_modules_named_in_the_docs_exist() -> None:
    for path in pages():
        for module in re.findall(r"-m ([a-z_]+\.[a-z_.]+)", path.read_text(encoding="utf-8")):
            assert importlib.util.find_spec(module), f"{module} in {path.name}"


def test_the_files_of_the_code_named_in_the_docs_exist() -> None:
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"\b(?:models|stages|storage|flows|eval|docs)/[\w/]+\.py\b", text):
            assert (ROOT / name).exists(), f"{name} in {path.name}"


def demo_block(name: str, block: str) -> str:
    found = re.search(rf"(?ms)^<!-- demo: {block} -->\n```\w+\n(.*?)^```\n<!-- end -->", read(name))
    assert found, f"{name} shows no {block}"
    return found[1]


@pytest.mark.parametrize("name", READMES)
def test_the_balance_in_a_readme_is_that_of_the_sample(name: str) -> None:
    answers = (ROOT / "eval/sample/mailbox").rglob("*.json")
    expected = Counter(json.loads(path.read_text(encoding="utf-8"))["outcome"] for path in answers)
    sheet = demo_block(name, "sheet")
    shown = {word: int(count) for word, count in re.findall(r"(?m)^  (\w+) +(\d+)", sheet)}
    assert shown == {"unchanged": 0, "pending": 0, **expected}
    assert f"{expected.total()} seen" in sheet
    assert f"{expected.total()}  balanced" in sheet


def test_the_record_in_the_readme_is_a_part_of_an_email() -> None:
    shown = json.loads(demo_block("README.md", "json"))
    answer = json.loads(read("eval/sample/mailbox/INBOX/029-complaint.json"))
    assert shown["entities"]["customer_id_candidate"] == answer["customer"]
    assert shown["language"] == answer["language"]
    assert_part_of(shown, msgspec.json.schema(Email))


def assert_part_of(value: Any, schema: dict[str, Any]) -> None:
    """Fail unless every key of `value`, at any depth, is a field of the Email."""
    names = {name for one in schema["$defs"].values() for name in one.get("properties", {})}
    if isinstance(value, dict):
        assert value.keys() <= names
        for inner in value.values():
            assert_part_of(inner, schema)
    if isinstance(value, list):
        for inner in value:
            assert_part_of(inner, schema)


def test_both_readmes_show_the_same_run() -> None:
    for block in ("sheet", "json"):
        assert demo_block(READMES[0], block) == demo_block(READMES[1], block)


@pytest.mark.parametrize("name", READMES)
def test_a_readme_quotes_what_start_up_says_of_a_file_that_hides_a_package(name: str, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from flows.cli import main; sys.exit(main(['status']))"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert done.returncode == 64
    assert done.stderr.strip().replace(str(tmp_path / "models.py"), "models.py") in read(name)


# ---- all pages --------------------------------------------------------------------------------------

REGISTRIES = r"pypi\.|pythonhosted|npmjs|crates\.io|conda\.|anaconda\.|docker\.io|ghcr\.io|quay\.io|index-url"
MACHINE_PATHS = r"(?<![\w.~])/(?:home|root|Users|work|tmp|opt|mnt|srv|usr|var/folders)/\w+|\b[A-Z]:\\\w"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_page_names_a_registry_host_or_a_path_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for pattern in (REGISTRIES, MACHINE_PATHS):
        found = re.search(pattern, text)
        assert not found, f"{path.name}: {found[0]}"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(path: Path) -> None:
    if path.suffix != ".md":
        return
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
