# the recipe's letters for matrices
from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, halfnorm, kstest

from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.full.normal import (
    Parameters,
    factor,
    lkj,
    prior_draws,
    prior_parameters,
    simulate,
    vote_probabilities,
)

COMPARISONS = 27  # three correlations of each of nine kinds of matrix: one in a thousand over all of them


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("eta", [0.75, 1.0, 4.0])
def test_lkj_correlations_are_beta(size: int, eta: float) -> None:
    omega = lkj(np.random.default_rng(5), size, eta, 40_000)
    b = eta - 1.0 + size / 2.0
    for j, k in ((1, 0), (size - 1, 0), (size - 1, size - 2)):
        assert kstest((omega[:, j, k] + 1.0) / 2.0, beta(b, b).cdf).pvalue > 1e-3 / COMPARISONS
    assert np.linalg.eigvalsh(omega).min() > -1e-12


def test_lkj_determinant() -> None:
    # The factor's rows are independent: det = prod of 1 - square, each square Beta(k/2, eta + (size-1-k)/2).
    size, eta = 4, 0.75
    log_det = np.linalg.slogdet(lkj(np.random.default_rng(6), size, eta, 20_000))[1]
    expected = sum(
        np.log(beta(eta + (size - 1 - k) / 2.0, k / 2.0).rvs(200_000, random_state=k)).mean() for k in range(1, size)
    )
    assert log_det.mean() == pytest.approx(expected, abs=5 * log_det.std() / np.sqrt(20_000) + 0.02)


def test_prior_draws_follow_the_settings() -> None:
    settings = Settings(sigma_mu=0.3, sigma_sigma=2.0, sigma_tau=0.7)
    draws = prior_draws(
        np.random.default_rng(1), classes=3, classifiers=1, experts=2, settings=settings, chains=2, count=3000
    )
    assert draws.mu.shape == (2, 3000, 6)
    assert draws.mu.std() == pytest.approx(0.3, rel=0.02)
    assert kstest(draws.s[..., 0].ravel(), halfnorm(scale=2.0).cdf).pvalue > 1e-3
    assert kstest(draws.tau.ravel(), halfnorm(scale=0.7).cdf).pvalue > 1e-3


def test_ablations_of_the_prior() -> None:
    settings = Settings(temperature=False, correlations=False)
    one = prior_parameters(np.random.default_rng(1), classes=2, classifiers=2, experts=2, settings=settings)
    assert one.tau == 1.0
    assert (one.omega == np.eye(4)).all()


def test_simulated_votes_follow_their_probabilities() -> None:
    parameters = Parameters(np.array([0.0, 0.4]), np.array([1.0, 1e-4]), np.eye(2), 0.2)
    rng = np.random.default_rng(2)
    log_ratios, votes = simulate(rng, parameters, 20_000, classes=2, classifiers=1, settings=Settings(), missing=0.25)
    assert log_ratios.shape == (20_000, 1, 1)
    expected = vote_probabilities(np.array([0.4]), 0.2, temperature=True)[0]
    cast = votes[votes >= 0]
    assert (cast == 0).mean() == pytest.approx(expected, abs=0.02)
    assert (votes < 0).mean() == pytest.approx(0.25, abs=0.02)


def test_a_singular_correlation_matrix_is_raised_a_little() -> None:
    L = factor(np.ones((3, 3)))
    assert pytest.approx(np.ones((3, 3)), abs=1e-6) == L @ L.T
    with pytest.raises(HealthError):
        factor(np.array([[1.0, 3.0], [3.0, 1.0]]))
