"""Whom to ask next: the expert after whose vote the case can most probably settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.choice import Choice
from quorate.policy.cost import measured, per_batch_cost, per_cost
from quorate.policy.information import expected_entropy, information
from quorate.policy.stopping import Rule
from quorate.policy.votes import given_votes, outlook_of, votes_of

TIE = 1e-6
"""What a nat of information is worth beside a probability of 1: it matters only where probabilities tie."""


@dataclass(frozen=True)
class SettlingChance:
    """Scores each candidate by the probability that its vote settles the case, for its cost.

    Where probabilities tie, as they do while nobody can settle it alone, the vote that tells most is asked for: 1e-6
    for each nat of information is added.
    """

    rule: Rule

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """Probability to settle right after the vote of each candidate, or that per cost."""
        del rng  # the forecast says it all
        forecast = choice.forecast
        gains = information(forecast, choice.candidates)
        worth = {expert: self._chance(forecast.joint[expert]) + TIE * gains[expert] for expert in choice.candidates}
        return per_cost(worth, choice.costs)

    def together(self, choice: Choice, batches: Sequence[tuple[str, ...]]) -> list[float]:
        """Probability to settle after the votes of each batch, beyond that by pending ones, or that per cost.

        Less than by pending votes alone counts as no more: a loss that is divided by a cost would favour the dear.
        """
        outlook = outlook_of(choice)
        coming = votes_of(outlook, choice.pending)
        chance, doubt = self._chance(coming), expected_entropy(coming)
        worth = []
        for batch in batches:
            joint = votes_of(outlook, (*choice.pending, *batch))
            told = doubt - expected_entropy(joint)
            worth.append(max(self._chance(joint) - chance, 0.0) + TIE * told)
        return per_batch_cost(worth, batches, choice.costs)

    def _chance(self, joint: Floats) -> float:
        """Probability that the case settles by some votes, from their joint distribution with the outcome (R, J)."""
        return float(joint.sum(axis=1) @ self.rule.enough(given_votes(joint)))

    def measure(self, *, weighed: bool) -> str:
        """A probability."""
        return measured("probability to settle", weighed=weighed)
