"""The embedded classifier: a linear model over n-grams and cues, read from package data, pure Python."""

from __future__ import annotations

import base64
import json
import math
from array import array
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from stages.intent.features import Reading, cues_of

_LANE = 24  # bits of one label's sum: 65,000 hits of at most 255 fit
_MASK = (1 << _LANE) - 1
_SQUARE = 1024  # squared idf is kept in parts of this


class LinearModel(NamedTuple):
    """Weights by feature: int8 per label and n-gram (idf included), floats per cue.

    `packed` holds an n-gram's weights side by side in one integer (label i in bits 24 i and up, 128 added, its
    squared idf above the labels), so that one sum adds up everything; index 0 is no n-gram.
    """

    method: str
    labels: list[str]
    temperature: float
    scale: float
    bias: list[float]
    cues: dict[str, list[float]]
    places: dict[str, int]
    packed: list[int]


@cache
def load_model() -> LinearModel:
    """Return the model of the package (eval/intent/train.py writes it)."""
    raw = json.loads(files(__package__).joinpath("packs/linear.json").read_text(encoding="utf-8"))
    flat = array("b", base64.b64decode(raw["weights"]))
    width = len(raw["labels"])
    rows = [flat[start : start + width] for start in range(0, len(flat), width)]
    return LinearModel(
        raw["method"],
        raw["labels"],
        raw["temperature"],
        raw["scale"],
        raw["bias"],
        raw["cues"],
        {gram: index for index, gram in enumerate(raw["grams"], 1)},
        [0, *map(_pack, rows, raw["idf"])],
    )


def _pack(weights: array[int], idf: float) -> int:
    lanes = [weight + 128 for weight in weights] + [round(idf * idf * _SQUARE)]
    return sum(lane << (_LANE * place) for place, lane in enumerate(lanes))


def chances(reading: Reading) -> list[float]:
    """Return one probability per label of `load_model().labels` for what was read."""
    model = load_model()
    total = sum(map(model.packed.__getitem__, reading.grams))
    lift = 128 * len(reading.grams)
    sums = [((total >> (_LANE * place)) & _MASK) - lift for place in range(len(model.labels))]
    length = (total >> (_LANE * len(model.labels))) / _SQUARE
    factor = model.scale / (math.sqrt(length) or 1.0)
    scores = [bias + weight * factor for bias, weight in zip(model.bias, sums, strict=True)]
    for cue in cues_of(reading):
        row = model.cues.get(cue)
        if row is not None:
            scores = [score + value for score, value in zip(scores, row, strict=True)]
    return softmax([score / model.temperature for score in scores])


def softmax(scores: list[float]) -> list[float]:
    """Return probabilities that sum to 1."""
    highest = max(scores)
    grown = [math.exp(score - highest) for score in scores]
    total = sum(grown)
    return [value / total for value in grown]
