"""Latents of an expert who voted, proposed with the vote in mind and weighted so that the vote's model stays exact.

A vote for class y is nearly the statement that w_j + e_j > 0 for every other class j, where w_j = z_y - z_j is linear
in the latents and e_j is normal noise in place of the Gumbels. The noisy differences v = w + e are drawn one at a time
from truncated normals (Geweke, Hajivassiliou and Keane), the latents from their normal given v, and a share of the
proposals ignores the vote, so that no weight grows large where the likeness is poor. A weight compares the exact
model with that mixture: p(vote | z) / (DEFENSIVE + (1 - DEFENSIVE) prod_j P(e_j > -w_j) / P(v_j > 0 on the path)).
"""

from __future__ import annotations

import math

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel
from quorate.models.full.linear import cholesky
from quorate.models.full.truncated import FAR, log_cdf, quantile

DEFENSIVE = 0.1
"""Share of the proposals for each voter that ignore the vote."""
LIKENESS = 1.7
"""Standard deviation of the normal noise that is most like a difference of two Gumbels."""
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@kernel
def noise_scale(classes: int, tau: float, tempered: bool) -> float:
    """Standard deviation of the noise e, in log-ratios: near even odds a probability moves 1/K as far as they do."""
    return LIKENESS * classes * tau if tempered else LIKENESS


@kernel
def beyond(u: float, bound: float) -> float:
    """The point of a standard normal above a bound that u in (0, 1) stands for; far out, of the tail x exp(-x^2/2)."""
    if bound <= FAR:
        return max(-quantile(u * math.exp(log_cdf(-bound))), bound)
    return math.sqrt(bound * bound - 2.0 * math.log(u))


@kernel
def log_mass(x: float, bound: float) -> float:
    """Log of the standard normal density at x over that with which `beyond` draws it."""
    if bound <= FAR:
        return log_cdf(-bound)
    return -0.5 * bound * bound - math.log(x) - HALF_LOG_2PI


@kernel
def differences(z: Floats, first: int, r: int, vote: int, out: Floats) -> None:
    """By how much the log-ratios in column r, from row `first` on, put a class ahead of each other one: (K-1,)."""
    block = out.shape[0]
    own = z[first + vote, r] if vote < block else 0.0
    i = 0
    for j in range(block + 1):
        if j != vote:
            out[i] = own - (z[first + j, r] if j < block else 0.0)
            i += 1


@kernel
def prepare(root: Floats, first: int, vote: int, sigma: float, W: Floats, T: Floats, U: Floats, A: Floats) -> bool:
    """Write a voter's matrices (K-1, K-1), from the factor of Sigma; False where one is not positive definite.

    W takes the voter's normals to differences, T T' = W W' + sigma^2 I is the covariance of the noisy ones, and
    U U' = I + W' W / sigma^2 the precision of the normals given them.
    """
    block = W.shape[0]
    for b in range(block):
        differences(root, first, first + b, vote, A[b])
    for a in range(block):
        for b in range(block):
            W[a, b] = A[b, a]
    for a in range(block):
        for b in range(a + 1):
            A[a, b] = sigma * sigma if a == b else 0.0
            for c in range(block):
                A[a, b] += W[a, c] * W[b, c]
    if not cholesky(A, T):
        return False
    for a in range(block):
        for b in range(a + 1):
            A[a, b] = 0.0
            for c in range(block):
                A[a, b] += W[c, a] * W[c, b]
            A[a, b] = A[a, b] / (sigma * sigma) + (1.0 if a == b else 0.0)
    return cholesky(A, U)


@kernel
def _ignoring(
    u: Floats, at: int, r: int, ahead: Floats, sigma: float, W: Floats, T: Floats, path: Floats, e: Floats, first: int
) -> float:
    """Draw a voter's normals as if there were no vote; log of the ratio of masses that they would have had with it."""
    block = ahead.shape[0]
    ratio = 0.0
    for a in range(block):
        e[first + a, r] = quantile(u[at + a, r])
    for a in range(block):
        w, mean = ahead[a], ahead[a]
        for b in range(block):
            w += W[a, b] * e[first + b, r]
        for b in range(a):
            mean += T[a, b] * path[b]
        noise = beyond(u[at + block + a, r], -w / sigma)
        path[a] = (w + sigma * noise - mean) / T[a, a]
        ratio += log_mass(noise, -w / sigma) - log_mass(path[a], -mean / T[a, a])
    return ratio


@kernel
def _heeding(
    u: Floats,
    at: int,
    r: int,
    ahead: Floats,
    sigma: float,
    W: Floats,
    T: Floats,
    U: Floats,
    path: Floats,
    e: Floats,
    first: int,
) -> float:
    """Draw a voter's normals given noisy differences above 0; log of the ratio of masses, as `_ignoring`."""
    block = ahead.shape[0]
    ratio = 0.0
    for a in range(block):
        e[first + a, r] = 0.0
    for a in range(block):
        away = 0.0
        for b in range(a):
            away += T[a, b] * path[b]
        bound = -(ahead[a] + away) / T[a, a]
        path[a] = beyond(u[at + a, r], bound)
        ratio -= log_mass(path[a], bound)
        away = (away + T[a, a] * path[a]) / (sigma * sigma)
        for b in range(block):
            e[first + b, r] += W[a, b] * away
    # U^-T (U^-1 W' (v - ahead) / sigma^2 + normals)
    for a in range(block):
        rest = e[first + a, r]
        for b in range(a):
            rest -= U[a, b] * e[first + b, r]
        e[first + a, r] = rest / U[a, a]
    for a in range(block - 1, -1, -1):
        rest = e[first + a, r] + quantile(u[at + block + a, r])
        for b in range(a + 1, block):
            rest -= U[b, a] * e[first + b, r]
        e[first + a, r] = rest / U[a, a]
    for a in range(block):
        w, v = ahead[a], ahead[a]
        for b in range(block):
            w += W[a, b] * e[first + b, r]
        for b in range(a + 1):
            v += T[a, b] * path[b]
        ratio += log_mass((v - w) / sigma, -w / sigma)
    return ratio


@kernel
def propose(
    u: Floats,
    at: int,
    z: Floats,
    first: int,
    vote: int,
    sigma: float,
    W: Floats,
    T: Floats,
    U: Floats,
    ahead: Floats,
    path: Floats,
    e: Floats,
    log_weight: Floats,
) -> None:
    """Write a voter's normals into rows of e (., R) and take the log of their density against plain ones off R weights.

    Its latents given everyone before it are around rows of z (., R); it takes 2K - 1 rows of u (., R), points of the
    unit interval, from `at` on.
    """
    for r in range(log_weight.shape[0]):
        differences(z, first, r, vote, ahead)
        if u[at, r] < DEFENSIVE:
            ratio = _ignoring(u, at + 1, r, ahead, sigma, W, T, path, e, first)
        else:
            ratio = _heeding(u, at + 1, r, ahead, sigma, W, T, U, path, e, first)
        if ratio > 0.0:  # whatever the sign, no exponential overflows
            log_weight[r] -= ratio + math.log(DEFENSIVE * math.exp(-ratio) + 1.0 - DEFENSIVE)
        else:
            log_weight[r] -= math.log(DEFENSIVE + (1.0 - DEFENSIVE) * math.exp(ratio))
