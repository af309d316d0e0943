"""A short joint-distribution test of the sweep, and proof that it finds a small mistake."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.models.full.normal import prior_draws
from quorate.models.full.state import make_prior
from tests.statistics import geweke
from tests.statistics.geweke import Design

LENGTHS = [
    (Design(2), 400_000),
    (Design(3), 200_000),
    (Design(2, temperature=False), 100_000),
    (Design(2, correlations=False), 100_000),
]


@pytest.mark.parametrize(("design", "sweeps"), LENGTHS)
def test_the_sweep_leaves_the_joint_distribution_invariant(design: Design, sweeps: int) -> None:
    result = geweke.geweke(3, design, sweeps=sweeps)
    assert result.refused == 0
    worst = np.unravel_index(np.abs(result.z).argmax(), result.z.shape)
    assert np.abs(result.z).max() <= geweke.LARGEST, (worst[0], result.names[int(worst[1])])


def test_a_scale_that_is_one_percent_off_is_found() -> None:
    """A slice whose width depends on what it changes: the mistake that posteriors of fixed data did not show."""
    result = geweke.geweke(3, Design(2), sweeps=300_000, broken=True)
    at = [result.names.index(f"s[{c}]") for c in (1, 2)]
    found, expected = result.means[:, 0, at].mean(axis=0), result.expected[0, at]
    assert np.abs(found / expected - 1.0).max() < 0.03
    assert np.abs(result.z).max() > geweke.LARGEST


@pytest.mark.parametrize("design", [Design(2), Design(3), Design(3, temperature=False, correlations=False)])
def test_the_prior_has_the_moments_that_are_expected_of_it(design: Design) -> None:
    rng, count = np.random.default_rng(5), 15_000
    draws = prior_draws(
        rng,
        classes=design.classes,
        classifiers=design.classifiers,
        experts=design.experts,
        settings=design.settings,
        chains=1,
        count=count,
    )
    expected, prior = geweke.expectations(design), make_prior(design.settings)
    found, scratch = np.empty((count, len(expected))), np.empty((design.size, design.size))
    for number, row in enumerate(found):
        data, state = geweke.begin(rng, design, draws, number)
        geweke.measure(data, prior, state, scratch, row)
    for power, known in enumerate(np.array(list(expected.values())).T, start=1):
        error = (found**power).std(axis=0) / np.sqrt(count)
        assert (np.abs((found**power).mean(axis=0) - known) < 4.0 * error).all()
