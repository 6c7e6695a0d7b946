"""The seven stages, in order, and the table that names them with their versions."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module

NAMES = ("fetch", "decode", "dequote", "thread", "entities", "intent", "normalize")


def version(stage: str) -> str:
    """Return the version of a stage's rules (`VERSION` in its face)."""
    return str(import_module(f"stages.{stage}").VERSION)


@cache
def extraction_version() -> str:
    """Return the version that every Email carries: it changes when any stage's rules change."""
    versions = [f"{name}{version(name)}" for name in NAMES]
    return "v1." + hashlib.blake2s("/".join(versions).encode(), digest_size=4).hexdigest()
