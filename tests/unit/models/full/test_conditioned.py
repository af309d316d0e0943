from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from quorate.core.arrays import Floats
from quorate.models.full.conditioned import beyond, differences, log_mass, prepare
from quorate.models.full.normal import lkj
from quorate.models.full.simplex import probabilities, tempered
from quorate.models.full.tables import Answer, Posterior, answer
from quorate.models.full.walk import Question


@pytest.mark.parametrize("bound", [-40.0, -2.0, 0.0, 3.0, 29.0])
def test_draws_above_a_bound_are_truncated_normals(bound: float) -> None:
    u = (np.arange(999) + 0.5) / 999
    x = np.array([beyond(p, bound) for p in u])
    assert (x >= bound).all()
    assert log_ndtr(-x) == pytest.approx(np.log(u) + log_ndtr(-bound), abs=1e-6)  # the upper tail beyond each is u
    assert log_mass(5.0, bound) == pytest.approx(log_ndtr(-bound), abs=1e-7)


@pytest.mark.parametrize("bound", [30.1, 100.0, 1e5])
def test_far_out_the_mass_is_right_on_average(bound: float) -> None:
    u = (np.arange(99_999) + 0.5) / 99_999
    relative = np.array([log_mass(beyond(p, bound), bound) - log_ndtr(-bound) for p in u])
    assert np.exp(relative).mean() == pytest.approx(1.0, abs=1e-4)
    assert np.exp(relative).std() < 2e-3  # hardly a weight at all


def test_differences_against_every_other_class() -> None:
    z = np.array([[9.0, 1.0], [9.0, 2.0]])
    found = np.empty(2)
    for vote, expected in ((0, [-1.0, 1.0]), (1, [1.0, 2.0]), (2, [-1.0, -2.0])):
        differences(z, 0, 1, vote, found)
        assert found.tolist() == expected


def test_the_matrices_of_a_voter() -> None:
    rng = np.random.default_rng(1)
    root = np.linalg.cholesky(lkj(rng, 5, 1.0, 1)[0]) * np.array([[1.0], [2.0], [0.5], [1.0], [3.0]])
    takes, noisy, given, scratch = np.zeros((4, 3, 3))
    assert prepare(root, 2, 1, 0.3, takes, noisy, given, scratch)
    ahead = np.array([[-1.0, 1, 0], [0, 1, -1], [0, 1, 0]])  # of the block's three log-ratios, for a vote for class 1
    assert takes == pytest.approx(ahead @ root[2:, 2:])
    assert noisy @ noisy.T == pytest.approx(takes @ takes.T + 0.09 * np.eye(3))
    assert given @ given.T == pytest.approx(np.eye(3) + takes.T @ takes / 0.09)


def one_draw(classes: int, experts: int, tau: float, seed: int) -> Posterior:
    """Parameters of a panel with one classifier."""
    rng = np.random.default_rng(seed)
    size = (classes - 1) * (experts + 1)
    omega = 0.5 * np.kron(np.ones((experts + 1, experts + 1)), 0.5 + 0.5 * np.eye(classes - 1))
    mu, s = rng.normal(0.0, 0.4, (1, size)), rng.uniform(0.5, 1.5, (1, size))
    return Posterior(mu, s, omega + 0.5 * lkj(rng, size, 1.0, 1), np.array([tau]))


def asked(votes: list[int], draws: Posterior, classes: int, *, tempered: bool = True) -> Question:
    """The last expert is still to vote."""
    return Question(
        order=np.arange(draws.mu.shape[1]),
        observed=np.linspace(1.0, 0.2, classes - 1),
        votes=np.array(votes, dtype=np.int64),
        unasked=1,
        classes=classes,
        tempered=tempered,
        tabled=True,
    )


def probability(found: Answer) -> float:
    """Estimated probability of the votes seen, mean over draws."""
    return float(np.exp(found.log_scale) * found.weight.mean())


def by_quadrature(votes: list[int], draws: Posterior, classes: int, *, temperature: bool = True) -> float:
    """Probability of the votes by Gauss-Hermite quadrature over the voters' latents."""
    block = classes - 1
    sigma = draws.omega[0] * np.outer(draws.s[0], draws.s[0])
    voters = slice(block, block * (1 + len(votes)))
    gain = sigma[voters, :block] @ np.linalg.inv(sigma[:block, :block])
    mean = draws.mu[0, voters] + gain @ (np.linspace(1.0, 0.2, block) - draws.mu[0, :block])
    root = np.linalg.cholesky(sigma[voters, voters] - gain @ sigma[:block, voters])
    size = len(mean)
    points, weights = np.polynomial.hermite_e.hermegauss({1: 200, 2: 100, 4: 24}[size])
    grid = np.array(list(product(points, repeat=size)))
    mass = np.prod(np.array(list(product(weights / weights.sum(), repeat=size))), axis=1)
    theta = probabilities((mean + grid @ root.T).reshape(-1, len(votes), block))
    chance = tempered(theta, draws.tau[0]) if temperature else theta
    return float(mass @ np.prod([chance[:, h, vote] for h, vote in enumerate(votes)], axis=0))


@pytest.mark.parametrize(
    ("classes", "votes"), [(2, [0]), (2, [1]), (2, [1, 0]), (3, [0]), (3, [1]), (3, [2]), (3, [1, 2]), (3, [0, 1])]
)
@pytest.mark.parametrize("tau", [0.3, 0.6])
def test_weights_are_unbiased(classes: int, votes: list[int], tau: float) -> None:
    draws = one_draw(classes, len(votes) + 1, tau, seed=classes)
    found = [
        probability(answer(np.random.default_rng(seed), asked(votes, draws, classes), draws, repeats=2000))
        for seed in range(20)
    ]
    exact = by_quadrature(votes, draws, classes)
    assert np.mean(found) == pytest.approx(exact, abs=4 * np.std(found) / np.sqrt(20) + 1e-4 * exact)
    assert np.std(found) < 0.02 * exact


def test_weights_are_unbiased_without_a_temperature() -> None:
    draws = one_draw(3, 3, 1.0, seed=4)
    question = asked([1, 2], draws, 3, tempered=False)
    found = [probability(answer(np.random.default_rng(seed), question, draws, repeats=2000)) for seed in range(20)]
    exact = by_quadrature([1, 2], draws, 3, temperature=False)
    assert np.mean(found) == pytest.approx(exact, abs=4 * np.std(found) / np.sqrt(20))
    assert np.std(found) < 0.01 * exact


def test_a_sharp_vote_has_the_mass_of_its_orthant() -> None:
    draws = one_draw(2, 2, 1e-5, seed=2)
    sigma = draws.omega[0] * np.outer(draws.s[0], draws.s[0])
    mean = draws.mu[0, 1] + sigma[1, 0] / sigma[0, 0] * (1.0 - draws.mu[0, 0])
    sd = np.sqrt(sigma[1, 1] - sigma[0, 1] ** 2 / sigma[0, 0])
    found = answer(np.random.default_rng(1), asked([1], draws, 2), draws, repeats=20_000)
    assert probability(found) == pytest.approx(ndtr(-mean / sd), rel=0.005)
    assert found.weight.sum() ** 2 / (found.weight**2).sum() > 0.85 * 20_000  # plain ones would be 0 or 1


def with_last_class_first(draws: Posterior, classes: int) -> Posterior:
    """The same panel with the last class named first: log-ratios against another base are linear in the old ones."""
    block = classes - 1
    # new class 0 is the old base, new class k the old k - 1; the new base is the old class K - 2
    one = np.zeros((block, block))
    one[:, -1] = -1.0
    for k in range(1, block):
        one[k, k - 1] = 1.0
    agents = draws.mu.shape[1] // block
    takes = np.kron(np.eye(agents), one)
    sigma = takes @ (draws.omega[0] * np.outer(draws.s[0], draws.s[0])) @ takes.T
    s = np.sqrt(np.diag(sigma))
    return Posterior((takes @ draws.mu[0])[None], s[None], (sigma / np.outer(s, s))[None], draws.tau)


@pytest.mark.parametrize("tau", [0.01, 0.2])
def test_no_class_is_special(tau: float) -> None:
    draws = one_draw(3, 4, tau, seed=6)
    turned = with_last_class_first(draws, 3)
    question = asked([0, 2, 1], draws, 3)
    ratios = question.observed
    other = question._replace(observed=np.array([0.0, ratios[0]]) - ratios[1], votes=(question.votes + 1) % 3)
    ways = ((question, draws), (other, turned))
    found = [[answer(np.random.default_rng(n), q, d, repeats=4000) for n in range(20)] for q, d in ways]
    one, two = np.array([[np.log(probability(each)) for each in way] for way in found])
    assert one.mean() == pytest.approx(two.mean(), abs=4 * np.hypot(one.std(), two.std()) / np.sqrt(20))
    votes = [np.mean([each.mass[0] / each.mass.sum() for each in way], axis=0) for way in found]
    assert votes[0][[2, 0, 1]] == pytest.approx(votes[1], abs=0.005)


def test_a_vote_that_was_certain_leaves_the_weights_equal() -> None:
    draws = one_draw(3, 2, 0.01, seed=3)
    sure = draws._replace(mu=np.tile([6.0, -6.0], (1, 3)), s=draws.s * 0.3)
    found = answer(np.random.default_rng(0), asked([0], sure, 3), sure, repeats=500)
    assert found.weight == pytest.approx(np.ones((1, 500)), abs=1e-9)
    assert probability(found) == pytest.approx(1.0)


def test_twice_the_latents_at_most_half_the_variance() -> None:
    draws = one_draw(3, 4, 0.05, seed=8)
    question = asked([1, 2, 0], draws, 3)

    def variance(repeats: int) -> float:
        found = [answer(np.random.default_rng(seed), question, draws, repeats=repeats) for seed in range(150)]
        return float(np.var([probability(each) for each in found]))

    assert variance(400) < 0.65 * variance(200)


def test_votes_that_nobody_would_cast_still_have_weights() -> None:
    draws = one_draw(2, 13, 1e-4, seed=5)
    sure = draws._replace(mu=np.full_like(draws.mu, 3.0), s=np.full_like(draws.s, 0.02), omega=np.eye(14)[None])
    question = asked([1] * 12, sure, 2)._replace(observed=np.array([3.0]))
    found = answer(np.random.default_rng(0), question, sure, repeats=200)
    assert np.isfinite(found.weight).all()
    assert found.weight.max() == 1.0
    assert found.log_scale < -10_000  # far below the smallest number
    assert found.mass.sum() > 0


def shares(found: Answer) -> Floats:
    total: Floats = found.mass.sum(axis=0) / found.mass.sum()
    return total


def test_the_order_of_the_voters_does_not_matter() -> None:
    draws = one_draw(3, 4, 0.05, seed=11)
    question = asked([1, 0, 0], draws, 3)
    blocks = question.order.reshape(-1, 2)
    other = question._replace(order=blocks[[0, 3, 1, 2, 4]].reshape(-1), votes=np.array([0, 1, 0]))
    one, two = (answer(np.random.default_rng(2), each, draws, repeats=40_000) for each in (question, other))
    assert probability(one) == pytest.approx(probability(two), rel=0.02)
    assert shares(one) == pytest.approx(shares(two), abs=0.01)
