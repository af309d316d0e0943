"""What a vote is worth for what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.protocols import Chooser


def per_cost(worth: Mapping[str, float], costs: Mapping[str, float] | None) -> dict[str, float]:
    """What each vote is worth per cost; those that cost nothing come first, by their worth.

    Nothing can be divided by a cost of 0: such a vote counts its whole worth, and 1 more than the best of the others.

    >>> per_cost({"ann": 0.5, "ben": 0.2}, {"ann": 5.0, "ben": 1.0})
    {'ann': 0.1, 'ben': 0.2}
    >>> per_cost({"ann": 0.5, "ben": 0.2}, {"ann": 5.0, "ben": 0.0})
    {'ann': 0.1, 'ben': 1.3}
    >>> per_cost({"ann": 0.5, "ben": 0.2}, None)
    {'ann': 0.5, 'ben': 0.2}
    """
    if costs is None:
        return dict(worth)
    paid = {expert: value / costs[expert] for expert, value in worth.items() if costs[expert] > 0}
    first = 1.0 + max(paid.values(), default=0.0)
    return {expert: paid[expert] if expert in paid else first + value for expert, value in worth.items()}


def measured(measure: str, *, weighed: bool) -> str:
    """A measure in words, per cost where costs are weighed.

    >>> measured("nats of information", weighed=True)
    'nats of information per cost'
    """
    return f"{measure} per cost" if weighed else measure


@dataclass(frozen=True)
class CostBlind:
    """Another chooser, told nothing of costs."""

    chooser: Chooser

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """The other chooser's scores as if everyone cost the same."""
        del costs
        return self.chooser.score(rng, case, forecast, candidates)

    def measure(self, *, weighed: bool) -> str:
        """That of the other chooser without costs."""
        del weighed
        return self.chooser.measure(weighed=False)
