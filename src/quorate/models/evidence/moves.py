"""Hamiltonian moves of particles that leave the posterior as it is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel
from quorate.models.evidence.density import Data, Model, log_likelihood
from quorate.models.parts import in_parts

LEAPS = 5
"""Steps of one move."""
JITTER = (0.7, 1.3)
"""Each move's steps are so much shorter or longer than planned, so that no orbit closes on itself."""


class Chances(NamedTuple):
    """Random numbers of some moves."""

    momentum: Floats  # (B, D) normals
    stretch: Floats  # (B,) factor of the step
    log_u: Floats  # (B,) logarithms of uniforms


@kernel
def log_posterior(theta: Floats, model: Model, data: Data, gradient: Floats) -> float:
    """Log posterior density up to a constant, and its gradient (D,)."""
    square = 0.0
    for d in range(theta.shape[0]):
        gradient[d] = -theta[d]
        square += theta[d] * theta[d]
    return log_likelihood(theta, model, data, True, gradient) - 0.5 * square


@kernel
def kick(root: Floats, gradient: Floats, step: float, momentum: Floats) -> None:
    """Add step root' gradient to the momentum."""
    D = momentum.shape[0]
    for a in range(D):
        pull = step * gradient[a]
        for b in range(a + 1):
            momentum[b] += root[a, b] * pull


@kernel
def drift(turned: Floats, momentum: Floats, step: float, way: Floats, theta: Floats) -> None:
    """Add step root momentum to the parameters; `turned` is root', whose rows lie side by side, and `way` (D,) room."""
    D = theta.shape[0]
    for a in range(D):
        way[a] = 0.0
    for b in range(D):
        push = momentum[b]
        for a in range(b, D):
            way[a] += turned[b, a] * push
    for a in range(D):
        theta[a] += step * way[a]


@kernel
def move(
    theta: Floats, model: Model, data: Data, root: Floats, step: float, leaps: int, chances: Chances, accepted: Floats
) -> None:
    """One move of each particle (B, D) in place; `accepted` (B,) gets the probability of accepting it.

    `root` is a lower triangular factor of about the posterior's covariance.
    """
    B, D = theta.shape
    gradient, momentum, place, way = np.empty(D), np.empty(D), np.empty(D), np.empty(D)
    turned = root.T.copy()
    for p in range(B):
        kinetic = 0.0
        for d in range(D):
            place[d] = theta[p, d]
            momentum[d] = chances.momentum[p, d]
            kinetic += momentum[d] * momentum[d]
        density = log_posterior(place, model, data, gradient)
        before = density - 0.5 * kinetic
        length = step * chances.stretch[p]
        for _ in range(leaps):
            kick(root, gradient, 0.5 * length, momentum)
            drift(turned, momentum, length, way, place)
            density = log_posterior(place, model, data, gradient)
            kick(root, gradient, 0.5 * length, momentum)
            if not density > -1e200:  # NaN too
                break
        kinetic = 0.0
        for d in range(D):
            kinetic += momentum[d] * momentum[d]
        gain = density - 0.5 * kinetic - before
        accepted[p] = math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0
        if math.isfinite(gain) and chances.log_u[p] < gain:
            for d in range(D):
                theta[p, d] = place[d]


@kernel
def log_likelihoods(theta: Floats, model: Model, data: Data, result: Floats) -> None:
    """Log-likelihood of all cases under each particle: (P, D) to (P,)."""
    unused = np.empty(0)
    for p in range(theta.shape[0]):
        result[p] = log_likelihood(theta[p], model, data, False, unused)


def moved(
    rng: np.random.Generator, theta: Floats, model: Model, data: Data, *, root: Floats, step: float, leaps: int = LEAPS
) -> tuple[Floats, Floats]:
    """Particles (B, D) one move further and how probable each move was to be accepted; threads change only the time."""
    B, D = theta.shape
    own = theta.copy()
    stretch = JITTER[0] + (JITTER[1] - JITTER[0]) * rng.random((B,))
    chances = Chances(rng.standard_normal((B, D)), stretch, np.log1p(-rng.random(B)))
    accepted = np.zeros(B)

    def part(start: int, stop: int) -> None:
        here = slice(start, stop)
        mine = Chances(chances.momentum[here], chances.stretch[here], chances.log_u[here])
        move(own[here], model, data, root, step, leaps, mine, accepted[here])

    in_parts(part, B)
    return own, accepted


def likelihoods(theta: Floats, model: Model, data: Data) -> Floats:
    """Log-likelihood of cases under each particle (P,)."""
    result = np.zeros(len(theta))
    in_parts(lambda start, stop: log_likelihoods(theta[start:stop], model, data, result[start:stop]), len(theta))
    return result
