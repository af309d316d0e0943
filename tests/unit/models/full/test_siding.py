"""Who sides with whom under the paper's model."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.models.draws import Draws
from quorate.models.full.siding import MOST, siding


def draws_of(omega: Floats, classes: int, classifiers: int, experts: int) -> Draws:
    runs, d = omega.shape[:2], omega.shape[-1]
    return Draws(np.zeros((*runs, d)), np.ones((*runs, d)), omega, np.ones(runs), classes, classifiers, experts)


def regressed(omega: Floats, one: int, other: int) -> float:
    """Correlation of two coordinates once all others are regressed out."""
    rest = [j for j in range(len(omega)) if j not in (one, other)]
    pair, cross = omega[np.ix_([one, other], [one, other])], omega[np.ix_([one, other], rest)]
    left = pair - cross @ np.linalg.solve(omega[np.ix_(rest, rest)], cross.T)
    return float(left[0, 1] / np.sqrt(left[0, 0] * left[1, 1]))


def test_it_is_the_correlation_given_everyone_else() -> None:
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((8, 12))
    sigma = factor @ factor.T
    omega = sigma / np.sqrt(np.outer(sigma.diagonal(), sigma.diagonal()))
    found = siding(draws_of(omega[None, None], 3, 1, 3))  # blocks of two: net, ann, ben, cho
    for one, other in ((0, 1), (0, 2), (1, 2)):
        expected = np.mean([regressed(omega, 2 + 2 * one + k, 2 + 2 * other + k) for k in range(2)])
        assert found[0, one, other] == pytest.approx(expected)
        assert found[0, other, one] == pytest.approx(expected)
    assert found[0].diagonal().tolist() == [1, 1, 1]


def test_experts_who_only_follow_the_classifier_do_not_side() -> None:
    load = np.array([1.0, 0.8, 0.7, 0.6])  # the classifier is what they share
    omega = np.outer(load, load)
    np.fill_diagonal(omega, 1.0)
    assert siding(draws_of(omega[None, None], 2, 1, 3))[0, 0, 1:] == pytest.approx([0, 0], abs=1e-9)


def test_many_draws_are_thinned_evenly() -> None:
    omega = np.tile(np.eye(3), (4, 500, 1, 1))
    omega[:, :, 1, 2] = omega[:, :, 2, 1] = np.linspace(-0.5, 0.5, 2000).reshape(4, 500)
    found = siding(draws_of(omega, 2, 1, 2))
    assert len(found) == MOST
    assert found[0, 0, 1] == pytest.approx(-0.5)
    assert found[-1, 0, 1] == pytest.approx(0.5)
    assert found[:, 0, 1].mean() == pytest.approx(0, abs=1e-3)
