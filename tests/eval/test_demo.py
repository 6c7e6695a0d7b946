"""The demo runs the command on the sample mailbox and succeeds only if that came out which should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from eval.demo import differences
from eval.sample_answers import Expected, read_expected
from eval.sample_run import MAILBOX, ROOT, SAMPLE, Ran, copy_curated, run_command
from models.email import Location
from models.report import QuarantineFile, Report
from stages import NAMES

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "state"


@pytest.fixture(scope="module")
def first(state: Path) -> subprocess.CompletedProcess[str]:
    return start(state)


def start(state: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the demo as `make demo` does, in an environment with settings of its user's own."""
    return subprocess.run(
        [sys.executable, "-m", "eval.demo", "--state", str(state), *options],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
        env={**os.environ, "ATLAS_HOME_CURRENCY": "XXX", "PYTHONIOENCODING": "utf-8"},
    )


def test_the_demo_succeeds_and_shows_what_came_out(
    first: subprocess.CompletedProcess[str], state: Path
) -> None:
    assert first.returncode == 0, first.stderr
    assert "122  balanced" in first.stdout
    assert "INBOX/117-interrupted-download.eml" in first.stdout
    assert "INBOX/119-kirinuki-64.eml" in first.stdout
    assert "积分商城支付页打不开" in first.stdout
    assert "customer? songlan-tea.example" in first.stdout
    assert f"--state {state}" in first.stdout


def test_a_second_demo_finds_everything_unchanged(
    first: subprocess.CompletedProcess[str], state: Path
) -> None:
    again = start(state)
    assert again.returncode == 0, again.stderr
    report = json.loads(max((state / "runs").glob("*.json"), key=os.path.getmtime).read_bytes())
    assert (report["written"], report["unchanged"], report["stage_calls"]) == (0, 119, {})
    assert report["exit_code"] == 1


def test_an_edited_file_is_not_copied_over(first: subprocess.CompletedProcess[str], state: Path) -> None:
    path = state / "keywords" / "seeds.txt"
    before = path.read_bytes()
    path.write_bytes(before + b"mine\n")
    copy_curated(SAMPLE / "state", state)
    assert path.read_bytes() == before + b"mine\n"
    path.write_bytes(before)


def test_check_scores_every_stage(first: subprocess.CompletedProcess[str], state: Path) -> None:
    done = start(state, "--check")
    assert done.returncode == 0, done.stderr
    for stage in NAMES:
        assert f"{stage} · sample · " in done.stdout, stage
    for figure in ("exact", "human", "dates F1", "amounts F1", "customer", "top-1", "language", "category"):
        assert f"\n   {figure} " in done.stdout, figure


@pytest.fixture
def expected() -> dict[str, Expected]:
    return read_expected(MAILBOX)


def as_expected(expected: dict[str, Expected]) -> Ran:
    """Return a run in which everything happened that should."""
    held = [
        QuarantineFile(
            kind=answer.quarantine_kind,  # type: ignore[arg-type]
            stage="decode",
            detail="",
            remedy=None,
            raw=name,
            locations=[Location(account="mailbox", folder="INBOX", uid=name)],
            first_seen="",
            tries=1,
        )
        for name, answer in expected.items()
        if answer.outcome == "quarantined"
    ]
    report = Report(run_id="", started_at="", seen=122, written=100, unchanged=19, duplicate=1, quarantined=2)
    return Ran(exit_code=1, sheet="", report=report, held=held)


def test_nothing_differs_when_everything_is_as_written_beside_the_mails(
    expected: dict[str, Expected],
) -> None:
    assert differences(as_expected(expected), expected) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"written": 99, "pending": 1}, "118 written or unchanged, expected 119"),
        ({"written": 99, "quarantined": 3}, "3 quarantined, expected 2"),
        ({"duplicate": 0, "written": 101}, "0 duplicate, expected 1"),
        ({"seen": 121}, "121 seen, expected 122"),
        ({"balanced": False}, "the report does not balance"),
    ],
)
def test_another_balance_is_named(expected: dict[str, Expected], change: dict[str, int], said: str) -> None:
    ran = as_expected(expected)
    assert ran.report
    ran.report = msgspec.structs.replace(ran.report, **change)
    assert said in differences(ran, expected)


def test_another_exit_code_is_named(expected: dict[str, Expected]) -> None:
    ran = as_expected(expected)
    ran.exit_code = 0
    assert differences(ran, expected) == ["the run ended with exit code 0, expected 1"]


def test_another_mail_or_kind_in_quarantine_is_named(expected: dict[str, Expected]) -> None:
    ran = as_expected(expected)
    ran.held[0].kind = "defect"
    ran.held[1].locations[0].uid = "INBOX/001-relaunch-start.eml"
    wrong = differences(ran, expected)
    assert (
        "INBOX/117-interrupted-download.eml is quarantined as defect, expected quarantined as corrupt_input"
        in wrong
    )
    assert (
        "INBOX/001-relaunch-start.eml is quarantined as resource_limit, expected not in quarantine" in wrong
    )
    assert "INBOX/119-kirinuki-64.eml is not in quarantine, expected quarantined as resource_limit" in wrong


def test_a_state_folder_of_another_tenant_fails_the_demo_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "atlas.toml").write_text('tenant = "other"\n')
    (tmp_path / "one.eml").write_bytes((MAILBOX / "INBOX/029-complaint.eml").read_bytes())
    options = ("--config", str(tmp_path / "atlas.toml"), "--source", str(tmp_path / "one.eml"))
    assert run_command(*options, "--state", str(tmp_path / "state")).returncode == 0
    done = start(tmp_path / "state")
    assert done.returncode == 1
    assert "belongs to tenant `other`" in done.stderr
    assert "exit code 64" in done.stderr
