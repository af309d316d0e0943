"""Whom to ask next: the expert whose vote is expected to tell most about the outcome (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.policy.cost import measured, per_cost


def entropy(p: Floats) -> Floats:
    """Shannon entropy in nats along the last axis, 0 log 0 being 0.

    >>> round(float(entropy(np.array([0.5, 0.5]))), 4)
    0.6931
    """
    terms = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    total: Floats = -terms.sum(axis=-1)
    return total


def expected_entropy(joint: Floats) -> float:
    """Expected entropy of the outcome after one expert's vote, from their joint distribution (K, J).

    >>> round(expected_entropy(np.array([[0.5, 0.0], [0.0, 0.5]])), 4)
    0.0
    """
    votes = joint.sum(axis=1, keepdims=True)
    outcome_given_vote = np.divide(joint, votes, out=np.zeros_like(joint), where=votes > 0)
    return float(votes[:, 0] @ entropy(outcome_given_vote))


def information(forecast: Forecast, candidates: tuple[str, ...]) -> dict[str, float]:
    """How much the vote of each candidate is expected to lower the outcome's entropy, in nats.

    >>> told = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> seen = Forecast(("no", "yes"), ("no", "yes"), (0.5, 0.5), {"ann": told}, ("ann",))
    >>> round(information(seen, ("ann",))["ann"], 4)
    0.6931
    """
    gains = {}
    for expert in candidates:
        joint = forecast.joint[expert]
        gains[expert] = float(entropy(joint.sum(axis=0))) - expected_entropy(joint)
    return gains


@dataclass(frozen=True)
class InformationGain:
    """Scores each candidate by how much its vote is expected to lower the outcome's entropy, for its cost."""

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """Expected gain of each candidate in nats, or in nats per cost."""
        del rng, case  # a gain is a property of the forecast alone
        return per_cost(information(forecast, candidates), costs)

    def measure(self, *, weighed: bool) -> str:
        """Nats."""
        return measured("nats of information", weighed=weighed)


@dataclass(frozen=True)
class RandomOrder:
    """Asks the candidates in random order (the paper's random-querying ablation)."""

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """A random number for each candidate."""
        del case, forecast, costs  # chance looks at nothing
        return {expert: float(rng.random()) for expert in candidates}

    def measure(self, *, weighed: bool) -> str:
        """Nothing but chance."""
        del weighed
        return "random numbers"


@dataclass(frozen=True)
class PanelOrder:
    """Asks the candidates in the order the panel names them."""

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """The earlier an expert is named, the larger."""
        del rng, case, forecast, costs  # the order is fixed
        return {expert: -float(place) for place, expert in enumerate(candidates)}

    def measure(self, *, weighed: bool) -> str:
        """The order alone."""
        del weighed
        return "minus the place in the panel"
