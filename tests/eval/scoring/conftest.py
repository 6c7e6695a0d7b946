"""Where the labelled sets beside the repository are, for the tests that read them in place."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared" / "eval"


@pytest.fixture(scope="session")
def shared_rows() -> Callable[[str, int], list[dict[str, Any]]]:
    """Return `rows(file, step)`: every step-th row of a shared set; skips the test where it is missing."""

    def rows(name: str, step: int) -> list[dict[str, Any]]:
        file = SHARED / name
        if not file.is_file():
            pytest.skip(f"the optional folder ../shared has no {name}")
        lines = file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines[::step]]

    return rows


@pytest.fixture(scope="session")
def shared_scorer() -> Callable[[str], ModuleType]:
    """Return `load(file)`: a handed-over scorer as a module; skips the test where it is missing."""

    def load(name: str) -> ModuleType:
        file = SHARED / name
        if not file.is_file():
            pytest.skip(f"the optional folder ../shared has no {name}")
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        spec = importlib.util.spec_from_file_location("shared_" + name.replace("/", "_")[:-3], file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.dont_write_bytecode = written
        return module

    return load
