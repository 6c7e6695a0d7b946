"""What passes between an executor and the stages keeps its shape: pickled, compared, used as a key."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from models.batch import BatchOut, BatchRef, Quarantined, RunRef, Unreadable

RUN = RunRef(state="/srv/state", run_id="run-1")
REF = BatchRef(batch_id="decode-00ff", run=RUN, keys=("blake3:00", "blake3:01"), account="ann")
HELD = Quarantined(
    key="blake3:01",
    stage="decode",
    kind="corrupt_input",
    detail="no header",
    remedy="send it again",
    traceback="line 1",
)
OUT = BatchOut(
    stage="decode",
    ok=("blake3:00",),
    cached=1,
    quarantined=(HELD,),
    unreadable=(Unreadable(path="INBOX/3.eml", reason="vanished"),),
    seconds=0.25,
)
VALUES = [RUN, REF, HELD, OUT, BatchRef(batch_id="x", run=RUN, keys=()), BatchOut(stage="fetch")]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_reference_or_outcome_survives_pickling(value: object, protocol: int) -> None:
    copy = pickle.loads(pickle.dumps(value, protocol))
    assert copy == value
    assert type(copy) is type(value)
    assert hash(copy) == hash(value)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_reference_or_outcome_survives_as_json(value: object) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_a_reference_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        REF.keys = ()  # type: ignore[misc]
    assert {REF: 1}[msgspec.structs.replace(REF)] == 1


def test_the_shapes_that_executors_rely_on_are_as_they_were() -> None:
    assert RunRef.__struct_fields__ == ("state", "run_id")
    assert BatchRef.__struct_fields__ == ("batch_id", "run", "keys", "account")
    assert BatchOut.__struct_fields__ == ("stage", "ok", "cached", "quarantined", "unreadable", "seconds")
    assert Quarantined.__struct_fields__ == ("key", "stage", "kind", "detail", "remedy", "traceback")
    assert Unreadable.__struct_fields__ == ("path", "reason")
