# the recipe's letters for matrices
from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full.arrivals import arrive
from quorate.models.full.normal import Parameters, prior_parameters, vote_probabilities
from quorate.models.full.state import State, make_data, make_prior
from tests.unit.models.full.joint import inverse

DRAWS = 4000


def state_of(truth: Parameters, z: Floats) -> State:
    Sigma = truth.omega * np.outer(truth.s, truth.s)
    return State(z, truth.mu.copy(), Sigma, inverse(Sigma), np.array([truth.tau]))


@pytest.mark.parametrize("temperature", [True, False])
@pytest.mark.parametrize("missing", [True, False])
def test_latents_of_a_new_case_against_many_weighted_draws(temperature: bool, missing: bool) -> None:
    """Two classifiers, one of them missing or not, and three experts of whom two have voted."""
    settings = Settings(temperature=temperature)
    rng = np.random.default_rng(11)
    truth = prior_parameters(rng, classes=3, classifiers=2, experts=3, settings=settings)
    ratios = np.array([[[0.4, -0.3], [np.nan, np.nan] if missing else [0.1, 0.6]]])
    votes = np.array([[2, -1, 0]])
    data, prior = make_data(ratios, votes, 3), make_prior(settings)
    drawn = np.empty((DRAWS, 10))
    for row in range(DRAWS):
        state = state_of(truth, np.concatenate([ratios.reshape(1, 4), np.zeros((1, 6))], axis=1))
        assert arrive(rng, data, prior, state, 0)
        drawn[row] = state.z[0]

    known = [0, 1] if missing else [0, 1, 2, 3]
    free = [c for c in range(10) if c not in known]
    Sigma = truth.omega * np.outer(truth.s, truth.s)
    gain = Sigma[np.ix_(free, known)] @ np.linalg.inv(Sigma[np.ix_(known, known)])
    mean = truth.mu[free] + gain @ (ratios.reshape(4)[known] - truth.mu[known])
    spread = Sigma[np.ix_(free, free)] - gain @ Sigma[np.ix_(known, free)]
    z = rng.multivariate_normal(mean, spread, 200_000)
    chance = vote_probabilities(z[:, -6:].reshape(-1, 3, 2), truth.tau, temperature=temperature)
    weight = chance[:, 0, 2] * chance[:, 2, 0]
    weight /= weight.sum()
    expected = weight @ z
    sd = np.sqrt(weight @ (z - expected) ** 2)
    assert (drawn[:, known] == ratios.reshape(4)[known]).all()
    np.testing.assert_allclose((drawn[:, free].mean(axis=0) - expected) / sd, 0.0, atol=0.08)
    np.testing.assert_allclose(drawn[:, free].std(axis=0) / sd, 1.0, atol=0.08)


def test_a_singular_covariance_is_refused() -> None:
    truth = Parameters(np.zeros(3), np.ones(3), np.ones((3, 3)), 0.2)
    state = State(np.zeros((1, 3)), truth.mu, truth.omega, np.eye(3), np.array([0.2]))
    data = make_data(np.zeros((1, 1, 1)), np.array([[0, 1]]), 2)
    assert not arrive(np.random.default_rng(0), data, make_prior(Settings()), state, 0)
    assert (state.z == 0).all()
