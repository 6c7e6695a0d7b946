"""`atlas-extract eval`: the sets of the repository keep their floors; runs are kept, compared and shown."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eval.scoring.floors import check_floors
from eval.scoring.kept import read_baseline
from eval.scoring.page import render_page
from eval.scoring.records import EvalReport
from models.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = '<script>alert("x")</script>\u202e\x1b[31m'
ROWS = [
    {"id": "plain", "kind": "text", "input": "Fine.\n\nOn 2 Mar 2026, Ann wrote:\n> Is Friday fine?", "expected_clean": "Fine.", "lang": "en"},
    {"id": "wrong", "kind": "text", "input": "Only this.", "expected_clean": f"{HOSTILE} and this.", "lang": "de"},
    {"id": HOSTILE, "kind": "text", "input": "Same.", "expected_clean": "Same.", "lang": "de", "suite": HOSTILE},
]  # fmt: skip


def run(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", "eval", *arguments, "--state", str(state)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("eval")


@pytest.fixture(scope="module")
def own_set(state: Path) -> Path:
    file = state / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def shipped(state: Path) -> dict[str, Any]:
    """Return the JSON report over the sets of the repository, its floors checked."""
    done = run(state, "--floors", "--json")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    found["exit_code"] = done.returncode
    return found


def test_the_sets_of_the_repository_keep_their_floors(shipped: dict[str, Any]) -> None:
    broken = [floor for floor in shipped["floors"] if not floor["held"]]
    assert not broken
    assert shipped["exit_code"] == 0
    assert {floor["stage"] for floor in shipped["floors"]} == set(shipped["versions"])


def test_every_stage_is_scored_on_the_sample_mailbox(shipped: dict[str, Any]) -> None:
    sample = {one["stage"]: one for one in shipped["sets"] if one["set"] == "sample"}
    assert set(sample) == set(shipped["versions"])
    assert sample["fetch"]["rows"] == 122
    assert {one["rows"] for name, one in sample.items() if name not in ("fetch", "normalize")} == {119}
    for one in sample.values():
        for score in one["scores"]:
            assert score["low"] <= score["value"] <= score["high"]


def test_a_floor_that_does_not_hold_or_is_not_measured_is_broken(
    shipped: dict[str, Any], tmp_path: Path
) -> None:
    report = msgspec.convert({**shipped, "floors": []}, EvalReport)
    file = tmp_path / "floors.toml"
    rows = ['{stage="thread", set="sample", measure="human", at_least=0.5}']
    rows += ['{stage="thread", set="sample", measure="human", at_most=0.5}']
    rows += ['{stage="thread", set="gone", measure="human", at_least=0.5}']
    file.write_text(f"floor = [{', '.join(rows)}]", encoding="utf-8")
    assert [floor.held for floor in check_floors(report, file)] == [True, False, False]
    file.write_text('floor = [{stage="thread", set="sample", measure="human"}]', encoding="utf-8")
    with pytest.raises(UsageError, match="not a floor"):
        check_floors(report, file)


def test_a_set_of_ones_own_is_scored_and_kept_and_compared(state: Path, own_set: Path) -> None:
    first = run(state, "--set", str(own_set), "--json")
    assert first.returncode == 0, first.stderr
    report = json.loads(first.stdout)
    [scored] = report["sets"]
    scores = {score["name"]: score for score in scored["scores"]}
    assert (scores["exact"]["value"], scores["exact"]["n"]) == (pytest.approx(2 / 3), 3)
    assert scored["missed"] == 1
    kept = state / "eval" / f"{report['run_id']}.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    better = [{**row, "expected_clean": "Only this."} if row["id"] == "wrong" else row for row in ROWS]
    own_set.write_text("".join(json.dumps(row) + "\n" for row in better), encoding="utf-8")
    second = json.loads(run(state, "--set", str(own_set), "--json", "--baseline", str(kept)).stdout)
    changes = {score["name"]: score["change"] for score in second["sets"][0]["scores"]}
    assert (changes["exact"]["before"], changes["exact"]["after"]) == (pytest.approx(2 / 3), 1.0)
    assert changes["exact"]["p"] == 1.0
    assert "the set has changed since the baseline" in second["sets"][0]["notes"][0]


def test_the_text_names_the_misses_and_steers_no_terminal(state: Path, own_set: Path) -> None:
    own_set.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    done = run(state, "dequote", "--set", str(own_set))
    assert "worst of 1 misses" in done.stdout
    assert "    wrong  6 words lost, 1 left over  (de)" in done.stdout
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout


def test_the_page_is_one_file_and_shows_mail_as_text(state: Path, own_set: Path) -> None:
    own_set.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    page = state / "page.html"
    done = run(state, "--set", str(own_set), "--html", str(page))
    assert done.returncode == 0, done.stderr
    html = page.read_text(encoding="utf-8")
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    Tags().feed(html)
    names = {tag for tag, _ in tags}
    assert {"svg", "del", "ins"} <= names
    assert not names & {"script", "img", "link", "iframe", "object"}
    assert all((attrs.get("href") or "#").startswith("#") for _, attrs in tags)
    assert "\u202e" not in html and "\x1b" not in html


def test_a_stage_or_a_baseline_that_is_none_is_a_usage_error(state: Path) -> None:
    assert run(state, "spelling").returncode == 64
    assert run(state, "intent", "--baseline", "nothing-like-it").returncode == 64
    with pytest.raises(UsageError, match="is no kept evaluation run"):
        read_baseline("nothing-like-it", state)


def test_the_page_of_the_sample_draws_confusion_and_calibration(shipped: dict[str, Any]) -> None:
    html = render_page(msgspec.convert(shipped, EvalReport))
    for label in ("confusion of intent", "confusion of language", "calibration", "by language"):
        assert label in html
