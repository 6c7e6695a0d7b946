"""Train the embedded intent classifier on the authored mails and write its weights as package data.

    python -m eval.intent.train            # cross-validate, then write stages/intent/packs/linear.json
    python -m eval.intent.train --check    # cross-validate only

Multinomial logistic regression over tf-idf n-grams and cue groups, full-batch gradient steps from zero in a
fixed order: the same rows give the same weights. The temperature is fitted on the held-out folds. Needs
numpy, which the product itself does not.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from models.message import INTENTS
from stages.intent.cues import load_pack
from stages.intent.features import Piece, Reading, cues_of, join, ngrams, read, split_pieces

HERE = Path(__file__).parent
WEIGHTS = HERE.parents[1] / "stages" / "intent" / "packs" / "linear.json"
FOLDS, STEPS, RATE = 5, 400, 0.5
MIN_ROWS, CUE_VALUE, DECAY, NGRAM_GAIN = 2, 0.3, 1e-3, 1.0
Array = Any


def load_rows() -> list[dict[str, Any]]:
    """Return the authored rows, sorted by id."""
    lines = (HERE / "authored.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda row: str(row["id"]))


class Features:
    """The vocabulary of a training set, and rows as vectors over it."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        counts: Counter[str] = Counter()
        for row in rows:
            counts.update({gram for piece in pieces_of(row) for gram in ngrams(piece.text)})
        self.grams = sorted(gram for gram, count in counts.items() if count >= MIN_ROWS)
        self.cues = sorted(
            {f"cue:{group}{plus}" for group in load_pack() for plus in ("", "+")} | {"cue:short"}
        )
        self.idf = np.array(
            [math.log((1 + len(rows)) / (1 + counts[gram])) + 1 for gram in self.grams], dtype=np.float64
        )
        self.place = {gram: index for index, gram in enumerate(self.grams, 1)}
        self.cue_place = {cue: len(self.grams) + index for index, cue in enumerate(self.cues)}

    def matrix(self, rows: list[dict[str, Any]]) -> Array:
        """Return one row per mail: n-grams with idf, length 1 together; cues with a fixed value."""
        found = np.zeros((len(rows), len(self.grams) + len(self.cues)))
        for number, row in enumerate(rows):
            whole = self.read(row)
            places = [place - 1 for place in whole.grams]
            found[number, places] = self.idf[places]
            found[number] *= NGRAM_GAIN / (np.linalg.norm(found[number]) or 1.0)
            for cue in cues_of(whole):
                found[number, self.cue_place[cue]] = CUE_VALUE
        return found

    def read(self, row: dict[str, Any]) -> Reading:
        """Return the features of the head and tail of a mail, as the stage reads them."""
        return join(read(piece, self.place) for piece in pieces_of(row))


def pieces_of(row: dict[str, Any]) -> list[Piece]:
    """Return the pieces of a mail's head and tail."""
    return [piece for piece in split_pieces(row["subject"], row["text"]) if piece.whole]


def fit(matrix: Array, labels: Array) -> tuple[Array, Array]:
    """Return weights (features x 8) and bias after a fixed number of Nesterov steps."""
    weights, bias = np.zeros((matrix.shape[1], len(INTENTS))), np.zeros(len(INTENTS))
    speed_w, speed_b = np.zeros_like(weights), np.zeros_like(bias)
    target = np.eye(len(INTENTS))[labels]
    rate = RATE * 4
    for _ in range(STEPS):
        ahead_w, ahead_b = weights + 0.9 * speed_w, bias + 0.9 * speed_b
        error = softmax(matrix @ ahead_w + ahead_b) - target
        speed_w = 0.9 * speed_w - rate * (matrix.T @ error / len(labels) + DECAY * ahead_w)
        speed_b = 0.9 * speed_b - rate * error.mean(axis=0)
        weights, bias = weights + speed_w, bias + speed_b
    return weights, bias


def softmax(scores: Array) -> Array:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def fit_temperature(scores: Array, labels: Array) -> float:
    """Return the temperature (of a fixed grid) with the least held-out log loss."""
    grid = [round(0.1 + 0.02 * step, 2) for step in range(100)]
    chosen = np.arange(len(labels))
    return min(grid, key=lambda heat: float(-np.log(softmax(scores / heat)[chosen, labels] + 1e-12).mean()))


def cross_validate(rows: list[dict[str, Any]]) -> tuple[float, Array, Array]:
    """Return the temperature, held-out scores and labels over all rows."""
    labels = np.array([INTENTS.index(row["primary"]) for row in rows])
    held = np.arange(len(rows)) % FOLDS
    scores = np.zeros((len(rows), len(INTENTS)))
    for fold in range(FOLDS):
        training = [row for row, part in zip(rows, held, strict=True) if part != fold]
        features = Features(training)
        weights, bias = fit(features.matrix(training), labels[held != fold])
        testing = [row for row, part in zip(rows, held, strict=True) if part == fold]
        scores[held == fold] = features.matrix(testing) @ weights + bias
    return fit_temperature(scores, labels), scores, labels


def report(scores: Array, labels: Array, heat: float) -> dict[str, float]:
    """Return top-1, top-3, log loss and expected calibration error (10 bins) of scores."""
    chances = softmax(scores / heat)
    order = np.argsort(-chances, axis=1)
    right = order[:, 0] == labels
    sure = chances.max(axis=1)
    bins = np.minimum((sure * 10).astype(int), 9)
    gap = sum(
        abs(right[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist())
    )
    return {
        "top1": round(float(right.mean()), 3),
        "top3": round(float((order[:, :3] == labels[:, None]).any(axis=1).mean()), 3),
        "ece": round(float(gap), 3),
        "sure": round(float((sure >= 0.6).mean()), 3),
        "sure_right": round(float(right[sure >= 0.6].mean()), 3),
    }


def write_weights(rows: list[dict[str, Any]], heat: float, path: Path = WEIGHTS) -> None:
    """Write the model trained on all rows: int8 weights per feature (idf included), one scale for all."""
    features = Features(rows)
    labels = np.array([INTENTS.index(row["primary"]) for row in rows])
    weights, bias = fit(features.matrix(rows), labels)
    split = len(features.grams)
    grams = weights[:split] * features.idf[:, None] * NGRAM_GAIN
    scale = float(np.abs(grams).max()) / 127
    packed = np.clip(np.rint(grams / scale), -127, 127).astype(np.int8)
    model = {
        "method": "linear-v1",
        "labels": list(INTENTS),
        "temperature": heat,
        "scale": round(scale, 9),
        "bias": [round(float(value), 6) for value in bias],
        "cues": {
            cue: [round(float(value) * CUE_VALUE, 5) for value in weights[split + index]]
            for index, cue in enumerate(features.cues)
        },
        "grams": features.grams,
        "idf": [round(float(value), 3) for value in features.idf],
        "weights": base64.b64encode(packed.tobytes()).decode("ascii"),
    }
    path.write_text(json.dumps(model, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the embedded intent classifier.")
    parser.add_argument("--check", action="store_true", help="cross-validate only, write nothing")
    arguments = parser.parse_args()
    rows = load_rows()
    heat, scores, labels = cross_validate(rows)
    print(f"{len(rows)} rows, {FOLDS} folds, temperature {heat}: {report(scores, labels, heat)}")
    if not arguments.check:
        write_weights(rows, heat)
        print(f"wrote {WEIGHTS} ({WEIGHTS.stat().st_size // 1024} KB)")


if __name__ == "__main__":
    main()
