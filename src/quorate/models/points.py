"""Points that fill the unit cube evenly."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from quorate.core.arrays import Floats

EVEN = (0.1, 0.9)
"""Steps of the points lie between these: nearer a whole number, a few dozen points would not fill the interval."""


@cache
def even_steps(count: int) -> Floats:
    """Irrational steps, one a dimension, whose multiples fill the unit cube evenly: square roots of primes.

    >>> even_steps(3).round(3).tolist()
    [0.414, 0.732, 0.236]
    """
    primes: list[int] = []
    found: list[float] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
            fraction = math.sqrt(number) % 1.0
            found += [fraction] if EVEN[0] < fraction < EVEN[1] else []
        number += 1
    return np.array(found)
