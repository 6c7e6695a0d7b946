"""Scoring: how right each stage is, on labelled mail.

`evaluate` asks the product by its command and returns a report: every figure with its interval, by language
and suite, the change to a baseline, the worst misses. `shapes.py` lists the kinds of labelled rows.
"""

from eval.scoring.run import evaluate

__all__ = ["evaluate"]
