# ruff: noqa: N803, N806  # the recipe's letters for matrices
from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full import rows
from quorate.models.full.linear import invert
from quorate.models.full.normal import prior_draws
from quorate.models.full.state import State, make_prior
from tests.unit.models.full.joint import log_jacobian, log_prior_sigma, made_up

T = 0.2


def sigma_from(values: Floats) -> Floats:
    """A symmetric matrix from its lower triangle."""
    size = int((np.sqrt(8 * len(values) + 1) - 1) / 2)
    Sigma = np.zeros((size, size))
    Sigma[np.tril_indices(size)] = values
    return Sigma + np.tril(Sigma, -1).T


def log_normal(z: Floats, mu: Floats, Sigma: Floats) -> float:
    r = z - mu
    return float(-0.5 * len(z) * np.linalg.slogdet(Sigma)[1] - 0.5 * np.einsum("ia,ab,ib", r, np.linalg.inv(Sigma), r))


def with_variance(Sigma: Floats, c: int, t: float) -> Floats:
    """Sigma with the conditional variance of one coordinate times e^t, its coefficients kept."""
    moved = Sigma.copy()
    moved[c, c] += np.expm1(t) / np.linalg.inv(Sigma)[c, c]
    return moved


def with_scale(Sigma: Floats, c: int, t: float) -> Floats:
    """Sigma with the variance of one coordinate times e^t, the regression of the others on it kept."""
    slope: Floats = Sigma[:, c] / Sigma[c, c]
    return np.asarray(Sigma + np.outer(slope, slope) * Sigma[c, c] * np.expm1(t))


def test_densities_along_the_moves() -> None:
    _, prior, state = made_up(2, classes=2, classifiers=1, experts=3, n=7, settings=Settings())
    stats, Sigma, c = rows.moments(state.z), state.Sigma, 2
    lower = np.tril_indices(4)

    def on_triangle(move: Callable[[Floats, int, float], Floats], values: Floats) -> Floats:
        return move(sigma_from(values), c, T)[lower]

    here = log_normal(state.z, state.mu, Sigma) + log_prior_sigma(Sigma, prior)
    row = rows.take_row(state, prior, c)
    v = 1.0 / state.Q[c, c]
    q = rows.weigh(row.S, row.b, row.Sb)
    rss = float(((state.z[:, c] - state.mu[c] - (state.z - state.mu)[:, row.others] @ row.b) ** 2).sum())
    variance = rows.VarianceLine(prior, 4, stats.n, rss, v, q)
    slope = Sigma[:, c] / Sigma[c, c]
    rest = np.diag(Sigma) - slope**2 * Sigma[c, c]
    x_rss = float(((state.z[:, c] - state.mu[c]) ** 2).sum())
    scale = rows.ScaleLine(prior, stats.n, c, x_rss, Sigma[c, c], rest, slope)
    for move, found in (
        (with_variance, rows.log_density_variance(T, variance) - rows.log_density_variance(0.0, variance)),
        (with_scale, rows.log_density_scale(T, scale) - rows.log_density_scale(0.0, scale)),
    ):
        there = move(Sigma, c, T)
        stretch = log_jacobian(partial(on_triangle, move), Sigma[lower])
        expected = log_normal(state.z, state.mu, there) + log_prior_sigma(there, prior) - here + stretch
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_row_taken_and_put_back() -> None:
    _, prior, state = made_up(3, classes=3, classifiers=1, experts=2, n=4, settings=Settings())
    before = state.Sigma.copy()
    row = rows.take_row(state, prior, 3)
    q = rows.weigh(row.S, row.b, row.Sb)
    rows.put_row(state, row, 1.0 / state.Q[3, 3], q)
    assert state.Sigma == pytest.approx(before, abs=1e-8)
    assert pytest.approx(np.eye(5), abs=1e-6) == row.P @ row.S


@pytest.mark.parametrize("correlated", [True, False])
@pytest.mark.parametrize("size", [2, 3])
def test_parameters_given_latents_against_importance_sampling(size: int, correlated: bool) -> None:
    settings = Settings(sigma_mu=0.5, correlations=correlated)
    prior, rng = make_prior(settings), np.random.default_rng(size)
    z = rng.standard_normal((5, size)) * 0.8 + 0.3
    z[:, 0] += z[:, 1]
    drawn = prior_draws(rng, classes=2, classifiers=1, experts=size - 1, settings=settings, chains=1, count=400_000)
    mu, s, omega = drawn.mu[0], drawn.s[0], drawn.omega[0]
    L = np.linalg.cholesky(omega + 1e-12 * np.eye(size))
    r = (z - mu[:, None]) / s[:, None]  # (S, n, size)
    white = np.linalg.solve(L, r.transpose(0, 2, 1))
    log_weight = -0.5 * (white**2).sum((1, 2)) - 5 * np.log(s * np.diagonal(L, axis1=1, axis2=2)).sum(1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    values = np.concatenate([mu, np.log(s), omega[:, -1, :-1]], axis=1)
    expected = weight @ values
    expected_error = np.sqrt((weight**2) @ (values - expected) ** 2)

    state = State(z, np.zeros(size), np.eye(size), np.eye(size), np.ones(1))
    stats, kept = rows.moments(z), np.empty((40_000, values.shape[1]))
    for row in kept:
        rows.draw_rows(rng, prior, state, stats)
        if correlated:
            rows.draw_scales(rng, prior, state, stats)
        assert invert(state.Sigma, state.Q)
        rows.draw_means(rng, prior, state, stats)
        sd = np.sqrt(np.diag(state.Sigma))
        row[:] = np.concatenate([state.mu, np.log(sd), state.Sigma[-1, :-1] / (sd[-1] * sd[:-1])])
    error = np.sqrt(kept.reshape(100, -1, values.shape[1]).mean(axis=1).var(axis=0) / 100 + expected_error**2) + 1e-12
    assert (np.abs(kept.mean(axis=0) - expected) < 4.5 * error).all()
