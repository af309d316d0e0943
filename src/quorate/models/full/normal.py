"""Draws from the prior, and histories simulated from it (paper section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.floors import SCALE_FLOOR, TAU_FLOOR
from quorate.models.full.simplex import probabilities, tempered


@dataclass(frozen=True)
class Parameters:
    """One value of everything the model learns."""

    mu: Floats  # (d,)
    s: Floats  # (d,)
    omega: Floats  # (d, d)
    tau: float


def lkj(rng: np.random.Generator, size: int, eta: float, count: int) -> Floats:
    """Correlation matrices from LKJ(eta), by the onion of growing ones: (count, size, size).

    >>> lkj(np.random.default_rng(0), 3, 2.0, 5).shape
    (5, 3, 3)
    """
    # Row k of the Cholesky factor is a point of the unit ball: its squared length is Beta, its direction uniform.
    L = np.zeros((count, size, size))
    L[:, 0, 0] = 1.0
    beta = eta + (size - 2) / 2.0
    for k in range(1, size):
        square = rng.beta(k / 2.0, beta, count)
        direction = rng.standard_normal((count, k))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        L[:, k, :k] = np.sqrt(square)[:, None] * direction
        L[:, k, k] = np.sqrt(1.0 - square)
        beta -= 0.5
    omega: Floats = L @ L.transpose(0, 2, 1)
    omega[:, np.arange(size), np.arange(size)] = 1.0
    return omega


def half_normal(rng: np.random.Generator, scale: float, floor: float, shape: tuple[int, ...]) -> Floats:
    """Half-normal draws above a floor."""
    # The distance from the floor is drawn by refusing what lies below it: almost nothing does.
    drawn = np.abs(rng.standard_normal(shape)) * scale
    while (low := drawn <= floor).any():
        drawn[low] = np.abs(rng.standard_normal(int(low.sum()))) * scale
    return drawn


def prior_draws(
    rng: np.random.Generator,
    *,
    classes: int,
    classifiers: int,
    experts: int,
    settings: Settings,
    chains: int,
    count: int,
) -> Draws:
    """Independent draws of the parameters from their prior, which is the posterior of an empty history."""
    size, total = (classes - 1) * (classifiers + experts), chains * count
    mu = settings.sigma_mu * rng.standard_normal((total, size))
    s = half_normal(rng, settings.sigma_sigma, SCALE_FLOOR, (total, size))
    omega = lkj(rng, size, settings.eta, total) if settings.correlations else np.tile(np.eye(size), (total, 1, 1))
    tau = half_normal(rng, settings.sigma_tau, TAU_FLOOR, (total,)) if settings.temperature else np.ones(total)
    return Draws(
        mu=mu.reshape(chains, count, size),
        s=s.reshape(chains, count, size),
        omega=omega.reshape(chains, count, size, size),
        tau=tau.reshape(chains, count),
        classes=classes,
        classifiers=classifiers,
        experts=experts,
    )


def prior_parameters(
    rng: np.random.Generator, *, classes: int, classifiers: int, experts: int, settings: Settings
) -> Parameters:
    """One draw of the parameters from their prior."""
    one = prior_draws(
        rng, classes=classes, classifiers=classifiers, experts=experts, settings=settings, chains=1, count=1
    )
    return Parameters(one.mu[0, 0], one.s[0, 0], one.omega[0, 0], float(one.tau[0, 0]))


def factor(omega: Floats) -> Floats:
    """Cholesky factors of correlation matrices (..., d, d), the diagonal raised a little where one is singular."""
    raised = omega
    for exponent in range(-14, 0):
        try:
            L: Floats = np.linalg.cholesky(raised).astype(np.float64)
        except np.linalg.LinAlgError:
            raised = omega + 10.0**exponent * np.eye(omega.shape[-1])
        else:
            return L
    raise HealthError("a correlation matrix is so far from positive definite that nothing can be simulated from it")


def vote_probabilities(z: Floats, tau: float | Floats, *, temperature: bool) -> Floats:
    """How experts with latents z (..., K-1) vote: (..., K)."""
    theta = probabilities(z)
    return tempered(theta, tau) if temperature else theta


def simulate(
    rng: np.random.Generator,
    parameters: Parameters,
    n: int,
    *,
    classes: int,
    classifiers: int,
    settings: Settings,
    missing: float = 0.0,
) -> tuple[Floats, Ints]:
    """Log-ratios (n, M, K-1) and votes (n, H) of n cases; each vote is left out with probability `missing`."""
    block = classes - 1
    L = parameters.s[:, None] * factor(parameters.omega)
    z = (parameters.mu + rng.standard_normal((n, len(parameters.mu))) @ L.T).reshape(n, -1, block)
    shares = vote_probabilities(z[:, classifiers:], parameters.tau, temperature=settings.temperature)  # (n, H, K)
    uniform = rng.random(shares.shape[:-1])[..., None]
    votes = np.minimum((uniform > shares.cumsum(-1)).sum(-1), block).astype(np.int64)
    votes[rng.random(votes.shape) < missing] = -1
    return z[:, :classifiers], votes
