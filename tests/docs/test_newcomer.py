"""What a newcomer does first, and what the command answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAIL = "From: ann@x.example\nTo: bob@x.example\nSubject: {}\nDate: Mon, 2 Mar 2026 09:00:00 +0100\n\n{}\n"


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "one.eml").write_text(MAIL.format("报价", "请看一下。"), encoding="utf-8")
    return folder


def command(here: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder `here`, as somebody without any ATLAS_… setting."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ATLAS_")}
    code = "import sys; from flows.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=here,
        env={**environment, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(here), **variables},
    )


def test_no_source_at_all_says_what_to_give(tmp_path: Path) -> None:
    done = command(tmp_path)
    assert done.returncode == 64
    assert "--source PATH" in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_path_without_source_is_told_how_to_read_it(mail: Path) -> None:
    done = command(mail.parent, "mail")
    assert done.returncode == 64
    assert "atlas-extract --source mail" in done.stderr


def test_a_dry_run_says_that_nothing_was_written(mail: Path) -> None:
    done = command(mail.parent, "--source", "mail", "--dry-run")
    assert done.returncode == 0
    assert "nothing was written" in done.stdout
    assert "run the same command again" not in done.stdout
    assert sorted(path.name for path in mail.parent.iterdir()) == ["mail"]


def test_a_folder_without_mail_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command(tmp_path, "--source", "empty")
    assert done.returncode == 0
    assert "no mail was found: check --source" in done.stdout


def test_a_command_before_the_first_run_says_to_run_first(tmp_path: Path) -> None:
    done = command(tmp_path, "status")
    assert done.returncode == 64
    assert "run atlas-extract --source PATH first" in done.stderr


def test_settings_that_this_version_cannot_follow_are_refused(mail: Path) -> None:
    config = mail.parent / "atlas.toml"
    for text in ('[intent]\nllm = "always"\n', '[accounts.me]\ntype = "imap"\n'):
        config.write_text(text, encoding="utf-8")
        arguments = ["--source", "mail"] if "llm" in text else []
        done = command(mail.parent, *arguments)
        assert done.returncode == 64
        assert "not supported by this version yet" in done.stderr


def test_a_list_in_the_environment_that_is_no_json_says_how_to_write_it(mail: Path) -> None:
    done = command(mail.parent, "--source", "mail", "--dry-run", ATLAS_COMPANY_DOMAINS="x.example")
    assert done.returncode == 64
    assert """ATLAS_COMPANY_DOMAINS='["us.example"]'""" in done.stderr
    good = command(mail.parent, "--source", "mail", "--dry-run", ATLAS_COMPANY_DOMAINS='["x.example"]')
    assert good.returncode == 0


def test_a_terminal_without_chinese_is_no_defect(mail: Path) -> None:
    run = command(mail.parent, "--source", "mail", PYTHONIOENCODING="latin-1")
    assert run.returncode == 0, run.stderr
    shown = command(mail.parent, "explain", "one.eml", PYTHONIOENCODING="ascii")
    assert shown.returncode == 0, shown.stderr
    assert "\\u62a5\\u4ef7" in shown.stdout
