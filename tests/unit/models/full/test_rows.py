# the recipe's letters for matrices
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full import rows
from quorate.models.full.linear import invert
from quorate.models.full.normal import prior_draws
from quorate.models.full.state import Prior, State, make_prior
from tests.unit.models.full.joint import inverse, log_jacobian, log_prior_sigma, made_up
from tests.unit.models.full.line import UNLIKELY, chain, fit_of, fit_to

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


def variance_line(state: State, prior: Prior, c: int) -> rows.VarianceLine:
    """The line of `draw_rows` through a state, from the latents themselves."""
    row = rows.take_row(state, prior, c)
    q = rows.weigh(row.S, row.b, row.Sb)
    rss = float(((state.z[:, c] - state.mu[c] - (state.z - state.mu)[:, row.others] @ row.b) ** 2).sum())
    return rows.VarianceLine(prior, len(state.mu), len(state.z), rss, 1.0 / state.Q[c, c], q)


def scale_line(state: State, prior: Prior, c: int) -> rows.ScaleLine:
    """The line of `draw_scales` through a state, from the latents themselves."""
    x = float(state.Sigma[c, c])
    slope = state.Sigma[:, c] / x
    rss = float(((state.z[:, c] - state.mu[c]) ** 2).sum())
    return rows.ScaleLine(prior, len(state.z), c, rss, x, np.diag(state.Sigma) - slope**2 * x, slope)


def test_densities_along_the_moves() -> None:
    _, prior, state = made_up(2, classes=2, classifiers=1, experts=3, n=7, settings=Settings())
    Sigma, c = state.Sigma, 2
    lower = np.tril_indices(4)

    def on_triangle(move: Callable[[Floats, int, float], Floats], values: Floats) -> Floats:
        return move(sigma_from(values), c, T)[lower]

    here = log_normal(state.z, state.mu, Sigma) + log_prior_sigma(Sigma, prior)
    variance, scale = variance_line(state, prior, c), scale_line(state, prior, c)
    for move, found in (
        (with_variance, rows.log_density_variance(T, variance) - rows.log_density_variance(0.0, variance)),
        (with_scale, rows.log_density_scale(T, scale) - rows.log_density_scale(0.0, scale)),
    ):
        there = move(Sigma, c, T)
        stretch = log_jacobian(partial(on_triangle, move), Sigma[lower])
        expected = log_normal(state.z, state.mu, there) + log_prior_sigma(there, prior) - here + stretch
        assert found == pytest.approx(expected, abs=1e-4)


def test_draws_of_a_conditional_variance_follow_the_density_along_the_move() -> None:
    _, prior, state = made_up(2, classes=2, classifiers=1, experts=3, n=7, settings=Settings())
    rng, line, grid = np.random.default_rng(1), variance_line(state, prior, 2), np.linspace(-6.0, 12.0, 3000)
    there = [with_variance(state.Sigma, 2, t) for t in grid]
    density = [log_normal(state.z, state.mu, Sigma) + log_prior_sigma(Sigma, prior) for Sigma in there]
    draws = chain(lambda t: rows.slice_variance(rng, line._replace(v=line.v * math.exp(t)), rows.slice_width(7)))
    assert fit_of(draws, grid, np.array(density) + grid) > UNLIKELY  # the variance's Jacobian in its logarithm


def test_draws_of_a_scale_follow_the_density_along_the_move() -> None:
    _, prior, state = made_up(2, classes=2, classifiers=1, experts=3, n=7, settings=Settings())
    rng, line, grid = np.random.default_rng(1), scale_line(state, prior, 2), np.linspace(-5.0, 5.0, 2000)
    there = [with_scale(state.Sigma, 2, t) for t in grid]
    density = [log_normal(state.z, state.mu, Sigma) + log_prior_sigma(Sigma, prior) for Sigma in there]
    draws = chain(lambda t: rows.slice_scale(rng, line._replace(x=line.x * math.exp(t)), rows.slice_width(7)))
    assert fit_of(draws, grid, np.array(density) + 4 * grid) > UNLIKELY  # the variance and its three covariances


def test_scales_of_uncorrelated_coordinates_are_drawn_from_their_own_densities() -> None:
    """Without a slope no coordinate's scale changes another's, and the kernel runs one chain for each."""
    rng, prior = np.random.default_rng(4), make_prior(Settings())
    z, mu, Sigma = rng.standard_normal((6, 3)) * [0.3, 1.0, 1.5], np.array([0.1, -0.1, 0.0]), np.eye(3)
    state, stats, kept = State(z, mu, Sigma, np.eye(3), np.ones(1)), rows.moments(z), np.empty((2000, 3))
    for row in kept:
        for _ in range(5):
            rows.draw_scales(rng, prior, state, stats)
        row[:] = np.log(np.diag(state.Sigma))
    assert (state.Sigma == np.diag(np.diag(state.Sigma))).all()
    grid = np.linspace(-8.0, 6.0, 2000)
    for c in range(3):
        there = [with_scale(np.eye(3), c, t) for t in grid]
        density = [log_normal(z, mu, moved) + log_prior_sigma(moved, prior) for moved in there]
        assert fit_of(kept[:, c], grid, np.array(density) + 3 * grid) > UNLIKELY


def test_a_regression_is_drawn_from_its_conditional() -> None:
    """A coefficient and a mean given the conditional variance, against their density on a grid."""
    rng, prior = np.random.default_rng(5), make_prior(Settings(sigma_mu=0.5))
    z, mu, S, v = rng.standard_normal((4, 2)) * 0.6 + 0.4, np.array([0.2, 0.0]), 0.5, 0.2
    b, mean = np.meshgrid(np.linspace(-4.0, 4.0, 321), np.linspace(-1.5, 2.0, 141), indexing="ij")
    log_prior = [log_prior_sigma(np.array([[S, S * x], [S * x, v + S * x * x]]), prior) for x in b[:, 0]]
    residual = z[:, 1] - mean[..., None] - b[..., None] * (z[:, 0] - mu[0])
    density = np.array(log_prior)[:, None] - 0.5 * (mean / prior.sigma_mu) ** 2 - 0.5 * (residual**2).sum(axis=-1) / v
    density = np.exp(density - density.max())

    Sigma = np.array([[S, 0.0], [0.0, v]])
    state, stats, kept = State(z, mu, Sigma, inverse(Sigma), np.ones(1)), rows.moments(z), np.empty((2500, 2))
    row = rows.take_row(state, prior, 1)
    for found in kept:
        for _ in range(8):
            q = rows._draw_regression(rng, prior, state, row, stats, v)
        found[:] = row.b[0], state.mu[1]
    assert q == pytest.approx(S * row.b[0] ** 2)
    assert row.Sb == pytest.approx(S * row.b)
    assert fit_of(kept[:, 0], b[:, 0], np.log(density.sum(axis=1))) > UNLIKELY
    assert fit_of(kept[:, 1], mean[0], np.log(density.sum(axis=0))) > UNLIKELY


def test_means_are_drawn_from_their_normal_conditional() -> None:
    _, prior, state = made_up(3, classes=2, classifiers=1, experts=2, n=6, settings=Settings(sigma_mu=0.4))
    rng, stats, kept = np.random.default_rng(3), rows.moments(state.z), np.empty((4000, 3))
    for row in kept:
        rows.draw_means(rng, prior, state, stats)
        row[:] = state.mu
    precision = 6 * state.Q + np.eye(3) / 0.4**2
    mean = np.linalg.solve(precision, state.Q @ state.z.sum(axis=0))
    white = (kept - mean) @ np.linalg.cholesky(precision)  # independent standard normals
    points = np.linspace(-5.0, 5.0, 2000)
    for direction in (*np.eye(3), np.array([1.0, 1.0, 0.0]), np.array([1.0, -1.0, 1.0])):
        assert fit_to(white @ direction / np.linalg.norm(direction), points, ndtr(points)) > UNLIKELY


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
    stats, kept = rows.moments(z), np.empty((15_000, values.shape[1]))
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
