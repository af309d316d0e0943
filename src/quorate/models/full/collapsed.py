"""Collapsed rows: an expert coordinate's row of Sigma and mean with its latents integrated out, then redrawn.

Given fresh Gumbel differences the votes leave each latent of the coordinate an interval, so that the latents integrate
out to a product of normal masses. This is what makes correlations mix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel
from quorate.models.full.latents import gumbel_differences, interval
from quorate.models.full.linear import add, cholesky, multiply
from quorate.models.full.rows import Row, put_row, take_row, weigh
from quorate.models.full.slices import adapted, slicer
from quorate.models.full.state import Data, Prior, State, Widths, first_expert, log_prior_mu, log_prior_row
from quorate.models.full.truncated import log_mass_between, truncated_normal

LINES = 3
"""Random lines in the regression coefficients per row and sweep."""


class RowLine(NamedTuple):
    """A line through one row's parameters with the latents integrated out."""

    prior: Prior
    size: int
    mu: float
    v: float
    q: float
    lower: Floats  # (V,) what the votes leave to each voted latent
    upper: Floats  # (V,)
    mean: Floats  # (V,) conditional means of the latents
    slope: Floats  # (V,) how they change along the line
    q_slope: float  # q changes by 2 t q_slope + t^2 q_curve
    q_curve: float


@kernel
def log_density_mean(t: float, line: RowLine) -> float:
    """Along the mean of the coordinate."""
    masses = log_mass_between(line.lower, line.upper, line.mean, line.slope, t, 1.0, math.sqrt(line.v))
    return log_prior_mu(line.prior, line.mu + t) + masses


slice_mean = slicer(log_density_mean)


@kernel
def log_density_row_scale(t: float, line: RowLine) -> float:
    """Along the common scale a of mean, coefficients and residual sd: the Jacobian is a^size in (mean, b, log v)."""
    a = math.exp(t)
    masses = log_mass_between(line.lower, line.upper, line.mean, line.slope, 0.0, a, a * math.sqrt(line.v))
    prior = log_prior_mu(line.prior, a * line.mu) + log_prior_row(line.prior, line.size, a * a * line.v, a * a * line.q)
    return prior + line.size * t + masses


slice_row_scale = slicer(log_density_row_scale)


@kernel
def log_density_row_variance(t: float, line: RowLine) -> float:
    """Along log v."""
    v = line.v * math.exp(t)
    masses = log_mass_between(line.lower, line.upper, line.mean, line.slope, 0.0, 1.0, math.sqrt(v))
    return log_prior_row(line.prior, line.size, v, line.q) + masses


slice_row_variance = slicer(log_density_row_variance)


@kernel
def log_density_coefficients(t: float, line: RowLine) -> float:
    """Along a line in the regression coefficients."""
    q = line.q + 2.0 * t * line.q_slope + t * t * line.q_curve
    masses = log_mass_between(line.lower, line.upper, line.mean, line.slope, t, 1.0, math.sqrt(line.v))
    return log_prior_row(line.prior, line.size, line.v, q) + masses


slice_coefficients = slicer(log_density_coefficients)


@kernel
def _regress(state: State, row: Row, i: int, weights: Floats) -> float:
    """Weighted sum of a case's deviations from the means of the other coordinates."""
    total = 0.0
    for a in range(weights.shape[0]):
        total += weights[a] * (state.z[i, row.others[a]] - state.mu[row.others[a]])
    return total


@kernel
def _vote_bounds(
    rng: np.random.Generator, data: Data, prior: Prior, state: State, h: int, k: int, lower: Floats, upper: Floats
) -> None:
    """Fresh intervals of one coordinate's latents, over the cases its expert voted on."""
    D, scratch = np.empty(data.K), np.empty(data.K)
    first = first_expert(data) + h * (data.K - 1)
    for a in range(data.counts[h]):
        i = data.voters[h, a]
        z = state.z[i, first : first + data.K - 1]
        gumbel_differences(rng, z, data.votes[i, h], state.tau[0], prior.tempered, D, scratch)
        low, high = interval(z, k, data.votes[i, h], D, prior.tempered)
        lower[a] = min(low, z[k] - 1e-12)  # the current latent lies inside but for rounding
        upper[a] = max(high, z[k] + 1e-12)


@kernel
def _redraw(rng: np.random.Generator, data: Data, state: State, h: int, row: Row, line: RowLine) -> None:
    """Draw the coordinate's latents given the new row: truncated where there was a vote, free elsewhere."""
    c, sd = row.c, math.sqrt(line.v)
    for i in range(state.z.shape[0]):
        if data.votes[i, h] < 0:
            state.z[i, c] = line.mu + _regress(state, row, i, row.b) + sd * rng.standard_normal()
    for a in range(data.counts[h]):
        low, high = (line.lower[a] - line.mean[a]) / sd, (line.upper[a] - line.mean[a]) / sd
        state.z[data.voters[h, a], c] = line.mean[a] + sd * truncated_normal(rng, low, high)


@kernel
def _random_line(
    rng: np.random.Generator,
    data: Data,
    state: State,
    h: int,
    row: Row,
    L: Floats,
    sd: float,
    nu: Floats,
    slope: Floats,
) -> None:
    """A direction sd * N(0, S^-1) for the coefficients, and how the conditional means change along it.

    Its length depends on v, which the line leaves alone, and never on the coefficients that it changes.
    """
    m = nu.shape[0]
    for a in range(m):
        nu[a] = sd * rng.standard_normal()
    for a in range(m - 1, -1, -1):
        value = 0.0
        for e in range(a + 1):
            value += L[a, e] * nu[e]
        nu[a] = value
    for a in range(data.counts[h]):
        slope[a] = _regress(state, row, data.voters[h, a], nu)


@kernel
def collapse_row(
    rng: np.random.Generator, data: Data, prior: Prior, state: State, h: int, k: int, widths: Widths, warming: bool
) -> bool:
    """Move a coordinate's mean and row with its latents integrated out, then redraw these; False if singular."""
    c = first_expert(data) + h * (data.K - 1) + k
    count, width = data.counts[h], widths.row[c]
    row = take_row(state, prior, c)
    m = row.b.shape[0]
    mu, v, q = state.mu[c], 1.0 / state.Q[c, c], weigh(row.S, row.b, row.Sb)
    L, nu, Snu = np.empty((m, m)), np.empty(m), np.empty(m)
    if not cholesky(row.P, L):
        return False
    lower, upper, mean, slope = np.empty(count), np.empty(count), np.empty(count), np.ones(count)
    _vote_bounds(rng, data, prior, state, h, k, lower, upper)
    for a in range(count):
        mean[a] = mu + _regress(state, row, data.voters[h, a], row.b)

    line = RowLine(prior, m + 1, mu, v, q, lower, upper, mean, slope, 0.0, 0.0)
    t = slice_mean(rng, line, width[0])
    mu += t
    add(t, slope, mean)
    width[0] = adapted(width[0], t) if warming else width[0]

    line = RowLine(prior, m + 1, mu, v, q, lower, upper, mean, slope, 0.0, 0.0)
    t = slice_row_scale(rng, line, width[1])
    a_ = math.exp(t)
    mu, v, q = mu * a_, v * a_ * a_, q * a_ * a_
    multiply(a_, mean)
    multiply(a_, row.b)
    multiply(a_, row.Sb)
    width[1] = adapted(width[1], t) if warming else width[1]

    line = RowLine(prior, m + 1, mu, v, q, lower, upper, mean, slope, 0.0, 0.0)
    t = slice_row_variance(rng, line, width[2])
    v *= math.exp(t)
    width[2] = adapted(width[2], t) if warming else width[2]

    for _ in range(LINES if m > 0 else 0):
        _random_line(rng, data, state, h, row, L, math.sqrt(v), nu, slope)
        q_curve = weigh(row.S, nu, Snu)
        q_slope = 0.0
        for a in range(m):
            q_slope += Snu[a] * row.b[a]
        line = RowLine(prior, m + 1, mu, v, q, lower, upper, mean, slope, q_slope, q_curve)
        t = slice_coefficients(rng, line, width[3])
        q += 2.0 * t * q_slope + t * t * q_curve
        add(t, nu, row.b)
        add(t, Snu, row.Sb)
        add(t, slope, mean)
        width[3] = adapted(width[3], t) if warming else width[3]

    state.mu[c] = mu
    put_row(state, row, v, q)
    _redraw(rng, data, state, h, row, RowLine(prior, m + 1, mu, v, q, lower, upper, mean, slope, 0.0, 0.0))
    return True
