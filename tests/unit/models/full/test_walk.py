from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.models.full.normal import lkj
from quorate.models.full.walk import Question, given_classifiers, make_room


def question(order: list[int], observed: list[float]) -> Question:
    return Question(np.array(order), np.array(observed), np.zeros(0, dtype=np.int64), 1, 2, True, True)


def conditional(mu: Floats, sigma: Floats, order: list[int], observed: list[float]) -> tuple[Floats, Floats]:
    """Mean and covariance of the later log-ratios given the first ones, by the textbook."""
    known, rest = order[: len(observed)], order[len(observed) :]
    gain = sigma[np.ix_(rest, known)] @ np.linalg.inv(sigma[np.ix_(known, known)])
    mean = mu[rest] + gain @ (np.array(observed) - mu[known])
    return mean, sigma[np.ix_(rest, rest)] - gain @ sigma[np.ix_(known, rest)]


@pytest.mark.parametrize(
    ("order", "observed"),
    [([0, 1, 2, 3, 4], [1.0, -2.0]), ([1, 4, 2], [0.5]), ([0, 3], [2.0]), ([4, 2, 3], [])],
)
def test_the_normal_given_the_classifiers_that_are_there(order: list[int], observed: list[float]) -> None:
    rng = np.random.default_rng(2)
    mu, s, omega = rng.normal(0.0, 1.0, 5), rng.uniform(0.2, 3.0, 5), lkj(rng, 5, 1.0, 1)[0]
    asked = question(order, observed)
    room = make_room(asked, 3, 2)
    assert given_classifiers(asked, mu, s, omega, room)
    mean, covariance = conditional(mu, omega * np.outer(s, s), order, observed)
    assert room.mean == pytest.approx(mean)
    assert room.root @ room.root.T == pytest.approx(covariance)


def test_a_singular_correlation_matrix_is_raised_a_little() -> None:
    asked = question([0, 1, 2], [1.0])
    room = make_room(asked, 3, 2)
    assert given_classifiers(asked, np.zeros(3), np.ones(3), np.ones((3, 3)), room)
    assert room.mean == pytest.approx([1.0, 1.0], abs=1e-6)


def test_what_is_no_correlation_matrix_is_refused() -> None:
    asked = question([0, 1, 2], [1.0])
    broken = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert not given_classifiers(asked, np.zeros(3), np.ones(3), broken, make_room(asked, 3, 2))
    assert not given_classifiers(asked, np.zeros(3), np.ones(3), np.full((3, 3), np.nan), make_room(asked, 3, 2))
