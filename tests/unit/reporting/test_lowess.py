"""The smoothed curve: lines stay lines, one far point has no say, and points in one place are averaged."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.reporting.lowess import lowess


def test_a_line_stays_a_line() -> None:
    x = np.random.default_rng(0).uniform(0, 3, 12)
    assert lowess(x.tolist(), (2 - 0.5 * x).tolist(), [0.1, 1.5, 2.9]) == pytest.approx([1.95, 1.25, 0.55])


def test_the_curve_goes_by_what_is_near() -> None:
    x, y = list(range(12)), [0.0] * 11 + [100.0]
    found = lowess(x, y, [0.0, 11.0])
    assert found[0] == pytest.approx(0.0)
    assert found[1] > 30


def test_a_weighted_line_as_it_is_defined() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 1, 9), rng.uniform(0, 1, 9)
    distance = np.abs(x - 0.4)
    weight = np.clip(1 - (distance / np.sort(distance)[5]) ** 3, 0, None) ** 3
    slope, height = np.polyfit(x - 0.4, y, 1, w=np.sqrt(weight))
    assert lowess(x.tolist(), y.tolist(), [0.4])[0] == pytest.approx(height, rel=1e-6), slope


@pytest.mark.parametrize(("x", "y", "value"), [([1.0], [0.3], 0.3), ([1.0, 1.0, 1.0], [0.0, 1.0, 0.5], 0.5)])
def test_points_in_one_place_are_averaged(x: list[float], y: list[float], value: float) -> None:
    assert lowess(x, y, [1.0])[0] == pytest.approx(value)
