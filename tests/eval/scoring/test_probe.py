"""The product is asked by its own command, wherever the user stands, and every row is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.scoring.probe import ask_stage
from models.errors import Defect


def test_files_and_settings_of_the_user_do_not_change_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATLAS_TENANT", "")
    answers = ask_stage("dequote", [{"id": "1", "kind": "text", "input": "Fine."}, {"id": "2"}])
    assert answers["1"]["clean"] == "Fine."
    assert set(answers) == {"1", "2"}
    assert answers["1"]["ms"] >= 0


def test_a_configuration_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "atlas.toml").write_text("compani_domains = []", encoding="utf-8")
    with pytest.raises(Defect, match=r"exit code 64.*compani_domains"):
        ask_stage("intent", [{"id": "1"}], str(tmp_path / "atlas.toml"))
