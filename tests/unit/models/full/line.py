"""Whether draws follow a density that is known, up to a factor, along a line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import kstest

from quorate.core.arrays import Floats

UNLIKELY = 1e-3
"""P-value below which draws do not follow a density."""


def fit_of(draws: Floats, grid: Floats, log_density: Floats) -> float:
    """P-value (Kolmogorov and Smirnov) of independent draws under a log density at the points of a grid."""
    density = np.exp(log_density - log_density.max())
    masses = 0.5 * (density[1:] + density[:-1]) * np.diff(grid)
    return fit_to(draws, grid, np.concatenate([[0.0], np.cumsum(masses) / masses.sum()]))


def fit_to(draws: Floats, points: Floats, below: Floats) -> float:
    """P-value (Kolmogorov and Smirnov) of independent draws under a distribution function at some points."""
    return float(kstest(np.interp(draws, points, below), "uniform").pvalue)


def chain(step: Callable[[float], float], *, kept: int = 2000, thin: int = 5) -> Floats:
    """Where a chain on a line is at every `thin`-th of its steps; `step(t)` is how far it moves from t."""
    t, found = 0.0, np.empty(kept)
    for at in range(kept):
        for _ in range(thin):
            t += step(t)
        found[at] = t
    return found
