"""Whom to ask next: the expert whose vote is expected to tell most about the outcome (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.policy.cost import measured, per_batch_cost, per_cost
from quorate.policy.votes import given_votes, outlook_of, votes_of


def entropy(p: Floats) -> Floats:
    """Shannon entropy in nats along the last axis, 0 log 0 being 0.

    >>> round(float(entropy(np.array([0.5, 0.5]))), 4)
    0.6931
    """
    terms = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    total: Floats = -terms.sum(axis=-1)
    return total


def expected_entropy(joint: Floats) -> float:
    """Expected entropy of the outcome after some votes, from the masses of ways to vote and outcomes (R, J).

    >>> round(expected_entropy(np.array([[0.5, 0.0], [0.0, 0.5]])), 4)
    0.0
    """
    return float(joint.sum(axis=1) @ entropy(given_votes(joint)))


def information(forecast: Forecast, candidates: tuple[str, ...]) -> dict[str, float]:
    """How much the vote of each candidate is expected to lower the outcome's entropy, in nats.

    >>> told = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> seen = Forecast(("no", "yes"), ("no", "yes"), (0.5, 0.5), {"ann": told}, ("ann",))
    >>> round(information(seen, ("ann",))["ann"], 4)
    0.6931
    """
    if not candidates:
        return {}
    joint = np.array([forecast.joint[expert] for expert in candidates])  # (C, K, J)
    now, votes, after = entropy(joint.sum(axis=1)), joint.sum(axis=2), entropy(given_votes(joint))
    return {expert: float(now[place]) - float(votes[place] @ after[place]) for place, expert in enumerate(candidates)}


@dataclass(frozen=True)
class InformationGain:
    """Scores each candidate by how much its vote is expected to lower the outcome's entropy, for its cost."""

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """Expected gain of each candidate in nats, or in nats per cost."""
        del rng  # a gain is a property of the forecast alone
        return per_cost(information(choice.forecast, choice.candidates), choice.costs)

    def together(self, choice: Choice, batches: Sequence[tuple[str, ...]]) -> list[float]:
        """Expected gain of the votes of each batch, beyond that of the votes that are pending, or that per cost."""
        outlook = outlook_of(choice)
        before = expected_entropy(votes_of(outlook, choice.pending))
        gains = [before - expected_entropy(votes_of(outlook, (*choice.pending, *batch))) for batch in batches]
        return per_batch_cost(gains, batches, choice.costs)

    def measure(self, *, weighed: bool) -> str:
        """Nats."""
        return measured("nats of information", weighed=weighed)


@dataclass(frozen=True)
class RandomOrder:
    """Asks the candidates in random order (the paper's random-querying ablation)."""

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """A random number for each candidate."""
        return {expert: float(rng.random()) for expert in choice.candidates}

    def measure(self, *, weighed: bool) -> str:
        """Nothing but chance."""
        del weighed
        return "random numbers"


@dataclass(frozen=True)
class PanelOrder:
    """Asks the candidates in the order the panel names them."""

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """The earlier an expert is named, the larger."""
        del rng  # the order is fixed
        return {expert: -float(place) for place, expert in enumerate(choice.candidates)}

    def measure(self, *, weighed: bool) -> str:
        """The order alone."""
        del weighed
        return "minus the place in the panel"
