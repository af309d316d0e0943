"""The gate that every fit must pass before it may settle a case."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.health import Health
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.floors import SCALE_FLOOR, TAU_FLOOR

TAIL = (0.05, 0.95)
"""The quantiles whose effective sample size counts as that of the tails."""
DIVERGENT_SHARE = 0.01
"""Largest share of NUTS transitions that may diverge."""
FLOOR_SHARE = 0.01
"""Largest share of draws that may lie within twice a floor."""
CARRIED_FLOOR_SHARE = 0.05
"""The same of carried chains, where the visit of a single one is a share of its own."""

REFUSED_SHARE = 0.1
"""Largest share of sweeps that may be undone in an update."""
LEAST_MOVE = 0.01
"""How far a parameter, or a chain, must move in an update on average, in standard deviations of all draws."""
TINY = float(np.finfo(np.float64).tiny)
AGREEMENT = 5.0
"""Standard errors by which halves of a population, or its early and late draws, may differ in any parameter."""


def free_parameters(draws: Draws, settings: Settings) -> tuple[list[str], Floats]:
    """Names and values (P, C, S) of everything that is sampled; constants are left out."""
    size = draws.size
    numbers = range(1, size + 1)
    names = [f"mu[{j}]" for j in numbers] + [f"s[{j}]" for j in numbers]
    parts = [np.moveaxis(draws.mu, 2, 0), np.moveaxis(draws.s, 2, 0)]
    if settings.correlations:
        rows, columns = np.tril_indices(size, -1)
        names += [f"Omega[{j + 1},{k + 1}]" for j, k in zip(rows, columns, strict=True)]
        parts.append(np.moveaxis(draws.omega[:, :, rows, columns], 2, 0))
    if settings.temperature:
        names.append("tau")
        parts.append(draws.tau[None])
    return names, np.ascontiguousarray(np.concatenate(parts))


def mixing(values: Floats) -> tuple[Floats, Floats, Floats]:
    """R-hat, bulk and tail effective sample size of each parameter, as ArviZ computes them: (P, C, S) to three (P,)."""
    # Slow to import, and only fits need it. The route through numpy is several times as fast as that through xarray.
    stats: Any = import_module("arviz_stats.base").array_stats
    rhat = np.atleast_1d(stats.rhat(values))
    bulk = np.atleast_1d(stats.ess(values, method="bulk"))
    tail = np.atleast_1d(stats.ess(values, method="tail", prob=TAIL))
    return rhat, bulk, tail


def _floor_reasons(draws: Draws, settings: Settings, most: float) -> list[str]:
    """Which parameters lean on their floors: a chain stuck there claims errors far too small."""
    reasons = []
    low = (draws.s < 2.0 * SCALE_FLOOR).mean(axis=(0, 1))
    low[: draws.classifiers * (draws.classes - 1)] = 0.0  # classifiers that hardly vary are seen, not imagined
    worst = int(np.argmax(low))
    if low[worst] > most:
        reasons.append(f"{low[worst]:.0%} of the draws of s[{worst + 1}] lie at its floor {SCALE_FLOOR:g}")
    share = (draws.tau < 2.0 * TAU_FLOOR).mean()
    if settings.temperature and share > most:
        reasons.append(f"{share:.0%} of the draws of tau lie at its floor {TAU_FLOOR:g}")
    return reasons


def _not_finite(names: list[str], values: Floats) -> str | None:
    """Which parameter has a draw that is not a number, if any."""
    finite = np.isfinite(values).all(axis=(1, 2))
    return None if finite.all() else f"draws of {names[int(np.argmin(finite))]} are not finite"


def carried_health(pooled: Draws, latest: Draws, settings: Settings, *, refused: float = 0.0) -> Health:
    """Whether short chains that are carried from case to case may be used, from what they drew (C, S).

    `refused` is the share of the latest sweeps that were undone.
    A chain of a few sweeps says little by itself: R-hat is that between the two halves of the population (nested
    R-hat), and the effective sample size comes from the spread between chains. The halves must agree, and no parameter
    may drift in the latest update: chains that trail behind the posterior all move the same way.
    """
    names, values = free_parameters(pooled, settings)
    broken = _not_finite(names, values)
    if broken is not None:
        return Health(reasons=(broken,))
    reasons = _floor_reasons(pooled, settings, CARRIED_FLOOR_SHARE)
    if refused > REFUSED_SHARE:
        reasons.append(f"{refused:.0%} of the sweeps made the covariance singular, more than {REFUSED_SHARE:.0%}")
    values, moves = _unbounded(names, values), _unbounded(names, free_parameters(latest, settings)[1])
    reasons += _still(names, values, moves)
    half = values.shape[1] // 2
    reasons += _different("halves of the chains differ", names, *_gap(values[:, :half], values[:, half:]))
    reasons += _different("the chains drift", names, *_drift(moves))
    return Health(tuple(reasons), rhat=nested_rhat(values), ess=between_chain_ess(values))


def _still(names: list[str], values: Floats, moves: Floats) -> list[str]:
    """A parameter or a chain that hardly moved in the latest update, against the spread of all chains."""
    if moves.shape[2] < 2:
        return []
    far = np.ptp(moves, axis=2) / np.maximum(values.std(axis=(1, 2)), TINY)[:, None]  # (P, C)
    if far.min() == 0.0:
        return [f"a chain of {names[int(np.argmin(far.min(axis=1)))]} never moved"]
    by_parameter, by_chain = far.mean(axis=1), far.mean(axis=0)
    if by_parameter.min() < LEAST_MOVE:
        return [f"the chains of {names[int(np.argmin(by_parameter))]} hardly moved"]
    if by_chain.min() < LEAST_MOVE:
        return [f"chain {int(np.argmin(by_chain)) + 1} hardly moved"]
    return []


def nested_rhat(values: Floats) -> float:
    """Largest R-hat between the halves of a population, over all parameters (P, C, S).

    Margossian and others (2024): chains of one half count as one chain, however short each is.
    """
    half = values.shape[1] // 2
    low, high = values[:, :half].reshape(len(values), -1), values[:, half:].reshape(len(values), -1)
    between = 0.5 * (low.mean(axis=1) - high.mean(axis=1)) ** 2
    within = 0.5 * (low.var(axis=1) + high.var(axis=1))
    return float(np.sqrt(1.0 + between / np.maximum(within, TINY)).max())


def between_chain_ess(values: Floats) -> float:
    """Smallest effective sample size of independent chains, over all parameters (P, C, S): no less than their number.

    The means of independent chains show how far the mean of all draws can be off, whatever the chains' own memory.
    """
    spread = values.mean(axis=2).var(axis=1, ddof=1)
    total = values.reshape(len(values), -1).var(axis=1)
    return float((values.shape[1] * total / np.maximum(spread, TINY)).min())


def _gap(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Difference of two groups of chains in the mean of each parameter, and its standard error: two (P,)."""
    a, b = low.mean(axis=2), high.mean(axis=2)
    error = np.sqrt(a.var(axis=1, ddof=1) / a.shape[1] + b.var(axis=1, ddof=1) / b.shape[1])
    return a.mean(axis=1) - b.mean(axis=1), error


def _drift(moves: Floats) -> tuple[Floats, Floats]:
    """How far all chains moved from the first third of their draws to the last, and its standard error: two (P,)."""
    third = max(1, moves.shape[2] // 3)
    far = moves[:, :, -third:].mean(axis=2) - moves[:, :, :third].mean(axis=2)
    return far.mean(axis=1), far.std(axis=1, ddof=1) / math.sqrt(far.shape[1])


def _different(what: str, names: list[str], gap: Floats, error: Floats) -> list[str]:
    """A reason where a difference is too many of its standard errors."""
    ratio = np.abs(gap) / np.maximum(error, TINY)
    worst = int(np.argmax(ratio))
    if ratio[worst] <= AGREEMENT:
        return []
    return [f"{what} by {ratio[worst]:.1f} standard errors in {names[worst]}, more than {AGREEMENT:g}"]


def _unbounded(names: list[str], values: Floats) -> Floats:
    """Scales and the temperature as logarithms: their long tails would hide a difference."""
    result = values.copy()
    scales = [row for row, name in enumerate(names) if name.startswith(("s[", "tau"))]
    result[scales] = np.log(values[scales])
    return result


def fit_health(draws: Draws, settings: Settings, *, divergences: int = 0) -> Health:
    """Whether draws may be used: finite, off the floors, chains that agree, and enough of them."""
    names, values = free_parameters(draws, settings)
    broken = _not_finite(names, values)
    if broken is not None:
        return Health(reasons=(broken,), divergences=divergences)
    reasons = _floor_reasons(draws, settings, FLOOR_SHARE)
    if divergences > DIVERGENT_SHARE * draws.tau.size:
        reasons.append(f"{divergences} of {draws.tau.size} transitions diverged, more than {DIVERGENT_SHARE:.0%}")
    still = np.ptp(values, axis=2).min(axis=1) == 0.0  # of these R-hat and effective sample size say nothing
    if still.any():
        return Health((*reasons, f"a chain of {names[int(np.argmax(still))]} never moved"), divergences=divergences)
    rhat, bulk, tail = mixing(values)
    ess = np.minimum(bulk, tail)
    worst_rhat, worst_ess = int(np.argmax(rhat)), int(np.argmin(ess))
    if not rhat[worst_rhat] <= settings.max_rhat:  # NaN fails too
        reasons.append(f"R-hat {rhat[worst_rhat]:.2f} of {names[worst_rhat]} is above {settings.max_rhat:g}")
    if not ess[worst_ess] >= settings.min_ess:
        reasons.append(
            f"effective sample size {ess[worst_ess]:.0f} of {names[worst_ess]} is below {settings.min_ess:g}"
        )
    return Health(tuple(reasons), rhat=float(rhat[worst_rhat]), ess=float(ess[worst_ess]), divergences=divergences)
