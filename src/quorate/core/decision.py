"""The one step every method shares: ask one more expert, or settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.panel import Panel
from quorate.core.protocols import Chooser, Stopper


@dataclass(frozen=True)
class Query:
    """Ask this expert next; `reason` says why anyone is asked, `gains` what every candidate's vote is worth.

    `measure` says what the gains are in, such as "nats of information".
    """

    case: str
    expert: str
    gains: Mapping[str, float]
    forecast: Forecast = field(repr=False)
    reason: Literal["unsure", "unhealthy"]
    measure: str = "nats of information"


@dataclass(frozen=True)
class Settle:
    """Stop asking; `human_votes` is 0 where no person saw the case."""

    case: str
    outcome: str
    forecast: Forecast = field(repr=False)
    human_votes: int
    reason: Literal["certain", "sure", "tie", "nobody left"]

    @property
    def tied(self) -> tuple[str, ...]:
        """The outcomes that share the lead, where more than one does."""
        return self.forecast.leaders if len(self.forecast.leaders) > 1 else ()


Decision = Query | Settle


def decide(
    rng: np.random.Generator,
    case: Case,
    *,
    panel: Panel,
    forecast: Forecast,
    chooser: Chooser,
    stopper: Stopper,
) -> Decision:
    """Settle, or name the candidate with the largest gain; the first in panel order wins a draw.

    A forecast that is not healthy, or too noisy for the stopper, never settles a case: one more expert is asked
    instead, and the forecast of that query says why.
    """

    def settle(reason: Literal["certain", "sure", "tie", "nobody left"]) -> Settle:
        return Settle(case.key, forecast.outcome, forecast, len(case.votes), reason)

    if forecast.certain:
        return settle("tie" if len(forecast.leaders) > 1 else "certain")
    sure = stopper.settled(case, forecast)
    doubt = stopper.doubt(forecast) if sure else None
    if doubt is not None:
        forecast = replace(forecast, health=forecast.health.because(doubt))
    if sure and forecast.health.healthy:
        return settle("sure")
    candidates = tuple(sorted(forecast.candidates, key=panel.expert))
    if not candidates:
        return settle("nobody left")
    costs = panel.prices
    gains = chooser.score(rng, case, forecast, candidates, costs)
    return Query(
        case=case.key,
        expert=max(candidates, key=lambda expert: gains[expert]),  # the first of those that share the largest
        gains={expert: gains[expert] for expert in candidates},
        forecast=forecast,
        reason="unhealthy" if sure else "unsure",
        measure=chooser.measure(weighed=costs is not None),
    )
