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
from quorate.core.rules import NO_RULES, Barrier, Rules

Enough = Literal["certain", "tie", "sure"]
Unsettled = Literal["unsure", "unhealthy"]


@dataclass(frozen=True)
class Query:
    """Ask this expert next; `reason` says why anyone is asked, `gains` what every candidate's vote is worth.

    Where the reason is "rule", only the rules of the study call for a vote. `measure` says what the gains are in, such
    as "nats of information".
    """

    case: str
    expert: str
    gains: Mapping[str, float]
    forecast: Forecast = field(repr=False)
    reason: Unsettled | Literal["rule"]
    measure: str = "nats of information"


@dataclass(frozen=True)
class Settle:
    """Stop asking; `human_votes` is 0 where no person saw the case.

    The reason is "limit" or "budget" where only that keeps from asking on.
    """

    case: str
    outcome: str
    forecast: Forecast = field(repr=False)
    human_votes: int
    reason: Enough | Barrier | Literal["nobody left"]
    kept: bool = True  # the votes decide, or a healthy forecast states no more error (or loss) than is allowed

    @property
    def limited(self) -> bool:
        """Whether only a limit on votes or the budget kept from asking on."""
        return self.reason in ("limit", "budget")

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
    rules: Rules = NO_RULES,
    left: float | None = None,
) -> Decision:
    """Settle, or name the candidate with the largest gain; the first in panel order wins a draw.

    A forecast that is not healthy, or too noisy for the stopper, never settles a case: one more expert is asked
    instead, and the forecast of that query says why. The rules come before all that; `left` is what may still be spent.
    """
    enough, forecast = _enough(case, forecast, stopper)
    terms = rules.terms(panel, case, left)
    telling = () if enough else tuple(name for name in terms.allowed if name in forecast.candidates)
    if not terms.due and not telling:
        barrier = terms.barrier if terms.short or (not enough and forecast.candidates) else None
        reason = barrier or enough or "nobody left"
        return Settle(case.key, forecast.outcome, forecast, len(case.votes), reason, kept=enough is not None)
    unsure = not (enough or stopper.settled(case, forecast))
    candidates = terms.first or telling or terms.allowed
    costs = panel.prices
    gains = chooser.score(rng, case, forecast, candidates, costs)
    return Query(
        case=case.key,
        expert=max(candidates, key=lambda expert: gains[expert]),  # the first of those that share the largest
        gains={expert: gains[expert] for expert in candidates},
        forecast=forecast,
        reason="unsure" if unsure else "rule" if terms.due else "unhealthy",
        measure=chooser.measure(weighed=costs is not None),
    )


def _enough(case: Case, forecast: Forecast, stopper: Stopper) -> tuple[Enough | None, Forecast]:
    """Why a forecast is enough to settle, if it is; any doubt of the stopper joins its health."""
    if forecast.certain:
        return "tie" if len(forecast.leaders) > 1 else "certain", forecast
    if not stopper.settled(case, forecast):
        return None, forecast
    doubt = stopper.doubt(forecast)
    if doubt is not None:
        forecast = replace(forecast, health=forecast.health.because(doubt))
    return "sure" if forecast.health.healthy else None, forecast
