"""A crowd of exchangeable experts whose vote proportions follow a classifier: its fit and its forecasts.

For each case the vote proportions are Dirichlet with parameters alpha = a w + a0, where w is the classifier's
probabilities, each raised to its class's own exponent tau and normalised; votes are independent given them. The
parameters travel as one array (a, a0, tau_1, ..., tau_K).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import betainc, digamma, expit, gammainc, gammaln, softmax

from quorate.baselines.consensus import leaders
from quorate.core.arrays import Floats, Ints
from quorate.core.target import Weighted

ADDED = 1e-8
"""Added to the classifier's probabilities before their logarithm."""

SHAPE, RATE = 3.0, 2.0
"""Gamma prior of every parameter: its mode is 1."""

BOUNDS = (1e-3, 1e4)
"""Where the search for parameters stays; the prior keeps it far inside."""


def start(classes: int) -> Floats:
    """The parameters before any vote: the mode of their prior.

    >>> start(2).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return np.ones(classes + 2)


def concentrations(x: Floats, p: Floats) -> Floats:
    """Dirichlet parameters of the vote proportions given a classifier's probabilities: (..., K) to (..., K).

    >>> concentrations(start(2), np.array([0.25, 0.75])).round(4).tolist()
    [1.25, 1.75]
    """
    alpha: Floats = x[0] * softmax(x[2:] * np.log(p + ADDED), axis=-1) + x[1]
    return alpha


def log_posterior(x: Floats, p: Floats, tally: Ints, prior_weight: float) -> tuple[float, Floats]:
    """Mean log-likelihood of tallies (W, K) plus the weighted log-prior, and the gradient in x (K + 2,).

    Votes seen are a thinned tally, so a finite and an infinite panel have this likelihood alike.
    """
    log_p = np.log(p + ADDED)
    w = softmax(x[2:] * log_p, axis=-1)  # (W, K)
    alpha = x[0] * w + x[1]
    total, votes = alpha.sum(axis=1), tally.sum(axis=1)
    value = gammaln(total) - gammaln(total + votes) + (gammaln(alpha + tally) - gammaln(alpha)).sum(axis=1)
    g = (digamma(total) - digamma(total + votes))[:, None] + digamma(alpha + tally) - digamma(alpha)
    along = (g * w).sum(axis=1)
    slope = np.concatenate(
        [[along.mean()], [g.sum(axis=1).mean()], (x[0] * log_p * w * (g - along[:, None])).mean(axis=0)]
    )
    prior = ((SHAPE - 1) * np.log(x) - RATE * x).sum()
    return float(value.mean() + prior_weight * prior), slope + prior_weight * ((SHAPE - 1) / x - RATE)


def fit(p: Floats, tally: Ints, *, before: Floats, prior_weight: float) -> Floats:
    """The parameters of largest posterior, searched from those before; never worse than they are."""

    def objective(v: Floats) -> tuple[float, Floats]:
        value, slope = log_posterior(np.logaddexp(0.0, v), p, tally, prior_weight)
        return -value, -slope * expit(v)

    low, high = _unbounded(np.array(BOUNDS))
    first = _unbounded(np.clip(before, *BOUNDS))
    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=[(low, high)] * len(first))
    better = found.fun <= objective(first)[0]  # False for NaN too
    return np.logaddexp(0.0, found.x) if better else before


def _unbounded(x: Floats) -> Floats:
    """Inverse of softplus, in a form that does not overflow."""
    v: Floats = x + np.log(-np.expm1(-x))
    return v


class Chances(NamedTuple):
    """Probability of each consensus, and of any one unasked expert's vote together with it."""

    values: Floats  # (K,)
    joint: Floats  # (K, K): vote, consensus


def sampled(rng: np.random.Generator, b: Floats, samples: int) -> Chances:
    """Chances of the largest proportion under Dirichlet(b), by sampling."""
    theta = rng.dirichlet(b, size=samples)  # (S, K)
    lead = np.eye(len(b))[theta.argmax(axis=1)]
    return Chances(lead.mean(axis=0), theta.T @ lead / samples)


def completed(
    rng: np.random.Generator, b: Floats, samples: int, *, tally: Ints, left: int, target: Weighted
) -> Chances:
    """Chances of the consensus once the votes that are left have joined the tally (K,), by sampling."""
    rest = rng.multinomial(left, rng.dirichlet(b, size=samples))  # (S, K)
    lead = leaders(tally + rest, target)
    return Chances(lead.mean(axis=0), (rest / left).T @ lead / samples)


def exact(b: Floats) -> Chances:
    """Chances of the largest proportion under Dirichlet(b), by integration.

    A vote adds one to its class, so each row of the joint holds the chances to lead after that vote.
    """
    after = np.array([leading(row) for row in b + np.eye(len(b))])
    return Chances(leading(b), (b / b.sum())[:, None] * after)


def leading(b: Floats) -> Floats:
    """Chance of each class to have the largest proportion under Dirichlet(b): (K,).

    >>> leading(np.array([3.0, 3.0, 3.0])).round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """
    if len(b) == 2:
        return np.array([betainc(b[1], b[0], 0.5), betainc(b[0], b[1], 0.5)])
    # Proportions are gamma variables over their sum. In log x the integrand is analytic and dies out at both ends,
    # as exp(sum(b) log x) on the left: there the trapezium rule converges faster than any power of its step.
    total, most = b.sum(), b.max()
    low, high = -40.0 / total, np.log(most + 10.0 * np.sqrt(most) + 40.0)
    step = min(0.2, 0.5 / np.sqrt(total))
    t = np.arange(low, high + step, step)[:, None]  # (T, 1)
    log_density = b * t - np.exp(t) - gammaln(b)  # (T, K)
    with np.errstate(divide="ignore"):  # a chance too small for a float is 0
        log_below = np.where(t < -30.0, b * t - gammaln(b + 1), np.log(gammainc(b, np.exp(t))))
        others = np.array([np.delete(log_below, k, axis=1).sum(axis=1) for k in range(len(b))]).T
    mass = np.exp(log_density + others).sum(axis=0)
    chances: Floats = mass / mass.sum()
    return chances
