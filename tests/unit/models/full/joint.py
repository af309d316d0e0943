"""The joint density of parameters, latents and votes, written plainly: what the kernels must agree with."""

# the recipe's letters for matrices
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import multivariate_normal

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full.normal import prior_parameters, simulate, vote_probabilities
from quorate.models.full.state import Data, Prior, State, make_data, make_prior


def inverse(A: Floats) -> Floats:
    """The inverse of a matrix, in double precision also for the type checker."""
    return np.linalg.inv(A).astype(np.float64)


def log_prior_sigma(Sigma: Floats, prior: Prior) -> float:
    """Log density of Sigma in the measure of its own entries: half-normal s and LKJ Omega, with the Jacobian s^-d."""
    s = np.sqrt(np.diag(Sigma))
    if not prior.correlated:  # the variances alone: ds = dx / 2s
        return float((-0.5 * (s / prior.sigma_sigma) ** 2 - np.log(s)).sum())
    log_det = np.linalg.slogdet(Sigma / np.outer(s, s))[1]
    return float((prior.eta - 1) * log_det + (-0.5 * (s / prior.sigma_sigma) ** 2 - len(s) * np.log(s)).sum())


def log_prior_rest(mu: Floats, tau: float, prior: Prior) -> float:
    """Log density of the means and the temperature."""
    return (
        float(-0.5 * (mu / prior.sigma_mu) @ (mu / prior.sigma_mu))
        - 0.5 * (tau / prior.sigma_tau) ** 2 * prior.tempered
    )


def log_votes(z: Floats, tau: float, data: Data, prior: Prior) -> float:
    """Log probability of all votes given all latents (n, d)."""
    blocks = z.reshape(len(z), -1, data.K - 1)[:, data.M :]
    shares = vote_probabilities(blocks, tau, temperature=prior.tempered)
    i, h = np.nonzero(data.votes >= 0)
    return float(np.log(shares[i, h, data.votes[i, h]]).sum())


def log_joint(state: State, data: Data, prior: Prior) -> float:
    """Log density of everything."""
    latents = multivariate_normal(state.mu, state.Sigma).logpdf(state.z).sum()
    tau = float(state.tau[0])
    rest = log_prior_rest(state.mu, tau, prior) + log_votes(state.z, tau, data, prior)
    return float(latents) + log_prior_sigma(state.Sigma, prior) + rest


def log_jacobian(move: Callable[[Floats], Floats], at: Floats) -> float:
    """Log determinant of a move's derivative, by central differences."""
    steps = 1e-5 * np.maximum(np.abs(at), 1e-2)
    columns = [
        (move(at + step * unit) - move(at - step * unit)) / (2 * step)
        for step, unit in zip(steps, np.eye(len(at)), strict=True)
    ]
    return float(np.linalg.slogdet(np.array(columns))[1])


def made_up(
    seed: int, *, classes: int, classifiers: int, experts: int, n: int, settings: Settings, missing: float = 0.3
) -> tuple[Data, Prior, State]:
    """A state that agrees with simulated data: parameters and data from the prior, latents at random."""
    rng = np.random.default_rng(seed)
    truth = prior_parameters(rng, classes=classes, classifiers=classifiers, experts=experts, settings=settings)
    log_ratios, votes = simulate(
        rng, truth, n, classes=classes, classifiers=classifiers, settings=settings, missing=missing
    )
    Sigma = truth.omega * np.outer(truth.s, truth.s)
    z = truth.mu + rng.standard_normal((n, len(truth.mu))) * truth.s
    z[:, : classifiers * (classes - 1)] = log_ratios.reshape(n, -1)
    state = State(z, truth.mu.copy(), Sigma, inverse(Sigma), np.array([max(truth.tau, 0.05)]))
    return make_data(log_ratios, votes, classes), make_prior(settings), state
