"""Errors carry what a caller decides by, and keep it on their way between processes."""

from __future__ import annotations

import pickle

import pytest

from models import errors
from models.errors import AtlasError, BadInput, MailboxBusy, Transient, UsageError


def below(kind: type[AtlasError]) -> list[type[AtlasError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in below(child))]


TREE = [kind for kind in below(AtlasError) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling_with_all_it_carries(kind: type[AtlasError]) -> None:
    before = kind("no header", stage="decode", message="blake3:00", remedy="send it again")
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is kind
    assert vars(after) == vars(before)
    assert vars(after) == {
        "detail": "no header",
        "stage": "decode",
        "message": "blake3:00",
        "remedy": "send it again",
    }
    assert (after.args, str(after), after.kind) == (before.args, "no header", before.kind)


def test_an_error_needs_nothing_but_its_detail() -> None:
    after = pickle.loads(pickle.dumps(Transient("disk full")))
    assert (after.stage, after.message, after.remedy) == (None, None, None)


def test_each_kind_of_bad_input_has_the_name_that_the_report_counts_it_by() -> None:
    kinds = {kind.__name__: kind.kind for kind in below(BadInput) if kind is not BadInput}
    assert kinds == {
        "CorruptInput": "corrupt_input",
        "UnsupportedFeature": "unsupported_feature",
        "ResourceLimit": "resource_limit",
    }


def test_only_what_may_go_away_by_itself_is_transient() -> None:
    assert {kind for kind in TREE if kind.kind == "transient"} == {Transient, MailboxBusy}
    assert not issubclass(UsageError, Transient)
    assert not issubclass(MailboxBusy, Transient)  # a run that is refused has not begun
