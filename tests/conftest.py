"""What holds for all tests: drawn examples are the same in every run, so that a test fails for its change only."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
