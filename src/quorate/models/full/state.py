"""What the kernels pass around: the data, the prior and one chain's state, as tuples of arrays."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.settings import Settings
from quorate.errors import InputError
from quorate.models.compiled import kernel
from quorate.models.floors import SCALE_FLOOR, TAU_FLOOR
from quorate.models.full.truncated import IMPOSSIBLE


class Data(NamedTuple):
    """Votes and who was observed on which case, indexed for the sweeps.

    Agents are the classifiers first, then the experts; each has a block of K-1 coordinates of z.
    """

    votes: Ints  # (n, H), -1 where there is none
    voters: Ints  # (H, n) cases each expert voted on, the first `counts[h]` of each row
    counts: Ints  # (H,)
    pattern: Ints  # (n,) which row of `patterns` a case has
    patterns: Bools  # (P, M+H) who was observed
    K: int
    M: int


class Prior(NamedTuple):
    """Hyper-parameters, and which parts of the model are there."""

    sigma_mu: float
    sigma_sigma: float
    eta: float
    sigma_tau: float
    tempered: bool  # votes follow softmax(theta / tau), else theta itself
    correlated: bool  # Omega is free, else the identity


class State(NamedTuple):
    """One chain: latents and parameters. The arrays are changed in place by the kernels."""

    z: Floats  # (n, d) log-ratios: observed for classifiers, imputed for everyone else
    mu: Floats  # (d,)
    Sigma: Floats  # (d, d)
    Q: Floats  # (d, d) inverse of Sigma
    tau: Floats  # (1,)


class Widths(NamedTuple):
    """Slice widths; they change in warm-up only."""

    tau: Floats  # (1,)
    everyone: Floats  # (1,) scale of all experts and the temperature
    expert: Floats  # (H,) scale of one expert
    shift: Floats  # (d,) shift of one coordinate
    row: Floats  # (d, 4) collapsed rows: mean, scale, conditional variance, random lines


def check_data(log_ratios: Floats, votes: Ints, classes: int) -> None:
    """Refuse arrays whose shapes or values do not make a history."""
    if log_ratios.ndim != 3 or votes.ndim != 2 or len(log_ratios) != len(votes):
        raise InputError(
            f"log-ratios of shape {log_ratios.shape} and votes of shape {votes.shape} do not make a history; "
            "expected (n, M, K-1) and (n, H)"
        )
    if log_ratios.shape[2] != classes - 1:
        raise InputError(
            f"log-ratios of {log_ratios.shape[2]} coordinates; expected {classes - 1} for {classes} classes"
        )
    if votes.size and not (votes.min() >= -1 and votes.max() < classes):
        raise InputError(f"votes from {votes.min()} to {votes.max()}; expected -1 (none) to {classes - 1}")
    if np.isinf(log_ratios).any():
        raise InputError("log-ratios hold infinities; clip them first (quorate.models.full.simplex.log_ratios)")


def make_data(log_ratios: Floats, votes: Ints, classes: int) -> Data:
    """Data from log-ratios (n, M, K-1), NaN where a classifier is missing, and votes (n, H)."""
    n, experts = votes.shape
    voters = np.zeros((experts, n), dtype=np.int64)
    counts = (votes >= 0).sum(axis=0).astype(np.int64)
    for h in range(experts):
        voters[h, : counts[h]] = np.flatnonzero(votes[:, h] >= 0)
    seen = np.concatenate([np.isfinite(log_ratios).all(axis=-1), votes >= 0], axis=1)
    patterns, pattern = np.unique(seen, axis=0, return_inverse=True)
    own = np.ascontiguousarray(votes, dtype=np.int64)
    return Data(own, voters, counts, pattern.reshape(n).astype(np.int64), patterns, classes, log_ratios.shape[1])


def make_prior(settings: Settings) -> Prior:
    """The hyper-parameters the kernels read."""
    return Prior(
        float(settings.sigma_mu),
        float(settings.sigma_sigma),
        float(settings.eta),
        float(settings.sigma_tau),
        bool(settings.temperature),
        bool(settings.correlations),
    )


def make_widths(experts: int, size: int) -> Widths:
    """Widths before warm-up, about the scale of the prior."""
    row = np.tile(np.array([0.2, 1.0, 1.0, 0.3]), (size, 1))
    return Widths(np.ones(1), np.ones(1), np.ones(experts), np.full(size, 0.2), row)


def copied_state(state: State) -> State:
    """A state that shares no array with another."""
    return State(*(part.copy() for part in state))


def copied_widths(widths: Widths) -> Widths:
    """Widths that share no array with others."""
    return Widths(*(part.copy() for part in widths))


@kernel
def log_prior_mu(prior: Prior, mu: float) -> float:
    """Log density of one mean, up to a constant."""
    return -0.5 * (mu / prior.sigma_mu) ** 2


@kernel
def log_prior_s(prior: Prior, s: float) -> float:
    """Log density of one standard deviation, up to a constant; nothing lies below the floor."""
    return -0.5 * (s / prior.sigma_sigma) ** 2 if s > SCALE_FLOOR else IMPOSSIBLE


@kernel
def log_prior_tau(prior: Prior, tau: float) -> float:
    """Log density of the temperature, up to a constant; nothing lies below the floor."""
    return -0.5 * (tau / prior.sigma_tau) ** 2 if tau > TAU_FLOOR else IMPOSSIBLE


@kernel
def log_prior_row(prior: Prior, size: int, v: float, q: float) -> float:
    """Log prior of log v along one row of Sigma, where x = v + q is the variance and v its conditional part.

    In Sigma's own measure the prior is |Sigma|^(eta-1) prod_j s_j^-p pi(s_j), p = size + 2 eta - 2. With an
    uncorrelated model each coordinate is a model of size 1 of its own and this is the half-normal on s alone.
    """
    x = v + q
    if not v > SINGULAR * x:
        return IMPOSSIBLE
    half_p = 0.5 * (size + 2.0 * prior.eta - 2.0)
    return prior.eta * math.log(v) - half_p * math.log(x) + log_prior_s(prior, math.sqrt(x))


SINGULAR = 1e-11
"""Smallest share of a coordinate's variance that the others leave unexplained: below it Sigma is singular in floats."""


@kernel
def first_expert(data: Data) -> int:
    """The first coordinate that belongs to an expert."""
    return data.M * (data.K - 1)


@kernel
def rescale(state: State, c: int, a: float) -> None:
    """Multiply the parameters and latents of one coordinate by a factor."""
    state.mu[c] *= a
    for i in range(state.z.shape[0]):
        state.z[i, c] *= a
    for j in range(state.mu.shape[0]):
        state.Sigma[c, j] *= a
        state.Sigma[j, c] *= a
        state.Q[c, j] /= a
        state.Q[j, c] /= a
