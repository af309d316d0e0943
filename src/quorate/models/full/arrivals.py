"""A new or changed case in a chain that is already running: its latents given the chain's parameters."""

from __future__ import annotations

import math

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel
from quorate.models.full.groups import vote_odds
from quorate.models.full.linear import cholesky
from quorate.models.full.state import Data, Prior, State, first_expert

CANDIDATES = 64
"""Draws from the latents' distribution given the classifiers, of which one is picked by the votes' likelihood."""


@kernel
def log_likelihood(data: Data, prior: Prior, i: int, z: Floats, tau: float) -> float:
    """Log probability of a case's votes given its latents (d,)."""
    block, start, total, scratch = data.K - 1, first_expert(data), 0.0, np.empty(data.K)
    for h in range(data.votes.shape[1]):
        if data.votes[i, h] >= 0:
            first = start + h * block
            odds, log_odds = vote_odds(z[first : first + block], data.votes[i, h], tau, prior.tempered, scratch)
            total -= log_odds if log_odds > 0.0 else math.log1p(odds)
    return total


@kernel
def _known_first(data: Data, i: int, order: Ints) -> int:
    """Write the coordinates with the observed classifiers' in front; return how many those are."""
    block, start, known = data.K - 1, first_expert(data), 0
    observed = data.patterns[data.pattern[i]]
    for c in range(start):
        if observed[c // block]:
            order[known] = c
            known += 1
    at = known
    for c in range(order.shape[0]):
        if c >= start or not observed[c // block]:
            order[at] = c
            at += 1
    return known


@kernel
def arrive(rng: np.random.Generator, data: Data, prior: Prior, state: State, i: int) -> bool:
    """Draw the latents of case i, whose observed log-ratios stand in z already; False where Sigma is singular."""
    size = state.mu.shape[0]
    order = np.empty(size, np.int64)
    known = _known_first(data, i, order)
    A, L = np.empty((size, size)), np.empty((size, size))
    for a in range(size):
        for b in range(a + 1):
            A[a, b] = state.Sigma[order[a], order[b]]
    if not cholesky(A, L):
        return False
    e, z, chosen = np.zeros(size), state.z[i].copy(), state.z[i]
    for a in range(known):
        rest = z[order[a]] - state.mu[order[a]]
        for b in range(a):
            rest -= L[a, b] * e[b]
        e[a] = rest / L[a, a]
    top, total = -math.inf, 0.0
    for _ in range(CANDIDATES):
        for a in range(known, size):
            e[a] = rng.standard_normal()
            value = state.mu[order[a]]
            for b in range(a + 1):
                value += L[a, b] * e[b]
            z[order[a]] = value
        log_weight = log_likelihood(data, prior, i, z, state.tau[0])
        if log_weight > top:
            total *= math.exp(top - log_weight)
            top = log_weight
        weight = math.exp(log_weight - top)
        total += weight
        if rng.random() * total <= weight:  # the first candidate always passes, later ones by their share so far
            for a in range(known, size):
                chosen[order[a]] = z[order[a]]
    return True
