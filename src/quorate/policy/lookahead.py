"""Whom to ask next: the expert with whom a case is expected to settle at the least cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.outlook import Outlook
from quorate.errors import SettingsError
from quorate.policy.cost import per_cost
from quorate.policy.information import information
from quorate.policy.settling import TIE, given_votes
from quorate.policy.stopping import Rule

STATES = 20_000
"""Most sets of votes, seen or not, over which the cost to settle is computed exactly."""

FEW = 6
"""Candidates that are looked into where it is not."""


@dataclass(frozen=True)
class Lookahead:
    """Scores each candidate by minus the expected cost to settle the case if its vote is asked for first.

    Exact by dynamic programming for small panels, two votes deep for large ones. Where costs tie, the vote that tells
    most for its cost is asked for: up to 1e-6 of the largest cost is added for what it tells.
    """

    rule: Rule

    def score(
        self,
        rng: np.random.Generator,
        case: Case,
        forecast: Forecast,
        candidates: tuple[str, ...],
        costs: Mapping[str, float] | None = None,
    ) -> Mapping[str, float]:
        """Minus the expected cost to settle, that of the candidate's vote included; a vote costs 1 without costs."""
        del rng, case  # the forecast says it all
        outlook = forecast.outlook
        if outlook is None:
            raise SettingsError("chooser 'lookahead' needs a model that knows how all experts vote together")
        gains = per_cost(information(forecast, candidates), costs)
        price = np.array([1.0 if costs is None else costs[expert] for expert in candidates], dtype=np.float64)
        if outlook.whole and (outlook.classes + 1) ** len(candidates) <= STATES:
            spent = costs_to_settle(self.rule, outlook.among(candidates), price)
        else:
            spent = two_votes_deep(self.rule, outlook, candidates, price, np.array(list(gains.values())))
        most = max(gains.values())
        scale = TIE * float(price.max()) / most if most > 0 else 0.0
        return {expert: scale * gain - float(cost) for (expert, gain), cost in zip(gains.items(), spent, strict=True)}

    def measure(self, *, weighed: bool) -> str:
        """A cost, or a number of votes."""
        return f"minus expected {'cost' if weighed else 'votes'} to settle"


class Level(NamedTuple):
    """Every state in which so many experts were not asked, and the votes that may come next."""

    states: Ints  # (N,)
    experts: Ints  # (N, n) who can be asked
    first: Ints  # (N, n) the state after they vote for the first class
    step: Ints  # (N, n) how far apart the states after their other votes are


@lru_cache(maxsize=32)
def levels(classes: int, experts: int) -> tuple[Level, ...]:
    """All states of a panel by how many were not asked, from one to all.

    A state is a number to the base K + 1, a digit an expert, the last one fastest: the vote, or K if not asked.

    >>> [level.states.tolist() for level in levels(2, 2)]
    [[2, 5, 6, 7], [8]]
    """
    digits = np.indices((classes + 1,) * experts, dtype=np.int8).reshape(experts, -1)
    unasked = (digits == classes).T  # (states, U)
    steps = (classes + 1) ** np.arange(experts - 1, -1, -1)
    count = unasked.sum(axis=1)
    found = []
    for left in range(1, experts + 1):
        states = np.flatnonzero(count == left)
        who = np.nonzero(unasked[states])[1].reshape(len(states), left)
        found.append(Level(states, who, states[:, None] - classes * steps[who], steps[who]))
    return tuple(found)


def costs_to_settle(rule: Rule, mass: Floats, price: Floats) -> Floats:
    """Expected cost to settle if each of U experts is asked first and the best one thereafter: (K^U, J) to (U,).

    >>> from quorate.policy.stopping import ErrorBelow
    >>> agree = np.array([[0.4, 0.0], [0.05, 0.05], [0.05, 0.05], [0.0, 0.4]])  # two experts, ties shared
    >>> costs_to_settle(ErrorBelow(0.01), agree, np.array([1.0, 3.0])).tolist()
    [4.0, 4.0]
    """
    experts, outcomes = len(price), mass.shape[1]
    classes = round(len(mass) ** (1 / experts))
    whole = mass.reshape((classes,) * experts + (outcomes,))
    for axis in range(experts):  # the last place of each axis: that expert was not asked
        whole = np.concatenate([whole, whole.sum(axis=axis, keepdims=True)], axis=axis)
    state = whole.reshape(-1, outcomes)
    reached = state.sum(axis=1)  # probability of each state's votes
    settled = rule.enough(given_votes(state))
    left = np.zeros(len(state))  # expected cost still to come, times the probability of the state
    asking = np.zeros((1, experts))
    for level in levels(classes, experts):
        asking = price[level.experts] * reached[level.states, None]
        for vote in range(classes):
            asking += left[level.first + vote * level.step]
        left[level.states] = np.where(settled[level.states], 0.0, asking.min(axis=1))
    first: Floats = asking[0] / reached[-1]
    return first


def two_votes_deep(rule: Rule, outlook: Outlook, experts: tuple[str, ...], price: Floats, gains: Floats) -> Floats:
    """About what costs_to_settle gives, for the few experts of largest gain; the others follow them: (U,).

    A case that two votes do not settle is taken to cost the cheapest vote left.
    """
    few = np.sort(np.argsort(-gains, kind="stable")[:FEW])
    alone, together = votes_of(outlook, [experts[place] for place in few])
    # A sampled way to vote that stands alone in its cell would look certain: count one more, like all of them.
    prior = np.zeros(alone.shape[-1]) if outlook.whole else outlook.mass.sum(axis=0) / len(outlook.mass)
    reached = alone.sum(axis=2)  # (F, K)
    unsettled = ~rule.enough(given_votes(together + prior)) * together.sum(axis=4)  # (F, F, K, K)
    then = _cheapest_left(price, few)[:, :, None] * unsettled.sum(axis=3)
    ahead = price[few][None, :, None] * reached[:, None, :] + then  # (F, F, K)
    ahead[np.arange(len(few)), np.arange(len(few))] = np.inf if len(few) > 1 else 0.0  # nobody is asked twice
    later = np.where(rule.enough(given_votes(alone + prior)), 0.0, ahead.min(axis=1)).sum(axis=1)
    found: Floats = np.full(len(price), np.inf)
    found[few] = price[few] + later
    return np.where(np.isfinite(found), found, found[few].max())


def votes_of(outlook: Outlook, experts: Sequence[str]) -> tuple[Floats, Floats]:
    """Masses of each expert's vote and of each pair's votes together with each outcome: (F, K, J), (F, F, K, K, J).

    >>> outlook = Outlook(("ann", "ben"), np.array([[0, 1], [1, 1]]), np.array([[0.3, 0.0], [0.0, 0.7]]), whole=False)
    >>> [part.shape for part in votes_of(outlook, ["ben", "ann"])]
    [(2, 2, 2), (2, 2, 2, 2, 2)]
    """
    rows, outcome = np.nonzero(outlook.mass)  # most ways have one outcome
    weight, outcomes = outlook.mass[rows, outcome], outlook.mass.shape[1]
    cast = outlook.votes[:, [outlook.experts.index(expert) for expert in experts]].T[:, rows]  # (F, N)
    classes = int(outlook.votes.max()) + 1
    size = len(experts)
    alone = np.zeros((size, classes, outcomes))
    together = np.zeros((size, size, classes, classes, outcomes))
    for one in range(size):
        own = cast[one] * outcomes + outcome
        alone[one] = np.bincount(own, weight, classes * outcomes).reshape(classes, outcomes)
        for other in range(one):
            both = np.bincount(cast[other] * (classes * outcomes) + own, weight, classes * classes * outcomes)
            together[other, one] = both.reshape(classes, classes, outcomes)
            together[one, other] = together[other, one].transpose(1, 0, 2)
    return alone, together


def _cheapest_left(price: Floats, few: Ints) -> Floats:
    """What the cheapest vote costs once both of a pair have voted; 0 where nobody else is left: (F, F)."""
    found = np.zeros((len(few), len(few)))
    for one, first in enumerate(few):
        for two, second in enumerate(few):
            found[one, two] = np.delete(price, [first, second]).min(initial=np.inf)
    return np.where(np.isfinite(found), found, 0.0)
