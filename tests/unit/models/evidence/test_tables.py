from __future__ import annotations

import itertools

import numpy as np
import pytest

from quorate.models.evidence.tables import Question, odds_factors, sampled, table
from tests.unit.models.evidence import panels


@pytest.mark.parametrize("classes", [2, 3])
def test_the_table_holds_every_pattern(classes: int) -> None:
    cases, model, _ = panels.made_up(1, classes=classes, experts=3)
    theta = np.random.default_rng(2).standard_normal((4, panels.made_up(1, classes=classes)[2].size))
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    question = Question(cases.scores[0], 0, np.array([0, 2]), np.full(3, -1))
    found = table(theta, weight, model, question)
    assert found.sum(axis=1) == pytest.approx(weight)
    for particle, own in enumerate(theta):
        p = panels.chances(own, model, cases.scores[0], 0)
        for at, (first, last) in enumerate(itertools.product(range(classes), repeat=2)):
            expected = model.nodes.weight @ (p[:, 0, first] * p[:, 2, last])
            assert found[particle, at] == pytest.approx(weight[particle] * expected, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_odds_factors_that_are_known_change_nothing_but_the_time(classes: int) -> None:
    cases, model, _ = panels.made_up(3, classes=classes, experts=5, n=3)
    theta = np.random.default_rng(2).standard_normal((6, panels.made_up(1, classes=classes, experts=5)[2].size))
    weight = np.full(6, 1 / 6)
    factors = odds_factors(theta, model, 0)
    for scores, experts in zip(cases.scores, ([0, 1, 2, 3, 4], [1, 4], [2]), strict=True):
        question = Question(scores, 0, np.array(experts), np.full(5, -1))
        alone = table(theta, weight, model, question)
        np.testing.assert_array_equal(table(theta, weight, model, question, factors), alone)


def test_sampled_votes_are_those_of_the_table_given_the_votes_seen() -> None:
    cases, model, truth = panels.made_up(4, classes=3, experts=4)
    row = np.array([1, -1, 0, -1])
    seen, votes = sampled(
        np.random.default_rng(0), truth[None], model, Question(cases.scores[0], 0, np.array([1, 3]), row), 40_000
    )
    whole = table(truth[None], np.ones(1), model, Question(cases.scores[0], 0, np.arange(4), np.full(4, -1)))
    given = whole.reshape((3,) * 4)[1, :, 0, :]
    assert seen[0] == pytest.approx(given.sum(), rel=1e-9)
    counted = np.bincount(votes[0] @ np.array([3, 1]), minlength=9).reshape(3, 3) / votes.shape[1]
    assert counted == pytest.approx(given / given.sum(), abs=0.01)
