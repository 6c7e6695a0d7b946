"""The figures are those of the handed-over scorers, on a sample of each set and with spoiled answers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eval.scoring import decode, dequote, shapes, thread, zones
from eval.scoring.intervals import summed
from eval.scoring.probe import ask_stage
from eval.scoring.records import Measure, Outcome
from eval.scoring.sets import read_set

Rows = Callable[[str, int], list[dict[str, Any]]]
Scorer = Callable[[str], ModuleType]


def figures(outcome: Outcome, measures: tuple[Measure, ...]) -> dict[str, float | None]:
    totals = summed(outcome.units)
    return {measure.name: measure.value(totals) for measure in measures}


def spoiled(text: str, chance: random.Random) -> str:
    """Return `text` with some words gone and some added."""
    words = text.split(" ")
    kept = [word for word in words if chance.random() > 0.1]
    return " ".join([*kept, "spare"] if chance.random() < 0.3 else kept)


def test_dequote_figures_of_whole_texts(shared_rows: Rows, shared_scorer: Scorer) -> None:
    rows, scorer = shared_rows("dequote/public_dev.jsonl", 3), shared_scorer("dequote/score.py")
    answers = ask_stage("dequote", shapes.CLEAN.ask(rows))
    chance = random.Random(4)
    for number, row in enumerate(rows):
        if number % 3 == 0:
            answers[row["id"]]["clean"] = spoiled(answers[row["id"]]["clean"], chance)
        if number % 17 == 0:
            del answers[row["id"]]
    theirs = scorer.roll([scorer.score_one(row, answers.get(row["id"])) for row in rows])
    ours = figures(dequote.score_dequote(rows, answers), dequote.MEASURES)
    named = {"exact": "exact", "strict": "strict", "lost": "lost", "left": "left"}
    named |= {"removal_precision": "remP", "removal_recall": "remR"}
    assert {name: ours[name] for name in named} == pytest.approx(
        {name: theirs[their] for name, their in named.items()}
    )
    assert 0 < theirs["lost"] < 0.5 < theirs["exact"] < 1


@pytest.mark.parametrize("name", ["zones_dev", "zones_cjk_dev"])
def test_dequote_figures_of_lines(name: str, shared_rows: Rows, shared_scorer: Scorer) -> None:
    rows, scorer = shared_rows(f"dequote/{name}.jsonl", 7), shared_scorer("dequote/score_zones.py")
    answers = ask_stage("dequote", shapes.ZONES.ask(rows))
    for number, row in enumerate(rows):
        if number % 5 == 0:
            answers[row["id"]]["clean"] = "\n".join(row["text"].splitlines()[::2])
        if number % 13 == 0:
            del answers[row["id"]]
    theirs, _ = scorer.total(scorer.score(rows, answers))
    ours = figures(zones.score_zones(rows, answers), zones.MEASURES)
    named = {"lost": "lost", "left": "left", "exact": "exact", "any_loss": "anyloss", "macro_f1": "macroF1"}
    assert {one: ours[one] for one in named} == pytest.approx(
        {one: theirs[key] for one, key in named.items()}
    )
    by_kind = {kind: figure["F1"] for kind, figure in theirs["kinds"].items()}
    assert {kind: ours[f"f1_{kind}"] for kind in by_kind} == pytest.approx(by_kind)
    assert 0 < theirs["lost"] < 1


def test_thread_figures(shared_rows: Rows, shared_scorer: Scorer) -> None:
    rows, scorer = shared_rows("thread/cjk_dev.jsonl", 1)[:500], shared_scorer("thread/score.py")
    chance = random.Random(5)
    answers: dict[str, dict[str, Any]] = {}
    for row in rows:
        name = str(row["gold_thread"]) if chance.random() > 0.2 else f"thr-{chance.randrange(40)}"
        if chance.random() > 0.05:
            answers[row["id"]] = {"thread_id": name}
        if chance.random() < 0.1:
            answers[row["id"] + "~b"] = {"thread_id": name}
    gold = {row["id"]: (row["gold_thread"], row["date"]) for row in rows if not row["ambiguous"]}
    theirs = scorer.score(gold, {name: answer["thread_id"] for name, answer in answers.items()})
    ours = figures(thread.score_thread(rows, answers), thread.MEASURES)
    named = {"pair_f1": "pairF1", "pair_precision": "pairP", "pair_recall": "pairR", "b3_f1": "b3F1"}
    named |= {"exact": "exact", "exact_all": "exact1", "human": "human", "join": "join", "false": "false"}
    assert {one: ours[one] for one in named} == pytest.approx(
        {one: theirs[key] for one, key in named.items()}
    )
    assert 0 < theirs["false"] < 1


def test_headers_are_lost_by_the_same_mails_as_in_the_drop30_ablation(
    shared_rows: Rows, shared_scorer: Scorer
) -> None:
    rows, ablation = shared_rows("thread/cjk_dev.jsonl", 1)[:400], shared_scorer("thread/ablate.py")
    theirs = ablation.ablate(rows, "drop30", 7)
    ours = list(thread.without_headers(rows))
    keys = ("id", "in_reply_to", "references", "thread_index", "subject")
    assert [[row[key] for key in keys] for row in ours] == [[row[key] for key in keys] for row in theirs]
    assert any(row["in_reply_to"] != one["in_reply_to"] for row, one in zip(rows, ours, strict=True))


def test_decode_figures(shared_rows: Rows, shared_scorer: Scorer) -> None:
    scorer = shared_scorer("decode/score.py")
    shared_rows("decode/dev/MANIFEST.jsonl", 1)
    labelled, shape = read_set(Path(scorer.__file__).parent / "dev")
    rows = [row for row in labelled.rows if row["golden"]][::2]
    answers = ask_stage("decode", shape.ask(rows))
    outcome = decode.score_decode(rows, answers)
    for unit in outcome.units:
        row = next(row for row in rows if row["id"] == unit.id)
        parts = answers[row["id"]].get("parts") or []
        texts = {scorer.norm(part["text"]) for part in parts if isinstance(part.get("text"), str)}
        if "stalwart" in row["source"]["repo"]:
            golden = json.loads(Path(row["golden"][0]).read_text(encoding="utf-8"))
            bodies = [part["body"] for part in golden["parts"] if isinstance(part.get("body"), dict)]
            want = [text for body in bodies for key, text in body.items() if key in ("Text", "Html")]
            right = not [text for text in want if scorer.norm(text) and scorer.norm(text) not in texts]
            assert unit.counts["texts_right"] == right
    raw = b"From: a@b.example\n\n" + b"words " * 300
    assert list(decode.damaged(raw, "one", 3)) == list(scorer.mutants(raw, "one", 3))
