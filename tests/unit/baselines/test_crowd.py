"""The crowd's mathematics: likelihood, gradient, search and forecasts, each against another way to the same number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import gammaln
from scipy.stats import beta

from quorate.baselines import crowd
from quorate.core.arrays import Floats, Ints
from quorate.core.target import Weighted

CONSENSUS = Weighted("consensus", ("a", "b", "c"), (1.0,) * 5)


def made(rng: np.random.Generator, x: Floats, cases: int, votes: int, classes: int) -> tuple[Floats, Ints]:
    """Probabilities and tallies as the model has them."""
    p = rng.dirichlet(np.ones(classes), size=cases)
    theta = np.array([rng.dirichlet(alpha) for alpha in crowd.concentrations(x, p)])
    return p, rng.multinomial(votes, theta)


def test_votes_drawn_from_a_finite_panel_have_the_likelihood_of_an_infinite_one() -> None:
    rng = np.random.default_rng(1)
    p, panel, seen, draws = np.array([0.6, 0.3, 0.1]), 7, 3, 200_000
    x = np.array([2.0, 0.4, 1.0, 0.7, 1.3])
    whole = rng.multinomial(panel, rng.dirichlet(crowd.concentrations(x, p), size=draws))
    thinned: Counter[tuple[int, ...]] = Counter()
    for tally, number in Counter(map(tuple, whole.tolist())).items():
        part = rng.multivariate_hypergeometric(tally, seen, size=number)
        thinned.update(map(tuple, part.tolist()))
    total = 0.0
    for tally, number in thinned.items():
        value, _ = crowd.log_posterior(x, p[None], np.array([tally]), 0.0)
        orders = gammaln(seen + 1) - gammaln(np.array(tally) + 1).sum()
        chance = float(np.exp(value + orders))
        total += chance
        assert number / draws == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / draws))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_is_that_of_finite_differences(classes: int) -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(classes, 0.3), size=12)
    p[0] = np.eye(classes)[0]  # a classifier without any doubt
    tally = rng.multinomial(rng.integers(1, 6, size=12), np.full(classes, 1 / classes))

    def value(x: Floats) -> float:
        return crowd.log_posterior(x, p, tally, 0.1)[0]

    for _ in range(5):
        x = rng.gamma(3.0, 0.5, size=classes + 2) + 0.05
        _, slope = crowd.log_posterior(x, p, tally, 0.1)
        numeric = approx_fprime(x, value, 1e-7)
        assert slope == pytest.approx(numeric, rel=1e-4, abs=1e-5)


def test_the_search_finds_the_parameters_that_made_the_data_and_a_flat_spot() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([3.0, 0.3, 0.6, 1.0, 1.6])
    p, tally = made(rng, truth, 4000, 6, 3)
    found = crowd.fit(p, tally, before=crowd.start(3), prior_weight=1 / 4000)
    assert found == pytest.approx(truth, rel=0.15)
    _, slope = crowd.log_posterior(found, p, tally, 1 / 4000)
    assert slope == pytest.approx(np.zeros(5), abs=1e-3)
    again = crowd.fit(p, tally, before=found, prior_weight=1 / 4000)
    assert again == pytest.approx(found, rel=1e-2)


def test_votes_that_always_agree_do_not_break_the_search() -> None:
    p = np.tile([1.0, 0.0], (50, 1))
    found = crowd.fit(p, np.tile([5, 0], (50, 1)), before=crowd.start(2), prior_weight=1e-6)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    alpha = crowd.concentrations(found, p[0])
    assert alpha[0] / alpha.sum() > 0.99


def test_without_votes_to_speak_of_the_prior_decides() -> None:
    found = crowd.fit(np.array([[0.5, 0.5]]), np.array([[1, 0]]), before=np.full(4, 2.0), prior_weight=1e4)
    assert found == pytest.approx(np.ones(4), abs=1e-2)


@pytest.mark.parametrize("b", [[1.2, 0.4], [6.0, 2.5], [1.1, 0.6, 0.3], [4.0, 4.0, 2.0, 0.05], [0.02, 0.03, 0.01]])
def test_the_exact_form_agrees_with_sampling(b: list[float]) -> None:
    draws = 400_000
    exact = crowd.exact(np.array(b))
    random = crowd.sampled(np.random.default_rng(4), np.array(b), draws)
    assert random.values == pytest.approx(exact.values, abs=4 * 0.5 / np.sqrt(draws))
    assert random.joint == pytest.approx(exact.joint, abs=4 * 0.5 / np.sqrt(draws))
    assert exact.joint.sum(axis=0) == pytest.approx(exact.values, abs=1e-9)
    assert exact.joint.sum(axis=1) == pytest.approx(np.array(b) / sum(b))
    assert random.joint.sum(axis=0) == pytest.approx(random.values)


def test_the_integral_has_the_closed_form_of_two_classes_as_its_limit() -> None:
    two = crowd.leading(np.array([5.5, 2.0]))
    assert two == pytest.approx([beta.sf(0.5, 5.5, 2.0), beta.cdf(0.5, 5.5, 2.0)])
    three = crowd.leading(np.array([5.5, 2.0, 1e-3]))
    assert three[:2] == pytest.approx(two, abs=2e-3)
    assert crowd.leading(np.array([60.0, 0.5, 0.5]))[1] > 0  # never quite sure


def test_a_finite_panel_completes_the_tally() -> None:
    rng = np.random.default_rng(5)
    b, tally = np.array([1.5, 2.5, 1.0]), np.array([1, 2, 0])
    one = crowd.completed(rng, b, 200_000, tally=tally, left=1, target=CONSENSUS)
    # One vote is left: for a (ties with b), for b (b leads) or for c (b leads), in proportion to b.
    assert one.values == pytest.approx([0.5 * 0.3, 0.5 * 0.3 + 0.7, 0.0], abs=5e-3)
    assert one.joint == pytest.approx(np.array([[0.15, 0.15, 0], [0, 0.5, 0], [0, 0.2, 0]]), abs=5e-3)
    worst = Weighted("consensus:worst=a", CONSENSUS.outcomes, CONSENSUS.weight, 0)
    assert crowd.completed(rng, b, 100_000, tally=tally, left=1, target=worst).values[0] == pytest.approx(0.3, abs=5e-3)


def test_a_large_finite_panel_is_nearly_an_infinite_one() -> None:
    b = np.array([2.0, 1.5, 1.0])
    many = crowd.completed(np.random.default_rng(6), b, 200_000, tally=np.zeros(3, int), left=3000, target=CONSENSUS)
    assert many.values == pytest.approx(crowd.leading(b), abs=6e-3)
