from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import gamma

from quorate.models.compiled import kernel
from quorate.models.full import collapsed
from quorate.models.full.slices import adapted, slicer
from quorate.models.full.truncated import IMPOSSIBLE
from tests.unit.models.full.line import UNLIKELY, chain, fit_to

SHAPE = 3.0


@kernel
def log_gamma(t: float, line: tuple[float, float]) -> float:
    """Gamma(SHAPE) around the current value."""
    x = line[0] + t
    return (SHAPE - 1.0) * math.log(x) - x if x > 0.0 else IMPOSSIBLE


@kernel
def flat(t: float, line: tuple[float, float]) -> float:
    return 0.0 * (t + line[0])


@kernel
def nowhere(t: float, line: tuple[float, float]) -> float:
    return math.nan * (t + line[0])


slice_gamma, slice_flat, slice_nowhere = slicer(log_gamma), slicer(flat), slicer(nowhere)


def gamma_fit(width: float, power: float) -> float:
    """P-value of the draws of a chain whose slice width is width * x^power."""
    rng = np.random.default_rng(3)
    draws = chain(lambda t: slice_gamma(rng, (1.0 + t, 0.0), width * (1.0 + t) ** power), kept=6000, thin=10)
    points = np.linspace(0.0, 30.0, 10_000)
    return fit_to(1.0 + draws, points, gamma(SHAPE).cdf(points))


@pytest.mark.parametrize("width", [0.05, 0.5, 5.0])
def test_draws_follow_a_known_density(width: float) -> None:
    assert gamma_fit(width, 0.0) > UNLIKELY


def test_a_width_that_depends_on_what_it_changes_is_wrong() -> None:
    assert gamma_fit(0.5, 2.0) < 1e-4


def test_every_loop_ends() -> None:
    rng = np.random.default_rng(0)
    assert math.isfinite(slice_flat(rng, (0.0, 0.0), 1.0))
    assert slice_nowhere(rng, (0.0, 0.0), 1.0) == 0.0


def test_outside_the_support_nothing_moves() -> None:
    assert slice_gamma(np.random.default_rng(0), (-1.0, 0.0), 1.0) == 0.0


def test_widths_adapt_towards_three_usual_moves() -> None:
    width = 1.0
    for _ in range(300):
        width = adapted(width, -0.2)
    assert width == pytest.approx(0.6, rel=0.01)


def test_each_density_has_a_file_of_its_own_in_the_cache() -> None:
    steps = [
        collapsed.slice_mean,
        collapsed.slice_row_scale,
        collapsed.slice_row_variance,
        collapsed.slice_coefficients,
    ]
    names = {vars(step)["__qualname__"] for step in steps}
    assert len(names) == len(steps), names
