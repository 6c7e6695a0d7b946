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


class LinearModel(NamedTuple):
    """Weights by feature: one int8 column per label over the n-grams (idf included), floats per cue."""

    method: str
    labels: list[str]
    temperature: float
    scale: float
    bias: list[float]
    cues: dict[str, list[float]]
    places: dict[str, int]
    squares: list[float]
    columns: list[array[int]]


@cache
def load_model() -> LinearModel:
    """Return the model of the package (eval/intent/train.py writes it)."""
    raw = json.loads(files(__package__).joinpath("packs/linear.json").read_text(encoding="utf-8"))
    flat = array("b", base64.b64decode(raw["weights"]))
    return LinearModel(
        raw["method"],
        raw["labels"],
        raw["temperature"],
        raw["scale"],
        raw["bias"],
        raw["cues"],
        {gram: index for index, gram in enumerate(raw["grams"])},
        [idf * idf for idf in raw["idf"]],
        [flat[place :: len(raw["labels"])] for place in range(len(raw["labels"]))],
    )


def chances(text: str) -> list[float]:
    """Return one probability per label of `load_model().labels` for a normal text."""
    model = load_model()
    places = model.places
    hits = sorted(places[gram] for gram in ngram_features(text) if gram in places)
    length = math.fsum(map(model.squares.__getitem__, hits))
    sums = [sum(map(column.__getitem__, hits)) for column in model.columns]
    factor = model.scale / (math.sqrt(length) or 1.0)
    scores = [bias + total * factor for bias, total in zip(model.bias, sums, strict=True)]
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
