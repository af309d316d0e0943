"""Whom to ask next: the expert after whose vote the case can most probably settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.policy.cost import measured, per_cost
from quorate.policy.information import information
from quorate.policy.stopping import Rule

TIE = 1e-6
"""What a nat of information is worth beside a probability of 1: it matters only where probabilities tie."""


def given_votes(joint: Floats) -> Floats:
    """Outcome probabilities after each vote, from masses (..., J) that need not sum to 1; 0 where a vote has no mass.

    >>> given_votes(np.array([[0.125, 0.375], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    total = joint.sum(axis=-1, keepdims=True)
    values: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return values


@dataclass(frozen=True)
class SettlingChance:
    """Scores each candidate by the probability that its vote settles the case, for its cost.

    Where probabilities tie, as they do while nobody can settle it alone, the vote that tells most is asked for: 1e-6
    for each nat of information is added.
    """

    rule: Rule

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """Probability to settle right after the vote of each candidate, or that per cost."""
        del rng, case  # the forecast says it all
        gains = information(forecast, candidates)
        worth = {}
        for expert in candidates:
            joint = forecast.joint[expert]
            settles = self.rule.enough(given_votes(joint))
            worth[expert] = float(joint.sum(axis=1) @ settles) + TIE * gains[expert]
        return per_cost(worth, costs)

    def measure(self, *, weighed: bool) -> str:
        """A probability."""
        return measured("probability to settle", weighed=weighed)
