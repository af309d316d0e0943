"""When to stop asking about a case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.core.arrays import Bools, Floats
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.errors import SettingsError

NOISE = 0.25
"""Largest Monte Carlo error of a stated error near the threshold, as a share of what is allowed."""
NEAR = 2.0
"""Monte Carlo errors within which a stated error counts as near the threshold."""


class Rule(Protocol):
    """What a chooser that looks ahead must know of a stopper."""

    def enough(self, values: Floats) -> Bools:
        """Whether to stop at each of many outcome probabilities: (..., J) to (...)."""

    def used(self, values: Floats) -> Floats:
        """The share of what is allowed that stopping there uses up: (..., J) to (...)."""


@dataclass(frozen=True)
class ErrorBelow:
    """Stops as soon as the stated error is at most `max_error` (paper section 6), or the expected loss is.

    `noise` is the largest Monte Carlo error near the threshold as a share of what is allowed; None does not look at it.
    `gravity` is how grave it is to miss each outcome, as forecasts have it; None where all are alike.

    >>> ErrorBelow(0.01).max_error
    0.01
    """

    max_error: float
    noise: float | None = NOISE
    gravity: tuple[float, ...] | None = None  # (J,)

    def __post_init__(self) -> None:
        if not 0 <= self.max_error < 1:
            raise SettingsError(f"max error {self.max_error:g} is out of range; expected a number from 0 up to below 1")

    def settled(self, case: Case, forecast: Forecast) -> bool:
        """Whether the stated error, or the expected loss, is small enough."""
        del case  # only the forecast counts
        return bool(self.enough(np.array(forecast.values)))

    def enough(self, values: Floats) -> Bools:
        """Whether that is small enough at each of many outcome probabilities: (..., J) to (...).

        >>> ErrorBelow(0.05).enough(np.array([[0.98, 0.02], [0.9, 0.1]])).tolist()
        [True, False]
        >>> ErrorBelow(0.05, gravity=(1.0, 5.0)).enough(np.array([[0.98, 0.02], [0.04, 0.96]])).tolist()
        [False, True]
        """
        small: Bools = self._stated(values) <= self.max_error
        return small

    def used(self, values: Floats) -> Floats:
        """The share of what is allowed that each uses up, above 1 where it is not enough; 0 where nothing is allowed.

        >>> ErrorBelow(0.04).used(np.array([[0.98, 0.02], [0.92, 0.08]])).round(9).tolist()
        [0.5, 2.0]
        """
        return self._stated(values) / (self.max_error or math.inf)

    def _stated(self, values: Floats) -> Floats:
        values = values if self.gravity is None else values * np.array(self.gravity)
        leader = values.argmax(axis=-1)
        others: Floats = np.zeros(values.shape[:-1])
        for outcome in range(values.shape[-1]):  # one after the other, as a forecast states its error
            others = others + np.where(leader == outcome, 0.0, values[..., outcome])
        return others

    def wanted(self, case: Case) -> int | None:
        """That depends on the votes."""
        del case
        return None

    def doubt(self, forecast: Forecast) -> str | None:
        """Near the threshold the Monte Carlo error of what is held against it must be small."""
        found = forecast.health.monte_carlo_error
        if self.noise is None or found is None:
            return None
        found, stated, what = found * self._gravest(forecast), forecast.error, "stated error"
        if self.gravity is not None:
            stated, what = forecast.loss, "expected loss"
        if found <= self.noise * self.max_error or stated + NEAR * found <= self.max_error:
            return None
        return (
            f"the Monte Carlo error {found:.2g} of the {what} {stated:.2g} is above "
            f"{self.noise:g} times the allowed {self.max_error:g}"
        )

    def _gravest(self, forecast: Forecast) -> float:
        """The most that an error of probability can weigh: it is to miss the gravest of the other outcomes."""
        if self.gravity is None:
            return 1.0
        leader = forecast.leader
        return max(weight for j, weight in enumerate(self.gravity) if j != leader)


@dataclass(frozen=True)
class VotesSeen:
    """Stops once so many experts have voted; None asks on while anyone is left."""

    votes: int | None

    def settled(self, case: Case, forecast: Forecast) -> bool:
        """Whether enough experts have voted."""
        del forecast  # only the number of votes counts
        return self.votes is not None and len(case.votes) >= self.votes

    def wanted(self, case: Case) -> int | None:
        """As many as are missing."""
        return None if self.votes is None else max(self.votes - len(case.votes), 0)

    def doubt(self, forecast: Forecast) -> str | None:
        """Votes are counted without noise."""
        del forecast
        return None
