"""The gate that every fit must pass before it may settle a case."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.health import Health
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.floors import SCALE_FLOOR, TAU_FLOOR

TAIL = (0.05, 0.95)
"""The quantiles whose effective sample size counts as that of the tails."""
FLOOR_SHARE = 0.01
"""Largest share of draws that may lie within twice a floor."""


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
    from arviz_stats.base import array_stats  # slow to import, and only fits need it

    rhat = np.atleast_1d(array_stats.rhat(values))
    bulk = np.atleast_1d(array_stats.ess(values, method="bulk"))
    tail = np.atleast_1d(array_stats.ess(values, method="tail", prob=TAIL))
    return rhat, bulk, tail


def _floor_reasons(draws: Draws, settings: Settings) -> list[str]:
    """Which parameters lean on their floors: a chain stuck there claims errors far too small."""
    reasons = []
    low = (draws.s < 2.0 * SCALE_FLOOR).mean(axis=(0, 1))
    worst = int(np.argmax(low))
    if low[worst] > FLOOR_SHARE:
        reasons.append(f"{low[worst]:.0%} of the draws of s[{worst + 1}] lie at its floor {SCALE_FLOOR:g}")
    share = (draws.tau < 2.0 * TAU_FLOOR).mean()
    if settings.temperature and share > FLOOR_SHARE:
        reasons.append(f"{share:.0%} of the draws of tau lie at its floor {TAU_FLOOR:g}")
    return reasons


def fit_health(draws: Draws, settings: Settings, *, divergences: int = 0) -> Health:
    """Whether draws may be used: finite, off the floors, chains that agree, and enough of them."""
    names, values = free_parameters(draws, settings)
    if not np.isfinite(values).all():
        first = names[int(np.argmin(np.isfinite(values).all(axis=(1, 2))))]
        return Health(reasons=(f"draws of {first} are not finite",), divergences=divergences)
    reasons = _floor_reasons(draws, settings)
    rhat, bulk, tail = mixing(values)
    ess = np.minimum(bulk, tail)
    # A parameter that never moved has no R-hat: NaN must not pass as the smallest.
    worst_rhat = int(np.argmax(np.where(np.isnan(rhat), np.inf, rhat)))
    worst_ess = int(np.argmin(np.where(np.isnan(ess), -np.inf, ess)))
    if np.isnan(rhat[worst_rhat]) or np.isnan(ess[worst_ess]):
        reasons.append(f"{names[worst_rhat if np.isnan(rhat[worst_rhat]) else worst_ess]} never moved")
    if rhat[worst_rhat] > settings.max_rhat:
        reasons.append(f"R-hat {rhat[worst_rhat]:.2f} of {names[worst_rhat]} is above {settings.max_rhat:g}")
    if ess[worst_ess] < settings.min_ess:
        reasons.append(
            f"effective sample size {ess[worst_ess]:.0f} of {names[worst_ess]} is below {settings.min_ess:g}"
        )
    return Health(tuple(reasons), rhat=float(rhat[worst_rhat]), ess=float(ess[worst_ess]), divergences=divergences)
