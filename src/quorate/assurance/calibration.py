"""Is the stated error true: reliability of the leading outcome's probability, and its summary, ECE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats, Ints

BINS = 15


@dataclass(frozen=True)
class Bin:
    """Cases whose probability fell into one bin: how many, what was stated on average and how often it was right."""

    low: float
    high: float
    cases: int
    stated: float
    right: float


def bin_of(probability: Floats, bins: int = BINS) -> Ints:
    """Index of the equal-width bin that each probability falls into; a bin holds its upper edge.

    >>> bin_of(np.array([0.0, 0.2, 0.21, 1.0]), bins=5).tolist()
    [0, 0, 1, 4]
    """
    return np.clip(np.ceil(probability * bins).astype(np.int64) - 1, 0, bins - 1)


def reliability(probability: Sequence[float], right: Sequence[float], bins: int = BINS) -> tuple[Bin, ...]:
    """The bins of equal width that hold any case, lowest first.

    >>> [(b.cases, b.stated, b.right) for b in reliability([0.95, 0.97, 0.6], [1, 1, 0], bins=10)]
    [(1, 0.6, 0.0), (2, 0.96, 1.0)]
    """
    p, ok = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    which = bin_of(p, bins)
    return tuple(
        Bin(b / bins, (b + 1) / bins, int(here.sum()), float(p[here].mean()), float(ok[here].mean()))
        for b in range(bins)
        if (here := which == b).any()
    )


def expected_calibration_error(probability: Sequence[float], right: Sequence[float], bins: int = BINS) -> float:
    """Mean distance of stated from actual over equal-width bins, each weighted by its cases (top-label ECE).

    >>> round(expected_calibration_error([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0]), 3)
    0.1
    """
    found = reliability(probability, right, bins)
    total = sum(b.cases for b in found)
    return sum(b.cases * abs(b.stated - b.right) for b in found) / total if total else 0.0
