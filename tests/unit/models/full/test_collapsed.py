# the recipe's letters for matrices
from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import roots_jacobi
from scipy.stats import norm

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full import collapsed
from quorate.models.full.normal import vote_probabilities
from quorate.models.full.rows import take_row
from quorate.models.full.state import State, make_data, make_prior, make_widths
from tests.unit.models.full.joint import inverse, log_jacobian, log_prior_sigma, made_up
from tests.unit.models.full.line import UNLIKELY, chain, fit_of

T = 0.2
MOVES = ["mean", "scale", "variance", "coefficients"]


class Example:
    """One row of a made-up state whose votes have left an interval to each of its latents."""

    def __init__(self, settings: Settings) -> None:
        _, self.prior, self.state = made_up(4, classes=2, classifiers=1, experts=3, n=6, settings=settings)
        rng, self.c = np.random.default_rng(1), 2
        self.row = take_row(self.state, self.prior, self.c)
        self.deviations = (self.state.z - self.state.mu)[:, self.row.others]
        latents = self.state.z[:, self.c]
        self.lower, self.upper = latents - rng.exponential(1, 6), latents + rng.exponential(1, 6)
        self.direction = rng.standard_normal(len(self.row.b)) * 0.2
        own, covariances = self.state.Sigma[self.c, self.c], self.state.Sigma[self.row.others, self.c]
        self.here = np.concatenate([[self.state.mu[self.c]], covariances, [own]])

    def log_target(self, at: Floats) -> float:
        """The prior times the masses that the votes leave, in (mu_c, Sigma_-c,c, Sigma_cc)."""
        row, Sigma = self.row, self.state.Sigma.copy()
        Sigma[row.others, self.c] = Sigma[self.c, row.others] = at[1:-1]
        Sigma[self.c, self.c] = at[-1]
        b = row.P @ at[1:-1]
        centre, sd = at[0] + self.deviations @ b, np.sqrt(at[-1] - at[1:-1] @ b)
        masses = norm.cdf((self.upper - centre) / sd) - norm.cdf((self.lower - centre) / sd)
        prior = log_prior_sigma(Sigma, self.prior) - 0.5 * (at[0] / self.prior.sigma_mu) ** 2
        return float(prior + np.log(masses).sum())

    def moved(self, move: str, t: float, at: Floats) -> Floats:
        """Where a move of the row goes."""
        row, covariances = self.row, at[1:-1]
        if move == "mean":
            return np.concatenate([[at[0] + t], at[1:]])
        if move == "scale":
            return np.concatenate([np.exp(t) * at[:-1], [np.exp(2 * t) * at[-1]]])
        left = at[-1] - covariances @ row.P @ covariances
        if move == "variance":
            return np.concatenate([at[:-1], [at[-1] + np.expm1(t) * left]])
        covariances = covariances + t * row.S @ self.direction
        return np.concatenate([at[:1], covariances, [left + covariances @ row.P @ covariances]])

    def line(self, move: str, t: float) -> collapsed.RowLine:
        """The kernel's line through where a move has gone."""
        at, row = self.moved(move, t, self.here), self.row
        b = row.P @ at[1:-1]
        q, mean = float(at[1:-1] @ b), at[0] + self.deviations @ b
        tilt = self.deviations @ self.direction if move == "coefficients" else np.ones(6)
        Snu = row.S @ self.direction
        return collapsed.RowLine(
            self.prior,
            len(b) + 1,
            at[0],
            at[-1] - q,
            q,
            self.lower,
            self.upper,
            mean,
            tilt,
            float(Snu @ b),
            float(Snu @ self.direction),
        )


def found_density(move: str, t: float, line: collapsed.RowLine) -> float:
    if move == "mean":
        return collapsed.log_density_mean(t, line)
    if move == "scale":
        return collapsed.log_density_row_scale(t, line)
    if move == "variance":
        return collapsed.log_density_row_variance(t, line)
    return collapsed.log_density_coefficients(t, line)


def step(rng: np.random.Generator, move: str, width: float, line: collapsed.RowLine) -> float:
    if move == "mean":
        return collapsed.slice_mean(rng, line, width)
    if move == "scale":
        return collapsed.slice_row_scale(rng, line, width)
    if move == "variance":
        return collapsed.slice_row_variance(rng, line, width)
    return collapsed.slice_coefficients(rng, line, width)


@pytest.mark.parametrize("settings", [Settings(), Settings(correlations=False)])
@pytest.mark.parametrize("move", MOVES)
def test_densities_along_the_moves(move: str, settings: Settings) -> None:
    """Each is the prior in Sigma's measure times the masses the votes leave, with the Jacobian of the move."""
    example = Example(settings)
    jacobian = log_jacobian(partial(example.moved, move, T), example.here)
    expected = example.log_target(example.moved(move, T, example.here)) - example.log_target(example.here) + jacobian
    line = example.line(move, 0.0)
    assert found_density(move, T, line) - found_density(move, 0.0, line) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("move", MOVES)
def test_draws_follow_the_density_along_the_move(move: str) -> None:
    example, rng = Example(Settings()), np.random.default_rng(2)
    ends = {"mean": (-1.0, 1.0), "scale": (-5.0, 4.0), "variance": (-9.0, 9.0), "coefficients": (-30.0, 30.0)}[move]
    powers = {"scale": len(example.here) + 1, "variance": 1}  # of e^t: each is scaled once, Sigma_cc twice
    grid = np.linspace(*ends, 2000)
    with np.errstate(divide="ignore"):  # far out a mass is 0 in floats
        density = np.array([example.log_target(example.moved(move, t, example.here)) for t in grid])
    width = {"mean": 0.2, "coefficients": 3.0}.get(move, 1.0)
    draws = chain(lambda t: step(rng, move, width, example.line(move, t)))
    assert fit_of(draws, grid, density + powers.get(move, 0) * grid) > UNLIKELY


def prior_nodes(settings: Settings) -> tuple[Floats, Floats, Floats, Floats]:
    """Quadrature over the prior of one expert: its mean, its scale, its correlation with one other, and weights."""
    mu, mu_weight = np.polynomial.hermite_e.hermegauss(15)
    s, s_weight = np.polynomial.legendre.leggauss(60)
    s = 3.0 * (1.0 + s)  # from 0 to 6 standard deviations
    rho, rho_weight = roots_jacobi(60, settings.eta - 1.0, settings.eta - 1.0)
    if not settings.correlations:
        rho, rho_weight = np.zeros(1), np.ones(1)
    weight = mu_weight[:, None, None] * (s_weight * np.exp(-0.5 * s * s))[:, None] * rho_weight
    grid = np.meshgrid(settings.sigma_mu * mu, settings.sigma_sigma * s, rho, indexing="ij")
    return grid[0], grid[1], grid[2], weight


@pytest.mark.parametrize("settings", [Settings(), Settings(temperature=False), Settings(correlations=False)])
def test_collapsed_rows_leave_the_posterior_of_their_row_invariant(settings: Settings) -> None:
    """One expert's mean, scale and correlation with a classifier whose own are known, against quadrature."""
    settings = replace(settings, sigma_mu=0.4)
    prior, rng = make_prior(settings), np.random.default_rng(11)
    votes, tau, s_first = np.array([[0], [0], [1], [-1]]), 0.2 if settings.temperature else 1.0, 1.1
    z_first = rng.normal(0.2, 0.7, 4)

    mu, s, rho, weight = (part.ravel() for part in prior_nodes(settings))
    nodes, node_weight = np.polynomial.hermite_e.hermegauss(40)
    mean = mu[:, None] + (rho * s / s_first)[:, None] * z_first  # (S, n)
    z = mean[:, :, None] + (s * np.sqrt(1 - rho**2))[:, None, None] * nodes
    share = vote_probabilities(z[..., None], tau, temperature=settings.temperature)[..., 0] @ node_weight
    share /= node_weight.sum()
    weight = weight * np.where(votes[:, 0] == 0, share, np.where(votes[:, 0] == 1, 1 - share, 1.0)).prod(axis=1)
    values = np.stack([mu, np.log(s), rho], axis=1)
    expected = weight @ values / weight.sum()

    Sigma = np.diag([s_first**2, 0.5])
    latents = np.stack([z_first, np.where(votes[:, 0] == 0, 0.3, -0.3)], axis=1)
    state = State(latents, np.zeros(2), Sigma, inverse(Sigma), np.array([tau]))
    data = make_data(z_first.reshape(4, 1, 1), votes, 2)
    widths, kept = make_widths(1, 2), np.empty((20_000, 3))
    for row in kept:
        assert collapsed.collapse_row(rng, data, prior, state, 0, 0, widths, False)
        sd = np.sqrt(np.diag(state.Sigma))
        row[:] = state.mu[1], np.log(sd[1]), state.Sigma[1, 0] / sd.prod()
    assert (state.z[:, 0] == z_first).all()
    error = kept.reshape(100, -1, 3).mean(axis=1).std(axis=0) / 10 + 1e-12
    assert (np.abs(kept.mean(axis=0) - expected) < 4.5 * error).all()
