"""The embedded classifier: a linear model over n-grams and cues, read from package data, pure Python."""

from __future__ import annotations

import base64
import json
import math
from array import array
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from stages.intent.features import cue_features, ngram_features

_LANE = 24  # bits of one label's sum: 65,000 hits of at most 255 fit
_MASK = (1 << _LANE) - 1


class LinearModel(NamedTuple):
    """Weights by feature: int8 per label and n-gram (idf included), floats per cue.

    `packed` holds an n-gram's weights side by side in one integer (label i in bits 24 i and up, 128 added),
    so that one sum adds up all labels; index 0 is no n-gram.
    """

    method: str
    labels: list[str]
    temperature: float
    scale: float
    bias: list[float]
    cues: dict[str, list[float]]
    places: dict[str, int]
    squares: list[float]
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
        [0.0] + [idf * idf for idf in raw["idf"]],
        [0] + [sum((weight + 128) << (_LANE * place) for place, weight in enumerate(row)) for row in rows],
    )


def chances(text: str) -> list[float]:
    """Return one probability per label of `load_model().labels` for a normal text."""
    model = load_model()
    hits = list(filter(None, map(model.places.get, ngram_features(text))))
    length = math.fsum(map(model.squares.__getitem__, hits))
    total = sum(map(model.packed.__getitem__, hits))
    lift = 128 * len(hits)
    sums = [((total >> (_LANE * place)) & _MASK) - lift for place in range(len(model.labels))]
    factor = model.scale / (math.sqrt(length) or 1.0)
    scores = [bias + weight * factor for bias, weight in zip(model.bias, sums, strict=True)]
    for cue in cue_features(text):
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
