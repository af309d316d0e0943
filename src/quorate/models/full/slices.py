"""One-dimensional slice sampling (Neal 2003) along a line through the current state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from quorate.models.compiled import kernel
from quorate.models.full.truncated import POSSIBLE

STEPS_OUT = 60
"""Most steps by which an interval grows, shared between its two sides at random so that the cap is exact."""
SHRINKS = 100

Line = TypeVar("Line")


def slicer(log_density: Callable[[float, Line], float]) -> Callable[[np.random.Generator, Line, float], float]:
    """The kernel that slices a log density `log_density(t, line)`; t = 0 is the current state.

    A kernel is made for each density because a compiled function that takes another as its argument cannot be cached.
    """

    def step(rng: np.random.Generator, line: Line, width: float) -> float:
        """How far to move along the line so that the density is left invariant.

        `width` may depend on nothing that the move changes. A state outside the support stays where it is: from there
        every point would be accepted.
        """
        here = log_density(0.0, line)
        if not here > POSSIBLE:
            return 0.0
        level = here - rng.standard_exponential()
        left = -width * rng.random()
        right = left + width
        steps_left = int(rng.random() * STEPS_OUT)
        for _ in range(steps_left):
            if not log_density(left, line) > level:
                break
            left -= width
        for _ in range(STEPS_OUT - 1 - steps_left):
            if not log_density(right, line) > level:
                break
            right += width
        for _ in range(SHRINKS):
            t = left + rng.random() * (right - left)
            if log_density(t, line) >= level:
                return t
            if t < 0.0:
                left = t
            else:
                right = t
        return 0.0

    # The cache on disk goes by this name: steps of one name would share a file, and could be taken for each other.
    step.__qualname__ = f"step_{log_density.__name__}"
    return kernel(step)


@kernel
def adapted(width: float, move: float) -> float:
    """The width of a slice after one more move of warm-up: about three times the usual distance."""
    return 0.95 * width + 0.15 * min(abs(move), 20.0 * width) + 1e-6
