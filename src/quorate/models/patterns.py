"""Vote patterns and how probable each is: every forecast is a marginal of them (paper, Algorithms 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.case import Case
from quorate.core.completions import completion, standing
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.outlook import Outlook
from quorate.core.panel import Panel
from quorate.core.protocols import Target

TABLE_LIMIT = 4096
"""Most vote patterns that are tabulated; beyond it, votes are sampled."""

DOUBT = 1e-12
"""Probability spread over the outcomes still possible, so that only the votes can make a forecast certain."""

FEWEST_EFFECTIVE = 25.0
"""Below this effective number of draws a forecast is not healthy."""

FEWEST_LATENTS = 200.0
"""Below this effective number of latents a forecast is not healthy."""

FEWEST_CHAINS, FEWEST_BATCHES = 8, 16
"""With fewer chains, the chains are cut into so many batches of neighbouring draws for the Monte Carlo error."""


class Marginals(NamedTuple):
    """What a forecast is made of, the votes seen being fixed."""

    by_draw: Floats  # (S, J) mass of each outcome under each draw
    joint: Floats  # (U, K, J) mass of each unasked expert's vote together with each outcome
    possible: Bools  # (J,) outcomes that some completion of the votes gives
    latents: float  # effective number of latents, or a lower bound of it
    votes: Ints  # (R, U) ways in which the unasked experts may vote
    mass: Floats  # (R, J) mass of each way together with each outcome
    whole: bool  # every way once and in order, last expert fastest


class Patterns(Protocol):
    """The panel's joint vote under every posterior draw."""

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Marginals once the votes seen are fixed."""


@dataclass(frozen=True)
class Table:
    """All vote patterns of some experts; what others voted is in the masses, up to one factor for all draws.

    >>> table = Table((0, 1), 2, np.array([[0.4, 0.1, 0.1, 0.4]]), latents=100.0)
    >>> round(table.share(np.array([0, -1])), 3)
    0.5
    """

    experts: tuple[int, ...]
    classes: int
    mass: Floats  # (S, K^A), last expert fastest
    latents: float  # effective number behind all masses together

    def share(self, row: Ints) -> float:
        """Probability of the votes seen of the table's experts."""
        return float(self._left(row).sum() / self._total)

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Marginals of the table once the votes seen are fixed; `unasked` are those of its experts without a vote."""
        rest = self._left(row)
        rows, weights, possible = completion(target, row, unasked, self.classes)
        by_draw = rest @ weights
        shape = (self.classes,) * len(unasked) + (weights.shape[1],)
        mass = rest.sum(axis=0)[:, None] * weights
        whole = mass.reshape(shape)
        joint = [whole.sum(axis=tuple(a for a in range(len(unasked)) if a != axis)) for axis in range(len(unasked))]
        stacked = np.array(joint).reshape(len(unasked), self.classes, weights.shape[1])
        # A latent's weight is at most 1, so that weights leave no fewer effective latents than their sum.
        latents = self.latents * float(rest.sum() / self._total)
        ways = rows.take(unasked, axis=1)
        return Marginals(by_draw, stacked, possible, latents, ways, mass, whole=True)

    @cached_property
    def _total(self) -> float:
        return float(self.mass.sum())

    def _left(self, row: Ints) -> Floats:
        """The masses of patterns that have the votes seen: (S, K^U)."""
        seen = tuple(slice(None) if row[expert] < 0 else int(row[expert]) for expert in self.experts)
        whole = self.mass.reshape((-1,) + (self.classes,) * len(self.experts))
        return whole[(slice(None), *seen)].reshape(len(whole), -1)


@dataclass(frozen=True)
class Sample:
    """Sampled votes of the unasked experts of a large panel, weighted by the probability of the votes seen."""

    classes: int
    weight: Floats  # (S, R)
    votes: Ints  # (S, R, U)
    latents: float

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Sampled marginals; the votes seen must be those that the sample was made for."""
        draws, repeats = self.weight.shape
        votes = self.votes.reshape(draws * repeats, len(unasked))
        rows = np.repeat(row[None, :], draws * repeats, axis=0)
        rows[:, list(unasked)] = votes
        mass = (target.weights(rows) * self.weight.reshape(-1, 1) / repeats).T.copy()  # (J, S R)
        # Counted, not multiplied: products of such long and thin matrices wait for threads more than they work.
        joint = [[np.bincount(cast, each, self.classes) for each in mass] for cast in votes.T.copy()]  # (U, J, K)
        by_draw = mass.reshape(-1, draws, repeats).sum(axis=2).T
        stacked = np.array(joint).transpose(0, 2, 1)
        return Marginals(by_draw, stacked, np.ones(len(mass), dtype=bool), self.latents, votes, mass.T, whole=False)


def effective(weight: Floats) -> float:
    """How many equal weights would be as noisy as these.

    >>> effective(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    square = float((weight**2).sum())
    return float(weight.sum()) ** 2 / square if square > 0 else 0.0


def forecast_from(found: Patterns, case: Case, target: Target, *, panel: Panel, fit: Health, batch: Ints) -> Forecast:
    """The forecast that a case's patterns give, with its Monte Carlo error between batches of draws (S,) and health."""
    row, unasked = case.vote_row(), case.unasked
    by_draw, joint, possible, latents, ways, mass, whole = found.given(row, unasked, target)
    forced, relevant = standing(target, row, unasked)
    total = by_draw.sum()
    reasons = list(fit.reasons)
    if forced is not None:
        values, monte_carlo = forced, 0.0
    elif not total > 0:
        values, monte_carlo = possible / possible.sum(), 1.0
        reasons.append("no posterior draw explains the votes seen")
    else:
        values = (1 - DOUBT) * by_draw.sum(axis=0) / total + DOUBT * possible / possible.sum()
        monte_carlo = monte_carlo_error(by_draw, batch)
        draws = effective(by_draw.sum(axis=1))
        if draws < FEWEST_EFFECTIVE:
            reasons.append(f"the votes seen leave {draws:.0f} effective draws, fewer than {FEWEST_EFFECTIVE:.0f}")
        if latents < FEWEST_LATENTS:
            reasons.append(f"the votes seen leave {latents:.0f} effective latents, fewer than {FEWEST_LATENTS:.0f}")
    scale = joint.sum(axis=(1, 2), keepdims=True)
    joint = np.divide(joint, scale, out=np.full_like(joint, 1 / joint[0].size if len(unasked) else 0), where=scale > 0)
    mass = mass / total if total > 0 else np.full_like(mass, 1 / mass.size)
    return Forecast(
        outcomes=target.outcomes,
        classes=panel.classes,
        values=tuple(float(p) for p in values),
        joint={panel.experts[expert]: table for expert, table in zip(unasked, joint, strict=True)},
        candidates=tuple(panel.experts[expert] for expert in relevant),
        certain=forced is not None,
        interval=interval(by_draw, int(np.argmax(values))) if forced is None and total > 0 else None,
        health=Health(tuple(reasons), fit.rhat, fit.ess, monte_carlo, fit.divergences),
        outlook=Outlook(tuple(panel.experts[expert] for expert in unasked), ways, mass, whole),
    )


def interval(by_draw: Floats, outcome: int, level: float = 0.95) -> tuple[float, float]:
    """Central interval of an outcome's probability over the draws, each weighted by the votes seen.

    >>> interval(np.array([[0.1, 0.9], [0.3, 0.7]]), 1)
    (0.7, 0.9)
    """
    weight = by_draw.sum(axis=1)
    keep = weight > 0
    p = by_draw[keep, outcome] / weight[keep]
    order = np.argsort(p)
    below = np.cumsum(weight[keep][order]) / weight.sum()
    low, high = np.searchsorted(below, [(1 - level) / 2, (1 + level) / 2])
    return float(p[order[low]]), float(p[order[min(high, len(p) - 1)]])


def batches(chain: Ints) -> Ints:
    """Batches of draws whose spread shows the noise: the chains (S,), cut in pieces where there are few of them.

    >>> batches(np.repeat(np.arange(8), 2)).tolist() == np.repeat(np.arange(8), 2).tolist()
    True
    >>> batches(np.zeros(32, dtype=np.int64)).tolist() == np.repeat(np.arange(16), 2).tolist()
    True
    """
    numbers = np.unique(chain)
    pieces = 1 if len(numbers) >= FEWEST_CHAINS else -(-FEWEST_BATCHES // len(numbers))
    batch = np.empty_like(chain)
    for place, number in enumerate(numbers):
        own = np.flatnonzero(chain == number)
        batch[own] = place * pieces + np.arange(len(own)) * pieces // len(own)
    return np.unique(batch, return_inverse=True)[1]  # a chain may have fewer draws than pieces


def monte_carlo_error(by_draw: Floats, batch: Ints) -> float:
    """Standard error of the stated error, from the spread between batches (S,) of the draws' outcome masses (S, J).

    >>> monte_carlo_error(np.tile([0.2, 0.8], (64, 1)), np.arange(64) // 2)
    0.0
    """
    leader = int(np.argmax(by_draw.sum(axis=0)))
    mass = np.bincount(batch, by_draw.sum(axis=1))
    other = np.bincount(batch, np.delete(by_draw, leader, axis=1).sum(axis=1))
    if len(mass) < 2:
        return 1.0
    spread = other - other.sum() / mass.sum() * mass
    return float(np.sqrt(len(mass) / (len(mass) - 1) * (spread**2).sum()) / mass.sum())
