"""A short simulation-based calibration, and proof that it can fail."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistics import sbc

FITS = 120
WORST = 0.001
"""Smallest p-value, times the number of quantities, that still passes."""


def worst(p_values: dict[str, float]) -> float:
    return min(p_values.values()) * len(p_values)


def calibrated(sampler: sbc.Sampler, corners: tuple[sbc.Corner, ...], fits: int) -> dict[str, float]:
    return sbc.calibration(sbc.one_fit(7, number, corners[number % len(corners)], sampler) for number in range(fits))


def test_the_sampler_is_calibrated() -> None:
    found = calibrated(sbc.gibbs_sampler, sbc.CORNERS, FITS)
    assert len(found) == 10
    assert worst(found) > WORST, found


def test_a_broken_sampler_fails() -> None:
    found = calibrated(sbc.wrong_prior_sampler, sbc.CORNERS[:2], 60)
    assert worst(found) < WORST, found


def test_the_threshold_can_be_reached() -> None:
    """A p-value has a smallest value; if ten times that passed, no sampler could ever fail."""
    assert worst(dict.fromkeys("abcdefghij", 1 / sbc.SIMULATIONS)) < WORST


def test_the_band_holds_for_uniform_ranks_and_no_others() -> None:
    rng = np.random.default_rng(0)
    passed = [sbc.p_value(rng.integers(0, 65, 100), 64) for _ in range(60)]
    assert np.mean(np.array(passed) < 0.2) == pytest.approx(0.2, abs=0.16)
    assert sbc.p_value(rng.binomial(64, 0.5, 100), 64) < WORST
    assert sbc.p_value(np.minimum(rng.integers(0, 80, 100), 64), 64) < 0.05
