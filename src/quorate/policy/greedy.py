"""Whom to ask next: the expert most often right so far, now and then another one; and ties left to chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.core.choice import Choice
from quorate.core.protocols import Chooser
from quorate.errors import SettingsError

UNKNOWN = 0.5
"""Accuracy of an expert of whom the forecast says nothing."""

CLOSE = 1e-12
"""Scores nearer than this to the largest are equal to it but for rounding."""


@dataclass(frozen=True)
class EpsilonGreedy:
    """Asks the candidate of highest observed accuracy, ties at random; with probability epsilon, anyone.

    >>> EpsilonGreedy().epsilon
    0.1
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise SettingsError(f"epsilon {self.epsilon:g} is out of range; expected a number from 0 to 1")

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """Observed accuracy of each candidate, the one to be asked lifted just above the best."""
        accuracy = {expert: choice.forecast.accuracy.get(expert, UNKNOWN) for expert in choice.candidates}
        if rng.random() < self.epsilon:
            return _lifted(rng, accuracy, choice.candidates)
        return _lifted(rng, accuracy, _leaders(accuracy))

    def measure(self, *, weighed: bool) -> str:
        """Accuracy, whatever it costs."""
        del weighed
        return "observed accuracy"


@dataclass(frozen=True)
class TiesAtRandom:
    """Another chooser, except that candidates who score alike are asked in random order."""

    chooser: Chooser

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """The other chooser's scores, one of the leaders lifted just above the rest."""
        scores = self.chooser.score(rng, choice)
        return _lifted(rng, scores, _leaders(scores))

    def measure(self, *, weighed: bool) -> str:
        """That of the other chooser."""
        return self.chooser.measure(weighed=weighed)


def _leaders(scores: Mapping[str, float]) -> tuple[str, ...]:
    best = max(scores.values())
    return tuple(expert for expert, score in scores.items() if score >= best - CLOSE)


def _lifted(rng: np.random.Generator, scores: Mapping[str, float], among: tuple[str, ...]) -> dict[str, float]:
    """The scores with one of some experts, drawn at random, put first by the least a number can be."""
    first = among[int(rng.integers(len(among)))]
    return {**scores, first: math.nextafter(max(scores.values()), math.inf)}
