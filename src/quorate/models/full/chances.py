"""Vote probabilities of many latents at once.

Arrays have the latents last, so that the inner loops run over them.
"""

from __future__ import annotations

import math

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel


@kernel
def _behind(z: Floats, first: int, r: int, tau: float, tempered: bool, K: int, out: Floats, at: int) -> None:
    """How far the utility of each class is behind the largest one, for latent r: K rows of `out` from `at` on."""
    top, best = 0.0, K - 1
    for k in range(K - 1):
        if z[first + k, r] > top:
            top, best = z[first + k, r], k
    total = 1.0
    for k in range(K):
        out[at + k, r] = (z[first + k, r] if k < K - 1 else 0.0) - top
        if tempered and k != best:
            out[at + k, r] = math.exp(out[at + k, r])
            total += out[at + k, r]
    if tempered:
        out[at + best, r] = 1.0
        steep = 1.0 / (total * tau)
        for k in range(at, at + K):
            out[k, r] = (out[k, r] - 1.0) * steep


@kernel
def add_log_chance(
    z: Floats, first: int, vote: int, tau: float, tempered: bool, K: int, out: Floats, at: int, log_weight: Floats
) -> None:
    """Add the log probability of a vote to R log weights, from K-1 rows of z (., R); K rows of `out` are worked in."""
    for r in range(log_weight.shape[0]):
        _behind(z, first, r, tau, tempered, K, out, at)
        total = 0.0
        for k in range(at, at + K):
            total += math.exp(out[k, r])
        log_weight[r] += out[at + vote, r] - math.log(total)


@kernel
def write_chances(z: Floats, first: int, tau: float, tempered: bool, K: int, out: Floats, at: int) -> None:
    """Vote probabilities of R latents: from K-1 rows of z (., R) to K rows of `out` (., R)."""
    if K == 2 and tempered:  # the same with half the exponentials
        steep = 1.0 / tau
        for r in range(z.shape[1]):
            ahead = 2.0 / (1.0 + math.exp(-z[first, r])) - 1.0
            chance = 1.0 / (1.0 + math.exp(-ahead * steep))
            out[at, r] = chance
            out[at + 1, r] = 1.0 - chance
        return
    for r in range(z.shape[1]):
        _behind(z, first, r, tau, tempered, K, out, at)
        total = 0.0
        for k in range(at, at + K):
            share = math.exp(out[k, r]) if out[k, r] < 0.0 else 1.0  # the largest needs no exponential
            out[k, r] = share
            total += share
        scale = 1.0 / total
        for k in range(at, at + K):
            out[k, r] *= scale
