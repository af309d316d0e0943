"""Whom to ask next: the expert whose vote is expected to tell most about the outcome (paper, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.forecast import Forecast


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


@dataclass(frozen=True)
class InformationGain:
    """Scores each candidate by how much its vote is expected to lower the outcome's entropy."""

    def score(
        self, rng: np.random.Generator, case: Case, forecast: Forecast, candidates: tuple[str, ...]
    ) -> Mapping[str, float]:
        """Expected gain of each candidate in nats."""
        del rng, case  # a gain is a property of the forecast alone
        gains = {}
        for expert in candidates:
            joint = forecast.joint[expert]
            gains[expert] = float(entropy(joint.sum(axis=0))) - expected_entropy(joint)
        return gains


@dataclass(frozen=True)
class RandomOrder:
    """Asks the candidates in random order (the paper's random-querying ablation)."""

    def score(
        self, rng: np.random.Generator, case: Case, forecast: Forecast, candidates: tuple[str, ...]
    ) -> Mapping[str, float]:
        """A random number for each candidate."""
        del case, forecast  # chance looks at nothing
        return {expert: float(rng.random()) for expert in candidates}


@dataclass(frozen=True)
class PanelOrder:
    """Asks the candidates in the order the panel names them."""

    def score(
        self, rng: np.random.Generator, case: Case, forecast: Forecast, candidates: tuple[str, ...]
    ) -> Mapping[str, float]:
        """The earlier an expert is named, the larger."""
        del rng, case, forecast  # the order is fixed
        return {expert: -float(place) for place, expert in enumerate(candidates)}
