"""One whole sweep of the sampler, and a run of sweeps without the interpreter."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel
from quorate.models.full.collapsed import collapse_row
from quorate.models.full.groups import move_groups
from quorate.models.full.latents import sweep_latents
from quorate.models.full.linear import invert, write
from quorate.models.full.rows import draw_means, draw_rows, draw_scales, moments
from quorate.models.full.state import Data, Prior, State, Widths


class Record(NamedTuple):
    """Where the draws of one chain are written."""

    mu: Floats  # (S, d)
    s: Floats  # (S, d)
    omega: Floats  # (S, d, d)
    tau: Floats  # (S,)


@kernel
def sweep(rng: np.random.Generator, data: Data, prior: Prior, state: State, widths: Widths, warming: bool) -> bool:
    """One sweep over everything; False where Sigma became singular on the way and the state must not be used."""
    move_groups(rng, data, prior, state, widths, warming)
    if not sweep_latents(rng, data, prior, state):
        return False
    stats = moments(state.z)
    draw_rows(rng, prior, state, stats)
    if prior.correlated:  # without correlations the rows' conditional variances are the variances
        draw_scales(rng, prior, state, stats)
    if not invert(state.Sigma, state.Q):
        return False
    draw_means(rng, prior, state, stats)
    for h in range(data.counts.shape[0]):
        for k in range(data.K - 1):
            if not collapse_row(rng, data, prior, state, h, k, widths, warming):
                return False
    return invert(state.Sigma, state.Q)


@kernel
def copy_state(source: State, target: State) -> None:
    """Write one state over another."""
    write(source.z.ravel(), target.z.ravel())
    write(source.mu, target.mu)
    write(source.Sigma.ravel(), target.Sigma.ravel())
    write(source.Q.ravel(), target.Q.ravel())
    write(source.tau, target.tau)


@kernel
def finite(state: State) -> bool:
    """Whether a state can be used: finite, with positive variances."""
    for j in range(state.mu.shape[0]):
        if not (math.isfinite(state.mu[j]) and math.isfinite(state.Q[j, j]) and state.Sigma[j, j] > 0.0):
            return False
    total = 0.0
    for i in range(state.z.shape[0]):
        for j in range(state.z.shape[1]):
            total += state.z[i, j]
    return math.isfinite(total) and state.tau[0] > 0.0


@kernel
def run(
    rng: np.random.Generator,
    data: Data,
    prior: Prior,
    state: State,
    backup: State,
    widths: Widths,
    warmup: int,
    record: Record,
) -> int:
    """Sweep through warm-up and record every sweep after it; return how many sweeps were refused and undone."""
    size, refused = state.mu.shape[0], 0
    for number in range(warmup + record.tau.shape[0]):
        copy_state(state, backup)
        if not sweep(rng, data, prior, state, widths, number < warmup) or not finite(state):
            copy_state(backup, state)
            refused += 1
        if number < warmup:
            continue
        at = number - warmup
        record.tau[at] = state.tau[0]
        for j in range(size):
            record.mu[at, j] = state.mu[j]
            record.s[at, j] = math.sqrt(state.Sigma[j, j])
        for j in range(size):
            for k in range(size):
                correlation = state.Sigma[j, k] / (record.s[at, j] * record.s[at, k])
                record.omega[at, j, k] = correlation if j != k else 1.0
    return refused
