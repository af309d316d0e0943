"""Group slices: scale or shift an expert's latents and parameters together, with exact vote probabilities.

Small latents see only mu/s, s/tau and Omega: a ridge that coordinates alone cannot climb. Each move keeps the density
of the latents given their parameters, so only priors, votes and the Jacobian of the move count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel
from quorate.models.full.latents import utilities
from quorate.models.full.slices import adapted, slicer
from quorate.models.full.state import (
    Data,
    Prior,
    State,
    Widths,
    first_expert,
    log_prior_mu,
    log_prior_s,
    log_prior_tau,
    rescale,
)

OVERFLOW = 300.0
"""Exponent above which one rival class outweighs all else in a vote's probability."""


class Group(NamedTuple):
    """The state a group slice moves through; `expert` and `k` say whose block and which coordinate of it."""

    data: Data
    prior: Prior
    state: State
    expert: int
    k: int


@kernel
def _add_odds(gap: float, odds: float, log_odds: float) -> tuple[float, float]:
    """Odds with those of one more class, whose logarithm is the gap; of odds that overflow, the largest logarithm."""
    if gap > OVERFLOW:
        return odds, max(log_odds, gap)
    return odds + math.exp(gap), log_odds


@kernel
def _add_vote(odds: float, log_odds: float, total: float, product: float) -> tuple[float, float]:
    """A log probability of votes, which is total - log product, with one more of these odds against it.

    Logarithms are taken of products: they would cost most.
    """
    if log_odds > 0.0:
        return total - log_odds, product
    product *= 1.0 + odds
    if product > 1e150:
        return total - math.log(product), 1.0
    return total, product


@kernel
def vote_odds(z: Floats, vote: int, tau: float, tempered: bool, scratch: Floats) -> tuple[float, float]:
    """Odds of all other classes against a vote given its latent block (K-1,), and their logarithm if they overflow."""
    K = scratch.shape[0]
    own = z[vote] if vote < K - 1 else 0.0
    odds, log_odds = 0.0, 0.0
    if not tempered:
        for k in range(K):
            gap = (z[k] if k < K - 1 else 0.0) - own
            if k != vote:
                odds, log_odds = _add_odds(gap, odds, log_odds)
        return odds, log_odds
    total = 0.0  # of exponentials against the vote's own, so that each is taken once
    for k in range(K):
        scratch[k] = math.exp(min((z[k] if k < K - 1 else 0.0) - own, OVERFLOW))
        total += scratch[k]
    sharpness = 1.0 / (total * tau)
    for k in range(K):
        if k != vote:
            odds, log_odds = _add_odds((scratch[k] - 1.0) * sharpness, odds, log_odds)
    return odds, log_odds


@kernel
def log_votes(group: Group, expert: int, scale: float, k_shifted: int, shift: float, tau: float) -> float:
    """Log probability of an expert's votes after its latents are scaled, or one coordinate of them shifted."""
    data, z, K = group.data, group.state.z, group.data.K
    first = first_expert(data) + expert * (K - 1)
    block, scratch = np.empty(K - 1), np.empty(K)
    total, product = 0.0, 1.0
    for a in range(data.counts[expert]):
        i = data.voters[expert, a]
        vote = data.votes[i, expert]
        for k in range(K - 1):
            block[k] = scale * z[i, first + k]
        if k_shifted >= 0:
            block[k_shifted] += shift
        if K == 2 and group.prior.tempered:
            margin = block[0] if vote == 0 else -block[0]
            gap = (1.0 - 2.0 / (1.0 + math.exp(-max(margin, -OVERFLOW)))) / tau  # of the other class over the vote's
            odds, log_odds = (math.exp(gap), 0.0) if gap < OVERFLOW else (0.0, gap)
        else:
            odds, log_odds = vote_odds(block, vote, tau, group.prior.tempered, scratch)
        total, product = _add_vote(odds, log_odds, total, product)
    return total - math.log(product)


@kernel
def _log_scaled_prior(group: Group, expert: int, t: float) -> float:
    """Log prior and Jacobian of one expert's means and scales times e^t."""
    first = first_expert(group.data) + expert * (group.data.K - 1)
    a, total = math.exp(t), 0.0
    for c in range(first, first + group.data.K - 1):
        s = math.sqrt(group.state.Sigma[c, c])
        total += log_prior_mu(group.prior, a * group.state.mu[c]) + log_prior_s(group.prior, a * s) + 2.0 * t
    return total


class TemperatureLine(NamedTuple):
    """Log tau given the latents: all it sees of a vote is how far each other class lies above the one voted for."""

    prior: Prior
    tau: float
    gaps: Floats  # (V, K-1) theta_k - theta_vote for each vote, nobody's own class


@kernel
def temperature_line(data: Data, prior: Prior, state: State) -> TemperatureLine:
    """The line along log tau through a state."""
    K, votes = data.K, 0
    for h in range(data.counts.shape[0]):
        votes += data.counts[h]
    gaps, theta, row = np.empty((votes, K - 1)), np.empty(K), 0
    for h in range(data.counts.shape[0]):
        first = first_expert(data) + h * (K - 1)
        for a in range(data.counts[h]):
            i = data.voters[h, a]
            vote, at = data.votes[i, h], 0
            utilities(state.z[i, first : first + K - 1], K, 1.0, True, theta)
            for k in range(K):
                if k != vote:
                    gaps[row, at] = theta[k] - theta[vote]
                    at += 1
            row += 1
    return TemperatureLine(prior, state.tau[0], gaps)


@kernel
def log_density_tau(t: float, line: TemperatureLine) -> float:
    """Along log tau."""
    tau = line.tau * math.exp(t)
    total, product = log_prior_tau(line.prior, tau) + t, 1.0
    for row in range(line.gaps.shape[0]):
        odds, log_odds = 0.0, 0.0
        for k in range(line.gaps.shape[1]):
            odds, log_odds = _add_odds(line.gaps[row, k] / tau, odds, log_odds)
        total, product = _add_vote(odds, log_odds, total, product)
    return total - math.log(product)


slice_tau = slicer(log_density_tau)


@kernel
def log_density_everyone(t: float, group: Group) -> float:
    """Along the common scale of all experts' latents, means and scales and of the temperature."""
    a = math.exp(t)
    tau, total = 1.0, 0.0
    if group.prior.tempered:
        tau = group.state.tau[0] * a
        total = log_prior_tau(group.prior, tau) + t
    for h in range(group.data.counts.shape[0]):
        total += _log_scaled_prior(group, h, t) + log_votes(group, h, a, -1, 0.0, tau)
    return total


slice_everyone = slicer(log_density_everyone)


@kernel
def log_density_expert(t: float, group: Group) -> float:
    """Along the common scale of one expert's latents, means and scales."""
    h = group.expert
    return _log_scaled_prior(group, h, t) + log_votes(group, h, math.exp(t), -1, 0.0, group.state.tau[0])


slice_expert = slicer(log_density_expert)


@kernel
def log_density_shift(t: float, group: Group) -> float:
    """Along a shift of one coordinate's latents and mean."""
    c = first_expert(group.data) + group.expert * (group.data.K - 1) + group.k
    moved = log_prior_mu(group.prior, group.state.mu[c] + t)
    return moved + log_votes(group, group.expert, 1.0, group.k, t, group.state.tau[0])


slice_shift = slicer(log_density_shift)


@kernel
def move_groups(
    rng: np.random.Generator, data: Data, prior: Prior, state: State, widths: Widths, warming: bool
) -> None:
    """All group slices once: temperature, everyone's scale, then each expert's scale and shifts."""
    start, block = first_expert(data), data.K - 1
    group = Group(data, prior, state, 0, 0)
    if prior.tempered:
        t = slice_tau(rng, temperature_line(data, prior, state), widths.tau[0])
        state.tau[0] *= math.exp(t)
        if warming:
            widths.tau[0] = adapted(widths.tau[0], t)
    t = slice_everyone(rng, group, widths.everyone[0])
    if prior.tempered:
        state.tau[0] *= math.exp(t)
    for c in range(start, state.mu.shape[0]):
        rescale(state, c, math.exp(t))
    if warming:
        widths.everyone[0] = adapted(widths.everyone[0], t)
    for h in range(data.counts.shape[0]):
        first = start + h * block
        t = slice_expert(rng, Group(data, prior, state, h, 0), widths.expert[h])
        for c in range(first, first + block):
            rescale(state, c, math.exp(t))
        if warming:
            widths.expert[h] = adapted(widths.expert[h], t)
        for k in range(block):
            t = slice_shift(rng, Group(data, prior, state, h, k), widths.shift[first + k])
            state.mu[first + k] += t
            for i in range(state.z.shape[0]):
                state.z[i, first + k] += t
            if warming:
                widths.shift[first + k] = adapted(widths.shift[first + k], t)
