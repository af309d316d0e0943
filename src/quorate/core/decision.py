"""The one step every method shares: ask one more expert or several at once, wait, or settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from quorate.core.batch import best_batch
from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.panel import Panel
from quorate.core.protocols import Chooser, Stopper
from quorate.core.rules import NO_RULES, NOBODY, Asked, Barrier, Rules, Terms

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
    batch: tuple[str, ...] = ()  # everyone to ask now, `expert` first: more than one where several may be in flight

    def __post_init__(self) -> None:
        if not self.batch:
            object.__setattr__(self, "batch", (self.expert,))


@dataclass(frozen=True)
class Wait:
    """Ask nobody for now: votes are on their way, or those who could be asked are away.

    Where it waits for nobody, everyone has let the question pass, and the rules want more votes: it needs a person. The
    reason is "budget" where what is left is promised to votes on their way: it may come back.
    """

    case: str
    pending: tuple[str, ...]
    forecast: Forecast = field(repr=False)
    reason: Unsettled | Literal["rule", "budget"]
    away: tuple[str, ...] = ()  # whom it waits for besides: they could be asked if they were there


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


Decision = Query | Wait | Settle


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
    promised: float = 0.0,
    asked: Asked = NOBODY,
    in_flight: int = 1,
    cost_blind: bool = False,
    floor: int = 0,
) -> Decision:
    """Settle, or name the candidate with the largest gain; the first in panel order wins a draw.

    A forecast that is not healthy, or too noisy for the stopper, never settles a case: one more expert is asked
    instead, and the forecast of that query says why. The rules come before all that; `left` is what may still be spent,
    and what is `promised` to votes on their way may come back, which a case that cannot be paid otherwise waits for. At
    most `in_flight` experts are asked at a time, those whose votes are on their way included. With fewer than
    `floor` votes a case does not settle because all others have let the question pass.
    """
    enough, forecast = _enough(case, forecast, stopper)
    terms = rules.terms(panel, case, left, asked)
    hoped = [name for name in (*asked.pending, *terms.absent) if terms.held or name in forecast.candidates]
    telling = () if enough else tuple(name for name in terms.allowed if name in forecast.candidates)
    asking = terms.due or bool(telling)
    if not asking and not (hoped and (terms.held or not enough)):
        barrier = terms.barrier if terms.short or (not enough and forecast.candidates) else None
        if len(case.votes) < floor and asked.passed and barrier is None:
            return Wait(case.key, (), forecast, "rule")
        if barrier == "budget" and left is not None and promised > 0:
            richer = rules.terms(panel, case, left + promised, asked)
            if {*richer.allowed, *richer.absent} - {*terms.allowed, *terms.absent}:
                return Wait(case.key, asked.pending, forecast, "budget")
        reason = barrier or enough or "nobody left"
        return Settle(case.key, forecast.outcome, forecast, len(case.votes), reason, kept=enough is not None)
    unsure = not (enough or stopper.settled(case, forecast))
    why: Unsettled | Literal["rule"] = "unsure" if unsure else "rule" if terms.held else "unhealthy"
    size = _size(case, terms, stopper, in_flight, len(asked.pending), unsure=bool(telling)) if asking else 0
    if size < 1:
        return Wait(case.key, asked.pending, forecast, why, tuple(name for name in hoped if name in terms.absent))
    there = {panel.experts[h]: panel.costs[h] for h, on in enumerate(case.available) if on}
    costs = None if cost_blind or panel.prices is None else there
    choice = Choice(case, forecast, terms.first or telling or terms.allowed, costs, asked.pending)
    best = best_batch(rng, chooser, choice, size=size, prices=there, left=rules.purse(left))
    measure = chooser.measure(weighed=costs is not None)
    return Query(case.key, best.experts[0], best.gains, forecast, why, measure, best.experts)


def _size(case: Case, terms: Terms, stopper: Stopper, in_flight: int, pending: int, *, unsure: bool) -> int:
    """How many may be asked at once: where it is sure, no more than the rules call for."""
    limits = [in_flight - pending]
    if not unsure:
        return min(*limits, terms.needed)
    wanted = stopper.wanted(case)
    if wanted is not None:
        one = 0 if pending else 1  # enough votes, and a forecast that is not healthy: somebody is asked all the same
        limits.append(max(wanted - pending, terms.needed, one))
    if terms.room is not None:
        limits.append(terms.room)
    return min(limits)


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
