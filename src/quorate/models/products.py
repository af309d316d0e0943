"""Vote probabilities of many latents at once into votes, or into the table of vote patterns that their products make.

Arrays have the latents last, so that the inner loops run over them.
"""

from __future__ import annotations

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel


@kernel
def pick(chance: Floats, at: int, K: int, r: int, u: float) -> int:
    """The vote that a point of the unit interval stands for, by K rows of vote probabilities (., R) and one latent."""
    below, k = chance[at, r], 0
    while k < K - 1 and u > below:
        k += 1
        below += chance[at + k, r]
    return k


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
