"""Curves through scattered points: locally weighted straight lines (Cleveland 1979)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.core.arrays import Floats

SPAN = 2 / 3
"""Share of the points that each local line goes by."""


def lowess(x: Sequence[float], y: Sequence[float], at: Sequence[float], *, span: float = SPAN) -> Floats:
    """Values of the smoothed curve at some places: a line through the nearest points, tricube weights.

    Means over many runs have no outliers to be robust against, so there are no second passes.

    >>> lowess([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], [0.5, 2.5]).round(9).tolist()
    [2.0, 6.0]
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    near = min(len(places), max(3, int(np.ceil(span * len(places)))))
    return np.array([_local(places, values, place, near) for place in at])


def _local(x: Floats, y: Floats, place: float, near: int) -> float:
    distance = np.abs(x - place)
    reach = max(float(np.partition(distance, near - 1)[near - 1]), 1e-12) * (1 + 1e-9)
    weight: Floats = np.clip(1 - (distance / reach) ** 3, 0, None) ** 3
    total = weight.sum()
    centre, height = float(weight @ x / total), float(weight @ y / total)
    spread = float(weight @ (x - centre) ** 2)
    if spread <= 1e-12 * total:  # all in one place
        return height
    slope = float(weight @ ((x - centre) * (y - height))) / spread
    return height + slope * (place - centre)
