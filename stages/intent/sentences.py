"""Sentences: a long mail is read sentence by sentence, since one request decides what it wants."""

from __future__ import annotations

SURE = 0.6  # below this a sentence is taken for a plain statement
# What a plain statement counts towards 通知, and what acts count that the guidelines put above the rest.
STATEMENT, WEIGHTY, LATER = 0.3, 1.6, 0.5
# Pooling flattens: the exponent that brings the confidence back to the share of right answers.
SHARPEN = 1.6
_WEIGHTY_INTENTS = frozenset({"抱怨", "决策", "转交", "询问"})


def pool_sentences(labels: list[str], whole: list[float], sentences: list[list[float]]) -> list[float]:
    """Return the probabilities of a mail from those of its whole text and of its sentences.

    Half is a vote of the sentences (an unsure one is a statement, a later one counts more: the last explicit
    request wins over a preamble), a quarter their mean, a quarter the whole text. Under two sentences the
    whole text decides.
    """
    if len(sentences) < 2:
        return whole
    votes = [0.0] * len(labels)
    inform = labels.index("通知")
    for place, row in enumerate(sentences):
        top = max(row)
        if top < SURE:
            votes[inform] += STATEMENT
            continue
        best = row.index(top)
        weight = WEIGHTY if labels[best] in _WEIGHTY_INTENTS else 1.0
        votes[best] += weight * (1 + LATER * place / len(sentences))
    total = sum(votes)
    mean = [sum(column) / len(sentences) for column in zip(*sentences, strict=True)]
    pooled = [vote / total / 2 + (one + two) / 4 for vote, one, two in zip(votes, mean, whole, strict=True)]
    grown = [share**SHARPEN for share in pooled]
    return [share / sum(grown) for share in grown]
