"""The gate that every fit must pass before it may settle a case."""

from __future__ import annotations

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
