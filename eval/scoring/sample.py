"""The sample mailbox: one run of the whole pipeline, each stage scored on what it left in the records."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eval.sample_answers import Expected, read_emails, read_expected
from eval.sample_run import MAILBOX, SAMPLE, copy_curated, run_sample
from eval.scoring import decode
from eval.scoring.records import LabelledSet, Outcome, Row
from eval.scoring.shapes import CLEAN, ENTITIES, FETCHED, INTENTS, MAILS, OUTCOMES, THREADS, Shape
from models.email import Email
from models.errors import Defect
from models.report import QuarantineFile

NAME = "sample"


def _unharmed(rows: Sequence[Row], answers: Mapping[str, Row]) -> Outcome:
    return decode.score_decode(rows, answers, mutants=0)


_SHAPES = (
    FETCHED,
    MAILS._replace(score=_unharmed),
    CLEAN,
    THREADS,
    ENTITIES,
    INTENTS,
    OUTCOMES,
)


def sample_is_here() -> bool:
    """Return whether the sample mailbox is there (it is not part of an installed package)."""
    return MAILBOX.is_dir()


def run_and_pair(stages: Sequence[str]) -> Iterator[tuple[LabelledSet, Shape, dict[str, Row]]]:
    """Run the pipeline over the sample and yield set, shape and answers for each of `stages`.

    Raises Defect where the run gives no report.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-eval-") as scratch:
        state = Path(scratch) / "state"
        copy_curated(SAMPLE / "state", state)
        ran = run_sample(state)
        if ran.report is None:
            raise Defect(f"the run over the sample mailbox ended with exit code {ran.exit_code}")
        yield from pair_up(stages, read_emails(state), ran.held)


def pair_up(
    stages: Sequence[str], emails: Sequence[Email], held: Sequence[QuarantineFile]
) -> Iterator[tuple[LabelledSet, Shape, dict[str, Row]]]:
    """Yield set, shape and answers for each of `stages`, from the records of a run and what it held back."""
    expected = read_expected(MAILBOX)
    found = answers_of(emails, held)
    for shape in _SHAPES:
        if shape.stage in stages:
            rows = list(rows_for(shape, expected, found))
            content = msgspec.json.encode(expected, order="sorted")
            labelled = LabelledSet(
                stage=shape.stage,
                name=NAME,
                shape=shape.name,
                path=str(MAILBOX),
                digest=hashlib.sha256(content).hexdigest()[:16],
                rows=rows,
            )
            yield labelled, shape, _told(shape, found)


def answers_of(emails: Sequence[Email], held: Sequence[QuarantineFile]) -> dict[str, Row]:
    """Return path in the mailbox → what the run says of that mail: its outcome, and its record if it has one."""
    answers: dict[str, Row] = {}
    for row in held:
        for place in row.locations:
            answers[place.uid] = {"outcome": f"quarantined as {row.kind}"}
    for email in emails:
        for number, place in enumerate(sorted(email.locations, key=lambda place: place.uid)):
            answers[place.uid] = {
                "outcome": "duplicate" if number else "written",
                "email": msgspec.to_builtins(email),
            }
    return answers


def rows_for(shape: Shape, expected: Mapping[str, Expected], found: Mapping[str, Row]) -> Iterator[Row]:
    """Yield the labelled rows of one stage; but for fetch and normalize only mails with a record of their own."""
    for name, answer in expected.items():
        if shape in (FETCHED, OUTCOMES):
            held = f"quarantined as {answer.quarantine_kind}"
            outcome = held if answer.outcome == "quarantined" else answer.outcome
            yield {"id": name, "outcome": outcome, "language": answer.language}
        elif answer.outcome == "written":
            yield {
                "id": name,
                "lang": answer.language,
                **_labels(shape.name, name, answer, found.get(name, {})),
            }


def _labels(shape: str, name: str, answer: Expected, found: Row) -> Row:
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    if shape == MAILS.name:
        kept = {key: plain[key] for key in ("language", "category", "attachments")}
        return {"path": str(MAILBOX / name), **kept}
    if shape == CLEAN.name:
        mail = base64.b64encode((MAILBOX / name).read_bytes()).decode()
        clean = {"expected_clean": answer.clean or "", "also_ok": answer.clean_also}
        return {"kind": "eml", "input_b64": mail, "is_forward": answer.is_forward, **clean}
    if shape == THREADS.name:
        email = found.get("email", {})
        return {
            "gold_thread": answer.thread or name,
            "subject": email.get("subject"),
            "date": email.get("sent_at") or "",
        }
    if shape == ENTITIES.name:
        keys = ("people", "dates", "amounts", "keywords", "actions", "customer")
        return {key: plain[key] for key in keys}
    text = {"subject": found.get("email", {}).get("subject"), "body_text_clean": answer.clean}
    labels = {"primary": answer.intent, "also_ok": answer.intent_also, "secondary": answer.secondary}
    return {**text, **labels}


def _told(shape: Shape, found: Mapping[str, Row]) -> dict[str, Row]:
    """Return what the records say, in the words of the stage's probe."""
    if shape in (FETCHED, OUTCOMES):
        return {name: {"outcome": answer["outcome"]} for name, answer in found.items()}
    told = {}
    for name, answer in found.items():
        if email := answer.get("email"):
            told[name] = {
                **email["entities"],
                **email["intent"],
                **{
                    key: email[key]
                    for key in ("thread_id", "is_forward", "language", "category", "low_confidence")
                },
                **{key: email[key] for key in ("attachments", "subject", "body_text")},
                "clean": email["body_text_clean"],
            }
    return told
