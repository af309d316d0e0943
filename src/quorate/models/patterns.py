"""Vote patterns and how probable each is: every forecast is a marginal of them (paper, Algorithms 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.core.target import patterns

TABLE_LIMIT = 4096
"""Most vote patterns that are tabulated; beyond it, patterns are sampled."""

DOUBT = 1e-12
"""Probability spread over the outcomes still possible, so that only the votes can make a forecast certain."""

FEWEST_EFFECTIVE = 25.0
"""Below this effective number of draws a forecast is not healthy."""

BATCHES = 32


class Marginals(NamedTuple):
    """What a forecast is made of, the votes seen being fixed."""

    by_draw: Floats  # (S, J) mass of each outcome under each draw
    joint: Floats  # (U, K, J) mass of each unasked expert's vote together with each outcome
    possible: Bools  # (J,) outcomes that some completion of the votes gives


class Patterns(Protocol):
    """The panel's joint vote under every posterior draw."""

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Marginals once the votes seen are fixed."""


@dataclass(frozen=True)
class Table:
    """All vote patterns of a small panel: mass (S, K, ..., K), one axis an expert."""

    experts: tuple[int, ...]
    mass: Floats

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Marginals of the table once the votes seen are fixed."""
        classes = self.mass.shape[-1]
        seen = tuple(slice(None) if expert in unasked else int(row[expert]) for expert in self.experts)
        rest = self.mass[(slice(None), *seen)]  # (S, K, ..., K), one axis an unasked expert
        weights = target.weights(patterns(row, unasked, classes))  # (K^U, J)
        by_draw = rest.reshape(len(rest), -1) @ weights
        shape = (classes,) * len(unasked) + (weights.shape[1],)
        whole = (rest.sum(axis=0).reshape(-1, 1) * weights).reshape(shape)
        joint = [whole.sum(axis=tuple(a for a in range(len(unasked)) if a != axis)) for axis in range(len(unasked))]
        stacked = np.array(joint).reshape(len(unasked), classes, weights.shape[1])
        return Marginals(by_draw, stacked, weights.max(axis=0) > 0)


@dataclass(frozen=True)
class Sample:
    """Sampled votes of a large panel, weighted by the probability of the votes seen (Algorithm 1)."""

    experts: tuple[int, ...]
    chance: Floats  # (S, R, A, K) vote probabilities of each latent draw
    votes: Ints  # (S, R, A) one sampled pattern for each

    def given(self, row: Ints, unasked: tuple[int, ...], target: Target) -> Marginals:
        """Sampled marginals once the votes seen are fixed."""
        draws, repeats, _, classes = self.chance.shape
        weight = np.ones((draws, repeats))
        rows = np.broadcast_to(row, (draws * repeats, len(row))).copy()
        for axis, expert in enumerate(self.experts):
            if expert in unasked:
                rows[:, expert] = self.votes[:, :, axis].reshape(-1)
            else:
                weight = weight * self.chance[:, :, axis, row[expert]]
        mass = target.weights(rows) * weight.reshape(-1, 1) / repeats  # (S R, J)
        joint = [[mass[rows[:, expert] == k].sum(axis=0) for k in range(classes)] for expert in unasked]
        by_draw = mass.reshape(draws, repeats, -1).sum(axis=1)
        stacked = np.array(joint).reshape(len(unasked), classes, mass.shape[1])
        return Marginals(by_draw, stacked, np.ones(mass.shape[1], dtype=bool))


def vote_patterns(rng: np.random.Generator, chance: Floats, experts: tuple[int, ...]) -> Patterns:
    """Patterns of the experts of one case from latent draws' vote probabilities (S, R, H, K).

    >>> table = vote_patterns(np.random.default_rng(0), np.full((1, 1, 2, 2), 0.5), (0, 1))
    >>> float(table.mass.sum())
    1.0
    """
    here = chance[:, :, list(experts), :]
    draws, repeats, panel, classes = here.shape
    if classes**panel > TABLE_LIMIT:
        below = here.cumsum(axis=-1)[..., :-1]
        return Sample(experts, here, (rng.random((draws, repeats, panel, 1)) > below).sum(axis=-1))
    # The mean over latents of a product over experts is a matrix product of two half panels.
    left, right = _products(here[:, :, : panel // 2]), _products(here[:, :, panel // 2 :])
    mass = left.transpose(0, 2, 1) @ right / repeats
    return Table(experts, mass.reshape((draws,) + (classes,) * panel))


def _products(chance: Floats) -> Floats:
    """Products of some experts' vote probabilities: (S, R, A, K) to (S, R, K^A), last expert fastest."""
    product = np.ones((*chance.shape[:2], 1))
    for axis in range(chance.shape[2]):
        product = (product[..., None] * chance[:, :, axis, None, :]).reshape(*chance.shape[:2], -1)
    return product


def forecast_from(found: Patterns, case: Case, target: Target, *, panel: Panel, fit: Health) -> Forecast:
    """The forecast that a case's patterns give, with its Monte Carlo error and health."""
    row, unasked = case.vote_row(), case.unasked
    by_draw, joint, possible = found.given(row, unasked, target)
    forced = target.forced(row, unasked)
    total = by_draw.sum()
    reasons = list(fit.reasons)
    if forced is not None:
        values, monte_carlo = forced, 0.0
    elif not total > 0:
        values, monte_carlo = possible / possible.sum(), 1.0
        reasons.append("no posterior draw explains the votes seen")
    else:
        values = (1 - DOUBT) * by_draw.sum(axis=0) / total + DOUBT * possible / possible.sum()
        monte_carlo = monte_carlo_error(by_draw)
        effective = float(total**2 / (by_draw.sum(axis=1) ** 2).sum())
        if effective < FEWEST_EFFECTIVE:
            reasons.append(f"the votes seen leave {effective:.0f} effective draws, fewer than {FEWEST_EFFECTIVE:.0f}")
    scale = joint.sum(axis=(1, 2), keepdims=True)
    joint = np.divide(joint, scale, out=np.full_like(joint, 1 / joint[0].size if len(unasked) else 0), where=scale > 0)
    return Forecast(
        outcomes=target.outcomes,
        classes=panel.classes,
        values=tuple(float(p) for p in values),
        joint={panel.experts[expert]: table for expert, table in zip(unasked, joint, strict=True)},
        candidates=tuple(panel.experts[expert] for expert in target.relevant(row, unasked)),
        certain=forced is not None,
        interval=interval(by_draw, int(np.argmax(values))) if forced is None and total > 0 else None,
        health=Health(tuple(reasons), fit.rhat, fit.ess, monte_carlo, fit.divergences),
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


def monte_carlo_error(by_draw: Floats) -> float:
    """Standard error of the stated error from the spread between batches of neighbouring draws.

    >>> monte_carlo_error(np.tile([0.2, 0.8], (64, 1)))
    0.0
    """
    leader = int(np.argmax(by_draw.sum(axis=0)))
    batches = [part.sum(axis=0) for part in np.array_split(by_draw, min(BATCHES, len(by_draw)))]
    mass = np.array([batch.sum() for batch in batches])
    other = np.array([np.delete(batch, leader).sum() for batch in batches])
    if len(mass) < 2:
        return 1.0
    spread = other - other.sum() / mass.sum() * mass
    return float(np.sqrt(len(mass) / (len(mass) - 1) * (spread**2).sum()) / mass.sum())
