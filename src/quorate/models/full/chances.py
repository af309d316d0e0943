"""Vote probabilities of many latents at once, and the table of vote patterns that their products make.

Arrays have the latents last, so that the inner loops run over them.
"""

from __future__ import annotations

import math

from quorate.core.arrays import Floats, Ints
from quorate.models.full.compiled import kernel


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


@kernel
def cast(chance: Floats, at: int, K: int, u: Floats, row: int, expert: int, votes: Ints) -> None:
    """Votes (R, U) of one expert, drawn from K rows of vote probabilities (., R) by points of the unit interval."""
    for r in range(votes.shape[0]):
        below, k = chance[at, r], 0
        while k < K - 1 and u[row, r] > below:
            k += 1
            below += chance[at + k, r]
        votes[r, expert] = k


@kernel
def _multiply_out(chance: Floats, last: int, experts: int, K: int, out: Floats, turned: Floats) -> None:
    """Products of the vote probabilities of so many experts before `last`, and turned: (K^A, R) and (R, K^A).

    The first row comes in as a factor of all; the last expert's vote changes fastest.
    """
    count = 1
    for h in range(last - experts, last):
        for p in range(count - 1, -1, -1):
            for k in range(K - 1, -1, -1):
                for r in range(out.shape[1]):
                    out[p * K + k, r] = out[p, r] * chance[h * K + k, r]
        count *= K
    for p in range(count):
        for r in range(out.shape[1]):
            turned[r, p] = out[p, r]


@kernel
def add_patterns(
    chance: Floats,
    weight: Floats,
    K: int,
    left: Floats,
    right: Floats,
    left_turned: Floats,
    right_turned: Floats,
    mass: Floats,
) -> None:
    """Add to a table (K^U,) the weighted sum over R latents of the probability of each pattern of votes.

    It is a matrix product of two half panels.
    """
    experts = chance.shape[0] // K
    half = experts // 2
    for r in range(weight.shape[0]):
        left[0, r] = weight[r]
        right[0, r] = 1.0
    _multiply_out(chance, half, half, K, left, left_turned)
    _multiply_out(chance, experts, experts - half, K, right, right_turned)
    wide, four = right.shape[0], weight.shape[0] // 4 * 4
    for r in range(0, four, 4):  # four at a time: each row of the table is read and written once for all of them
        for a in range(left.shape[0]):
            one, two = left_turned[r, a], left_turned[r + 1, a]
            three, last = left_turned[r + 2, a], left_turned[r + 3, a]
            for b in range(wide):
                mass[a * wide + b] += (one * right_turned[r, b] + two * right_turned[r + 1, b]) + (
                    three * right_turned[r + 2, b] + last * right_turned[r + 3, b]
                )
    for r in range(four, weight.shape[0]):
        for a in range(left.shape[0]):
            for b in range(wide):
                mass[a * wide + b] += left_turned[r, a] * right_turned[r, b]
