"""Votes simulated from the shared-evidence model."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.evidence.density import Model
from quorate.models.evidence.tables import Question, sampled


def simulate(rng: np.random.Generator, theta: Floats, model: Model, scores: Floats, regime: Ints) -> Ints:
    """Votes of every expert on cases with these scores (n, M, K) under parameters (D,): (n, H)."""
    nobody = np.full(model.shape.experts, -1, dtype=np.int64)
    everyone = np.arange(model.shape.experts)
    votes = []
    for row, number in zip(scores, regime, strict=True):
        question = Question(np.ascontiguousarray(row), int(number), everyone, nobody)
        votes.append(sampled(rng, theta[None], model, question, 1)[1][0, 0])
    return np.array(votes).reshape(len(scores), model.shape.experts)
