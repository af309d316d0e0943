"""Rows of Sigma and the means given all latents, from sufficient statistics: the cost is free of the number of cases.

The row of coordinate c is its regression on the others: z_c = mu_c + b'(z_-c - mu_-c) + sqrt(v) e, so that
Sigma_-c,c = Sigma_-c b and Sigma_cc = v + q with q = b' Sigma_-c b. Without correlations nobody has others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel
from quorate.models.full.linear import cholesky, solve_lower, solve_upper, write
from quorate.models.full.slices import slicer
from quorate.models.full.state import SINGULAR, Prior, State, log_prior_row, log_prior_s
from quorate.models.full.truncated import IMPOSSIBLE, POSSIBLE


class Moments(NamedTuple):
    """Sufficient statistics of the latents."""

    n: int
    mean: Floats  # (d,)
    scatter: Floats  # (d, d) sums of products about the mean


class Row(NamedTuple):
    """One coordinate's regression on the others."""

    c: int
    others: Ints  # (m,)
    S: Floats  # (m, m) covariance of the others
    P: Floats  # (m, m) its inverse
    b: Floats  # (m,)
    Sb: Floats  # (m,)


class VarianceLine(NamedTuple):
    """Log v of a row given its regression coefficients."""

    prior: Prior
    size: int
    n: int
    rss: float
    v: float
    q: float


class ScaleLine(NamedTuple):
    """Log variance x of a coordinate, the regression of the others on it held fixed: s_j^2 = rest_j + slope_j^2 x."""

    prior: Prior
    n: int
    c: int
    rss: float
    x: float
    rest: Floats  # (d,)
    slope: Floats  # (d,), 1 at the coordinate itself


@kernel
def moments(z: Floats) -> Moments:
    """Mean and scatter of latents (n, d)."""
    n, size = z.shape
    mean, scatter = np.zeros(size), np.zeros((size, size))
    for i in range(n):
        for j in range(size):
            mean[j] += z[i, j] / n
    for i in range(n):
        for j in range(size):
            for k in range(j + 1):
                scatter[j, k] += (z[i, j] - mean[j]) * (z[i, k] - mean[k])
    for j in range(size):
        for k in range(j):
            scatter[k, j] = scatter[j, k]
    return Moments(n, mean, scatter)


@kernel
def row_size(prior: Prior, size: int) -> int:
    """How many coordinates a row's prior spans."""
    return size if prior.correlated else 1


@kernel
def take_row(state: State, prior: Prior, c: int) -> Row:
    """The regression of coordinate c on the others, out of Sigma and its inverse."""
    size = row_size(prior, state.mu.shape[0])
    m = size - 1
    others = np.empty(m, np.int64)
    for a in range(m):
        others[a] = a if a < c else a + 1
    S, P = np.empty((m, m)), np.empty((m, m))
    b, Sb = np.empty(m), np.empty(m)
    v = 1.0 / state.Q[c, c]
    for a in range(m):
        b[a] = -state.Q[others[a], c] * v
        Sb[a] = state.Sigma[others[a], c]
        for e in range(m):
            S[a, e] = state.Sigma[others[a], others[e]]
            P[a, e] = state.Q[others[a], others[e]] - state.Q[others[a], c] * state.Q[others[e], c] * v
    return Row(c, others, S, P, b, Sb)


@kernel
def put_row(state: State, row: Row, v: float, q: float) -> None:
    """Write a row back into Sigma and its inverse."""
    c, others = row.c, row.others
    for a in range(others.shape[0]):
        state.Sigma[others[a], c] = row.Sb[a]
        state.Sigma[c, others[a]] = row.Sb[a]
        state.Q[others[a], c] = -row.b[a] / v
        state.Q[c, others[a]] = -row.b[a] / v
        for e in range(others.shape[0]):
            state.Q[others[a], others[e]] = row.P[a, e] + row.b[a] * row.b[e] / v
    state.Sigma[c, c] = v + q
    state.Q[c, c] = 1.0 / v


@kernel
def weigh(S: Floats, b: Floats, Sb: Floats) -> float:
    """Write S b and return b' S b."""
    q = 0.0
    for a in range(b.shape[0]):
        Sb[a] = 0.0
        for e in range(b.shape[0]):
            Sb[a] += S[a, e] * b[e]
        q += Sb[a] * b[a]
    return q


@kernel
def _residual(row: Row, stats: Moments, mu: Floats) -> float:
    """Residual sum of squares of a row's regression."""
    c, others, b = row.c, row.others, row.b
    rss, offset = stats.scatter[c, c], stats.mean[c] - mu[c]
    for a in range(b.shape[0]):
        rss -= 2.0 * b[a] * stats.scatter[others[a], c]
        offset -= b[a] * (stats.mean[others[a]] - mu[others[a]])
        for e in range(b.shape[0]):
            rss += b[a] * b[e] * stats.scatter[others[a], others[e]]
    return float(max(rss, 0.0) + stats.n * offset * offset)


@kernel
def _proposal(
    rng: np.random.Generator,
    row: Row,
    stats: Moments,
    mu: Floats,
    sigma_mu: float,
    v: float,
    weight: float,
    new: Floats,
) -> bool:
    """Draw (b, mu_c) from its Gaussian conditional under the prior precision weight * S on b; False if it has none."""
    c, others, m, n = row.c, row.others, row.b.shape[0], stats.n
    A, L = np.empty((m + 1, m + 1)), np.empty((m + 1, m + 1))
    for a in range(m):
        gap = stats.mean[others[a]] - mu[others[a]]
        for e in range(a + 1):
            other_gap = stats.mean[others[e]] - mu[others[e]]
            A[a, e] = (stats.scatter[others[a], others[e]] + n * gap * other_gap) / v + weight * row.S[a, e]
        A[m, a] = n * gap / v
        new[a] = (stats.scatter[others[a], c] + n * gap * stats.mean[c]) / v
    A[m, m] = n / v + 1.0 / sigma_mu**2
    new[m] = n * stats.mean[c] / v
    if not cholesky(A, L):
        return False
    solve_lower(L, new)
    for a in range(m + 1):
        new[a] += rng.standard_normal()
    solve_upper(L, new)
    return True


@kernel
def _draw_regression(rng: np.random.Generator, prior: Prior, state: State, row: Row, stats: Moments, v: float) -> float:
    """Propose (b, mu_c) from a Gaussian near its conditional, accept or keep; return q.

    The prior of b through x = v + q is no Gaussian: exp(-weight q / 2) stands in for it and the acceptance mends that.
    """
    m = row.b.shape[0]
    q = weigh(row.S, row.b, row.Sb)
    p = m + 2.0 * prior.eta - 1.0
    spread = max((stats.scatter[row.c, row.c] + 0.3) / (stats.n + 1.0), v)
    weight = 1.0 / prior.sigma_sigma**2 + p / spread
    new, new_Sb = np.empty(m + 1), np.empty(m)
    if not _proposal(rng, row, stats, state.mu, prior.sigma_mu, v, weight, new):
        return q
    new_q = weigh(row.S, new[:m], new_Sb)
    before, after = log_prior_row(prior, m + 1, v, q), log_prior_row(prior, m + 1, v, new_q)
    ratio = after - before + 0.5 * weight * (new_q - q)
    if after > POSSIBLE and -rng.standard_exponential() < ratio:
        write(new[:m], row.b)
        write(new_Sb, row.Sb)
        state.mu[row.c] = new[m]
        q = new_q
    return q


@kernel
def log_density_variance(t: float, line: VarianceLine) -> float:
    """Along log v of a row, given its coefficients and residuals."""
    v = line.v * math.exp(t)
    return log_prior_row(line.prior, line.size, v, line.q) - 0.5 * line.n * t - 0.5 * line.rss / v


slice_variance = slicer(log_density_variance)


@kernel
def slice_width(n: int) -> float:
    """Width of slices along the logarithm of a variance that n latents inform."""
    return 3.0 / math.sqrt(n + 1.0)


@kernel
def draw_rows(rng: np.random.Generator, prior: Prior, state: State, stats: Moments) -> None:
    """Each coordinate's regression on the others in turn: coefficients with the mean, then conditional variance."""
    for c in range(state.mu.shape[0]):
        row = take_row(state, prior, c)
        v = 1.0 / state.Q[c, c]
        q = _draw_regression(rng, prior, state, row, stats, v)
        size, rss = row.b.shape[0] + 1, _residual(row, stats, state.mu)
        line = VarianceLine(prior, size, stats.n, rss, v, q)
        v *= math.exp(slice_variance(rng, line, slice_width(stats.n)))
        put_row(state, row, v, q)


@kernel
def log_density_scale(t: float, line: ScaleLine) -> float:
    """Along the log variance of a coordinate, in Sigma's measure and with its Jacobian."""
    size = line.rest.shape[0]
    half_p = 0.5 * (size + 2.0 * line.prior.eta - 2.0)
    x = line.x * math.exp(t)
    total: float = (line.prior.eta + size - 1.0 - 0.5 * line.n) * t - 0.5 * line.rss / x
    for j in range(size):
        variance = line.rest[j] + line.slope[j] ** 2 * x
        if j != line.c and not line.rest[j] > SINGULAR * variance:
            return IMPOSSIBLE
        total += log_prior_s(line.prior, math.sqrt(variance)) - half_p * math.log(variance)
    return total


slice_scale = slicer(log_density_scale)


@kernel
def draw_scales(rng: np.random.Generator, prior: Prior, state: State, stats: Moments) -> None:
    """Each coordinate's variance in turn with the regression of the others on it held fixed; Q is left stale."""
    size = state.mu.shape[0]
    rest, slope = np.empty(size), np.empty(size)
    for c in range(size):
        x = state.Sigma[c, c]
        for j in range(size):
            slope[j] = state.Sigma[j, c] / x if j != c else 1.0
            rest[j] = state.Sigma[j, j] - slope[j] ** 2 * x if j != c else 0.0
        gap = stats.mean[c] - state.mu[c]
        line = ScaleLine(prior, stats.n, c, stats.scatter[c, c] + stats.n * gap * gap, x, rest, slope)
        change = x * math.expm1(slice_scale(rng, line, slice_width(stats.n)))
        for j in range(size):
            for k in range(size):
                state.Sigma[j, k] += slope[j] * slope[k] * change


@kernel
def draw_means(rng: np.random.Generator, prior: Prior, state: State, stats: Moments) -> None:
    """All means at once from their Gaussian conditional."""
    size = state.mu.shape[0]
    A, L, x = np.empty((size, size)), np.empty((size, size)), np.zeros(size)
    for a in range(size):
        for b in range(size):
            A[a, b] = stats.n * state.Q[a, b]
            x[a] += A[a, b] * stats.mean[b]
        A[a, a] += 1.0 / prior.sigma_mu**2
    if not cholesky(A, L):
        return
    solve_lower(L, x)
    for a in range(size):
        x[a] += rng.standard_normal()
    solve_upper(L, x)
    write(x, state.mu)
