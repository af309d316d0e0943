from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp, ndtri
from scipy.stats import norm

from quorate.models.full.truncated import IMPOSSIBLE, cdf, log_mass_between, quantile, truncated_normal
from tests.unit.models.full.line import UNLIKELY, fit_of


def test_quantile_against_scipy() -> None:
    p = np.concatenate([10.0 ** -np.arange(1, 300, 7), np.linspace(0.001, 0.999, 301), 1 - 10.0 ** -np.arange(2.0, 15)])
    assert [quantile(x) for x in p] == pytest.approx(ndtri(p).tolist(), rel=1e-10, abs=1e-13)


def test_cdf_in_the_tail() -> None:
    x = np.linspace(-37.0, 8.0, 200)
    assert [np.log(cdf(y)) for y in x] == pytest.approx(log_ndtr(x).tolist(), rel=1e-11)


BOUNDS = [(-1.0, 0.5), (-1e10, 1.0), (0.3, 1e10), (5.0, 5.2), (-7.0, -6.0), (29.0, 1e10), (35.0, 35.01), (-1e10, -40.0)]


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_draws_between_bounds_follow_the_normal_density(lower: float, upper: float) -> None:
    """In the distance from the bound that is nearer 0, relative to the density there: far out nothing else is left."""
    near = lower if abs(lower) < abs(upper) else upper
    towards = 1.0 if near == lower else -1.0
    reach = min(upper - lower, 12.0 if abs(near) < 1 else 40.0 / abs(near))
    rng = np.random.default_rng(8)
    distance = towards * (np.array([truncated_normal(rng, lower, upper) for _ in range(10_000)]) - near)
    assert distance.min() >= 0.0
    assert distance.max() <= upper - lower
    grid = np.linspace(0.0, reach, 4000)
    assert fit_of(distance, grid, -0.5 * grid * (grid + 2.0 * near * towards)) > UNLIKELY


def test_no_room_gives_the_bound() -> None:
    assert truncated_normal(np.random.default_rng(0), 2.0, 2.0) == 2.0


def test_log_mass_against_scipy() -> None:
    rng = np.random.default_rng(4)
    lower = np.concatenate([rng.normal(0, 2, 40), [-1e10, -1e10, 3.0, 8.0, -50.0, 60.0]])
    upper = np.concatenate([lower[:40] + rng.exponential(2, 40), [1e10, 0.2, 1e10, 8.5, -49.5, 1e10]])
    mean, slope = rng.normal(0, 0.3, len(lower)), rng.standard_normal(len(lower))
    t, scale, sd = 0.4, 0.8, 0.9
    centre = scale * mean + t * slope
    a, b = (lower - centre) / sd, (upper - centre) / sd
    swap = a + b > 0
    a, b = np.where(swap, -b, a), np.where(swap, -a, b)
    expected = sum(logsumexp([log_ndtr(high), log_ndtr(low)], b=[1.0, -1.0]) for low, high in zip(a, b, strict=True))
    assert log_mass_between(lower, upper, mean, slope, t, scale, sd) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("at", [-33.0, -29.9, -8.0, -3.0, 0.0, 0.7, 4.0, 12.0, 40.0])
def test_log_mass_of_narrow_intervals_against_the_density(at: float) -> None:
    one, zero = np.ones(1), np.zeros(1)
    for width in (1e-3, 1e-5):
        ends = at - 0.5 * width, at + 0.5 * width
        found = log_mass_between(one * ends[0], one * ends[1], zero, zero, 0.0, 1.0, 1.0)
        assert found == pytest.approx(float(norm.logpdf(at)) + np.log(width), abs=2e-4)


def test_an_empty_interval_is_impossible() -> None:
    one = np.ones(1)
    assert log_mass_between(one, one, one, one, 0.0, 1.0, 1.0) == IMPOSSIBLE
