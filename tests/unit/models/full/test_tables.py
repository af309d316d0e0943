from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.full.normal import factor, prior_draws
from quorate.models.full.simplex import probabilities, tempered
from quorate.models.full.tables import Posterior, answer
from quorate.models.full.walk import Question
from quorate.models.points import EVEN, even_steps


def prior(classes: int, experts: int, count: int) -> Posterior:
    drawn = prior_draws(
        np.random.default_rng(1),
        classes=classes,
        classifiers=1,
        experts=experts,
        settings=Settings(),
        chains=1,
        count=count,
    )
    return Posterior(drawn.mu[0], drawn.s[0] + 0.2, drawn.omega[0], drawn.tau[0] + 0.05)


def question(classes: int, experts: int, votes: tuple[int, ...] = (), *, tabled: bool = True) -> Question:
    return Question(
        order=np.arange((classes - 1) * (experts + 1)),
        observed=np.linspace(1.0, 0.0, classes - 1),
        votes=np.array(votes, dtype=np.int64),
        unasked=experts - len(votes),
        classes=classes,
        tempered=True,
        tabled=tabled,
    )


def plain_chance(draws: Posterior, classes: int, shifts: Floats, repeats: int) -> Floats:
    """Vote probabilities (S, R, H, K) of the latents at evenly spread points, by numpy."""
    block = classes - 1
    root = factor(draws.omega) * draws.s[:, :, None]
    noise = np.linalg.solve(root[:, :block, :block], (np.linspace(1.0, 0.0, block) - draws.mu[:, :block])[:, :, None])
    mean = draws.mu[:, block:] + (root[:, block:, :block] @ noise)[:, :, 0]
    points = (shifts[:, None, :] + np.arange(repeats)[:, None] * even_steps(shifts.shape[1])) % 1.0
    z = mean[:, None, :] + ndtri(points) @ root[:, block:, block:].transpose(0, 2, 1)
    theta = probabilities(z.reshape(len(root), repeats, -1, block))
    return tempered(theta, draws.tau[:, None, None])


@pytest.mark.parametrize(("classes", "experts"), [(2, 5), (4, 3)])
def test_the_table_is_that_of_the_model(classes: int, experts: int) -> None:
    draws, repeats = prior(classes, experts, 6), 13
    found = answer(np.random.default_rng(5), question(classes, experts), draws, repeats=repeats)
    chance = plain_chance(draws, classes, np.random.default_rng(5).random((6, (classes - 1) * experts)), repeats)
    product = np.ones((6, repeats, 1))
    for h in range(experts):
        product = (product[..., None] * chance[:, :, h, None, :]).reshape(6, repeats, -1)
    assert found.mass == pytest.approx(product.mean(axis=1), abs=1e-9)
    assert found.mass.sum(axis=1) == pytest.approx(np.ones(6))
    assert (found.weight == 1.0).all()
    assert found.log_scale == 0.0


@pytest.mark.parametrize("tabled", [True, False])
def test_the_number_of_threads_changes_nothing(tabled: bool) -> None:
    draws = prior(3, 4, 7)
    asked = question(3, 4, (1, 0), tabled=tabled)
    one, *others = [
        answer(np.random.default_rng(2), asked, draws, repeats=9, threads=threads) for threads in (1, 2, 3, 11)
    ]
    for other in others:
        assert np.array_equal(one.weight, other.weight)
        assert np.array_equal(one.mass, other.mass)
        assert np.array_equal(one.votes, other.votes)
        assert one.log_scale == other.log_scale


def test_sampled_votes_have_the_probabilities_of_the_table() -> None:
    draws, votes = prior(3, 4, 40), (2, 0)
    table = answer(np.random.default_rng(3), question(3, 4, votes), draws, repeats=2000)
    sample = answer(np.random.default_rng(4), question(3, 4, votes, tabled=False), draws, repeats=2000)
    pattern = sample.votes[..., 0] * 3 + sample.votes[..., 1]
    share = np.bincount(pattern.ravel(), sample.weight.ravel(), minlength=9) / sample.weight.sum()
    assert share == pytest.approx(table.mass.sum(axis=0) / table.mass.sum(), abs=0.006)


def test_draws_are_weighted_against_each_other_by_the_votes() -> None:
    draws = prior(2, 3, 30)
    table = answer(np.random.default_rng(1), question(2, 3), draws, repeats=4000).mass.reshape(30, 2, 2, 2)
    given = answer(np.random.default_rng(2), question(2, 3, (1, 0)), draws, repeats=4000)
    by_table = table[:, 1, 0].sum(axis=1)
    by_weight = given.weight.mean(axis=1) * np.exp(given.log_scale)
    assert by_weight == pytest.approx(by_table, rel=0.1)
    assert given.mass.sum(axis=1) == pytest.approx(given.weight.mean(axis=1))


def test_evenly_spread_points_are_less_noisy_than_random_ones() -> None:
    draws = prior(2, 3, 1)
    estimates = [
        answer(np.random.default_rng(seed), question(2, 3), draws, repeats=31).mass[0, 0] for seed in range(400)
    ]
    rng = np.random.default_rng(0)
    some = plain_chance(draws, 2, rng.random((1, 3)), 20_000)[0, :, :, 0].prod(axis=1)  # of one latent each
    assert np.var(estimates) < 0.5 * np.var(some) / 31
    assert np.mean(estimates) == pytest.approx(some.mean(), abs=4 * np.std(estimates) / 20 + 0.002)


def test_steps_are_even_and_differ() -> None:
    steps = even_steps(300)
    assert len(np.unique(steps)) == 300
    assert steps.min() > EVEN[0]
    assert steps.max() < EVEN[1]


def test_a_broken_correlation_matrix_is_an_error() -> None:
    draws = prior(2, 2, 3)
    broken = draws._replace(omega=np.where(np.eye(3) > 0, 1.0, -0.9)[None].repeat(3, axis=0))
    with pytest.raises(HealthError, match="positive definite"):
        answer(np.random.default_rng(0), question(2, 2), broken, repeats=3)
