from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp, ndtri

from quorate.models.full.truncated import IMPOSSIBLE, cdf, log_mass_between, quantile, truncated_normal


def test_quantile_against_scipy() -> None:
    p = np.concatenate([10.0 ** -np.arange(1, 300, 7), np.linspace(0.001, 0.999, 301), 1 - 10.0 ** -np.arange(2.0, 15)])
    assert [quantile(x) for x in p] == pytest.approx(ndtri(p).tolist(), rel=1e-10, abs=1e-13)


def test_cdf_in_the_tail() -> None:
    x = np.linspace(-37.0, 8.0, 200)
    assert [np.log(cdf(y)) for y in x] == pytest.approx(log_ndtr(x).tolist(), rel=1e-11)


BOUNDS = [(-1.0, 0.5), (-1e10, 1.0), (0.3, 1e10), (5.0, 5.2), (-7.0, -6.0), (29.0, 1e10), (35.0, 35.01), (-1e10, -40.0)]


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_draws_between_bounds(lower: float, upper: float) -> None:
    """Moments about the bound that is nearer 0, by quadrature of the density relative to its value there."""
    near = lower if abs(lower) < abs(upper) else upper
    reach = min(upper - lower, 12.0 if abs(near) < 1 else 40.0 / abs(near))
    towards = 1.0 if near == lower else -1.0
    weights = [
        quad(lambda t, k=k: t**k * np.exp(-0.5 * t * t - abs(near) * t * np.sign(near * towards)), 0.0, reach)[0]
        for k in range(3)
    ]
    mean, square = weights[1] / weights[0], weights[2] / weights[0]
    rng = np.random.default_rng(8)
    draws = towards * (np.array([truncated_normal(rng, lower, upper) for _ in range(20_000)]) - near)
    assert draws.min() >= 0.0
    sd = np.sqrt(square - mean**2)
    assert draws.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(20_000))
    assert draws.std() == pytest.approx(sd, rel=0.05)


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


def test_an_empty_interval_is_impossible() -> None:
    one = np.ones(1)
    assert log_mass_between(one, one, one, one, 0.0, 1.0, 1.0) == IMPOSSIBLE
