"""The fork server's warm-up: what a worker would compile at its first message is there before it is forked."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from stages.dequote.packs import rule_book
from stages.entities.date_rules import rule_table
from stages.intent.linear import load_model
made = [rule_book, rule_table, load_model]
before = [one.cache_info().currsize for one in made]
import flows.warm
print(before, [one.cache_info().currsize > 0 for one in made])
"""


def test_rules_and_models_are_made_by_the_warm_up() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert told.stdout.split("]", 1) == ["[0, 0, 0", " [True, True, True]\n"]
