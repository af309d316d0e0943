"""The gate that particles must pass before they may settle a case."""

from __future__ import annotations

import math

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.health import Health
from quorate.models.evidence.particles import GROUPS, Particles
from quorate.models.patterns import effective

LEAST_EFFECTIVE = 0.2
"""Smallest effective number of particles, as a share of all."""
LEAST_ACCEPTED, FEWEST_MOVES = 0.3, 24
"""Smallest mean probability of accepting a move, where there were moves enough to tell."""
AGREEMENT = 6.0
"""Standard errors by which halves of the particles may differ in any parameter, or moves may go one way."""


def particle_health(particles: Particles) -> Health:
    """Whether particles may be used: finite, not all weight on a few, moves that are taken, halves that agree."""
    theta, trace = particles.theta, particles.trace
    if not (np.isfinite(theta).all() and np.isfinite(particles.log_weight).all()):
        return Health(("particles are not finite",))
    reasons = []
    ess = effective(particles.weight)
    if ess < LEAST_EFFECTIVE * len(theta):
        reasons.append(f"{ess:.0f} of {len(theta)} particles are effective, fewer than {LEAST_EFFECTIVE:.0%}")
    if trace.moves >= FEWEST_MOVES and trace.accepted < LEAST_ACCEPTED:
        reasons.append(f"moves are accepted with probability {trace.accepted:.2f}, less than {LEAST_ACCEPTED:g}")
    if trace.shift is not None and trace.shift > AGREEMENT:
        reasons.append(f"all particles move one way by {trace.shift:.1f} standard deviations, more than {AGREEMENT:g}")
    gap, rhat = halves(theta, particles.weight)
    if not gap <= AGREEMENT:  # NaN too
        reasons.append(f"halves of the particles differ by {gap:.1f} standard errors, more than {AGREEMENT:g}")
    return Health(tuple(reasons), rhat=rhat, ess=ess)


def halves(theta: Floats, weight: Floats) -> tuple[float, float]:
    """Largest difference between the two halves' means in standard errors, and the largest R-hat between them."""
    group = np.arange(len(theta)) * GROUPS // len(theta)
    mass = np.bincount(group, weight).astype(np.float64)
    means = np.stack([np.bincount(group, weight * column) for column in theta.T]) / mass  # (D, G)
    low, high = _mean(means[:, : GROUPS // 2], mass[: GROUPS // 2]), _mean(means[:, GROUPS // 2 :], mass[GROUPS // 2 :])
    gap, error = low[0] - high[0], np.sqrt(low[1] + high[1])
    variance = weight @ theta**2 - (weight @ theta) ** 2
    rhat = math.sqrt(1.0 + float((0.5 * gap**2 / np.maximum(variance, 1e-300)).max()))
    return float((np.abs(gap) / np.maximum(error, 1e-12)).max()), rhat


def _mean(means: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of groups, and its squared standard error from their spread."""
    share = mass / mass.sum()
    mean = means @ share
    spread = ((means - mean[:, None]) ** 2) @ share**2
    return mean, spread * len(mass) / (len(mass) - 1)
