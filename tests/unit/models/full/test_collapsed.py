# ruff: noqa: N806  # the recipe's letters for matrices
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full import collapsed
from quorate.models.full.normal import prior_draws, vote_probabilities
from quorate.models.full.rows import take_row, weigh
from quorate.models.full.state import State, make_data, make_prior, make_widths
from tests.unit.models.full.joint import inverse, log_jacobian, log_prior_sigma, made_up

T = 0.2


@pytest.mark.parametrize("settings", [Settings(), Settings(correlations=False)])
def test_densities_along_the_moves(settings: Settings) -> None:
    """Each is the prior in Sigma's measure times the masses the votes leave, with the Jacobian of the move."""
    _, prior, state = made_up(4, classes=2, classifiers=1, experts=3, n=6, settings=settings)
    rng, c = np.random.default_rng(1), 2
    row = take_row(state, prior, c)
    v, q, mu, m = 1.0 / state.Q[c, c], weigh(row.S, row.b, row.Sb), state.mu[c], len(row.b)
    deviations = (state.z - state.mu)[:, row.others]
    lower, upper = state.z[:, c] - rng.exponential(1, 6), state.z[:, c] + rng.exponential(1, 6)
    direction = rng.standard_normal(m) * 0.2

    def log_target(at: Floats) -> float:
        """In (mu_c, Sigma_-c,c, Sigma_cc)."""
        Sigma = state.Sigma.copy()
        Sigma[row.others, c] = Sigma[c, row.others] = at[1:-1]
        Sigma[c, c] = at[-1]
        b = row.P @ at[1:-1]
        centre, sd = at[0] + deviations @ b, np.sqrt(at[-1] - at[1:-1] @ b)
        masses = norm.cdf((upper - centre) / sd) - norm.cdf((lower - centre) / sd)
        return float(log_prior_sigma(Sigma, prior) - 0.5 * (at[0] / prior.sigma_mu) ** 2 + np.log(masses).sum())

    def shift(at: Floats) -> Floats:
        return np.concatenate([[at[0] + T], at[1:]])

    def rescaled(at: Floats) -> Floats:
        return np.concatenate([np.exp(T) * at[:-1], [np.exp(2 * T) * at[-1]]])

    def variance(at: Floats) -> Floats:
        explained = at[1:-1] @ row.P @ at[1:-1]
        return np.concatenate([at[:-1], [explained + np.exp(T) * (at[-1] - explained)]])

    def coefficients(at: Floats) -> Floats:
        left = at[-1] - at[1:-1] @ row.P @ at[1:-1]
        covariances = at[1:-1] + T * row.S @ direction
        return np.concatenate([at[:1], covariances, [left + covariances @ row.P @ covariances]])

    here = np.concatenate([[mu], state.Sigma[row.others, c], [state.Sigma[c, c]]])
    Snu = row.S @ direction
    plain = collapsed.RowLine(prior, m + 1, mu, v, q, lower, upper, mu + deviations @ row.b, np.ones(6), 0.0, 0.0)
    tilted = plain._replace(slope=deviations @ direction, q_slope=float(Snu @ row.b), q_curve=float(Snu @ direction))
    for move, density, line in (
        (shift, collapsed.log_density_mean, plain),
        (rescaled, collapsed.log_density_row_scale, plain),
        (variance, collapsed.log_density_row_variance, plain),
        (coefficients, collapsed.log_density_coefficients, tilted),
    ):
        expected = log_target(move(here)) - log_target(here) + log_jacobian(move, here)
        assert density(T, line) - density(0.0, line) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("settings", [Settings(), Settings(temperature=False), Settings(correlations=False)])
def test_collapsed_rows_leave_the_posterior_of_their_row_invariant(settings: Settings) -> None:
    """One expert's mean, scale and correlation with a classifier whose own are known, against importance sampling."""
    settings = replace(settings, sigma_mu=0.4)
    prior, rng = make_prior(settings), np.random.default_rng(11)
    votes, tau, s_first = np.array([[0], [0], [1], [-1]]), 0.2 if settings.temperature else 1.0, 1.1
    z_first = rng.normal(0.2, 0.7, 4)

    drawn = prior_draws(rng, classes=2, classifiers=1, experts=1, settings=settings, chains=1, count=40_000)
    mu, s, rho = drawn.mu[0, :, 1], drawn.s[0, :, 1], drawn.omega[0, :, 1, 0]
    nodes, node_weight = np.polynomial.hermite_e.hermegauss(40)
    mean = mu[:, None] + (rho * s / s_first)[:, None] * z_first  # (S, n)
    z = mean[:, :, None] + (s * np.sqrt(1 - rho**2))[:, None, None] * nodes
    share = vote_probabilities(z[..., None], tau, temperature=settings.temperature)[..., 0] @ node_weight
    share /= node_weight.sum()
    weight = np.where(votes[:, 0] == 0, share, np.where(votes[:, 0] == 1, 1 - share, 1.0)).prod(axis=1)
    weight /= weight.sum()
    values = np.stack([mu, np.log(s), rho], axis=1)
    expected = weight @ values
    expected_error = np.sqrt((weight**2) @ (values - expected) ** 2)

    Sigma = np.diag([s_first**2, 0.5])
    latents = np.stack([z_first, np.where(votes[:, 0] == 0, 0.3, -0.3)], axis=1)
    state = State(latents, np.zeros(2), Sigma, inverse(Sigma), np.array([tau]))
    data = make_data(z_first.reshape(4, 1, 1), votes, 2)
    widths, kept = make_widths(1, 2), np.empty((40_000, 3))
    for row in kept:
        assert collapsed.collapse_row(rng, data, prior, state, 0, 0, widths, False)
        sd = np.sqrt(np.diag(state.Sigma))
        row[:] = state.mu[1], np.log(sd[1]), state.Sigma[1, 0] / sd.prod()
    assert (state.z[:, 0] == z_first).all()
    error = np.sqrt(kept.reshape(100, -1, 3).mean(axis=1).var(axis=0) / 100 + expected_error**2) + 1e-12
    assert (np.abs(kept.mean(axis=0) - expected) < 4.5 * error).all()
