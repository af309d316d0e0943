# the recipe's letters for matrices
from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full.latents import gumbel_differences, interval, sweep_latents
from quorate.models.full.normal import vote_probabilities
from quorate.models.full.simplex import probabilities
from quorate.models.full.state import State, make_data, make_prior
from tests.unit.models.full.joint import inverse
from tests.unit.models.full.line import UNLIKELY, fit_to


def utilities(z: Floats, *, tempered: bool) -> Floats:
    """What is compared once D is known: theta, or the log-ratios with a 0 for the last class."""
    return probabilities(z) if tempered else np.concatenate([z, np.zeros((*z.shape[:-1], 1))], axis=-1)


@pytest.mark.parametrize("tempered", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_interval_is_where_the_vote_wins(classes: int, tempered: bool) -> None:
    rng = np.random.default_rng(classes)
    held = 0
    for _ in range(300):
        z = rng.normal(0.0, 1.5, classes - 1)
        vote, c = int(rng.integers(classes)), int(rng.integers(classes - 1))
        D, scratch = np.empty(classes), np.empty(classes)
        gumbel_differences(rng, z, vote, rng.choice([0.02, 0.3]) if tempered else 1.0, tempered, D, scratch)
        low, high = interval(z, c, vote, D, tempered)
        assert low - 1e-9 <= z[c] <= high + 1e-9
        grid = np.repeat(z[None], 400, axis=0)
        grid[:, c] = np.linspace(-6.0, 6.0, 400)
        values = utilities(grid, tempered=tempered)
        wins = (values[:, [vote]] - values >= D).all(axis=1)
        inside = (grid[:, c] >= low) & (grid[:, c] <= high)
        edge = np.minimum(np.abs(grid[:, c] - low), np.abs(grid[:, c] - high)) < 1e-7
        assert (wins == inside)[~edge].all()
        held += int(inside.any())
    assert held > 200


@pytest.mark.parametrize("tempered", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_gumbel_differences_follow_the_logistic_distribution_cut_off_where_the_vote_wins(
    classes: int, tempered: bool
) -> None:
    """Differences x of Gumbels from one of them have the joint distribution function 1 / (1 + sum exp(-x))."""
    rng = np.random.default_rng(7)
    z, vote, tau = np.array([0.4, -0.3])[: classes - 1], 1, 0.2 if tempered else 1.0
    own = utilities(z, tempered=tempered) / tau
    others = [k for k in range(classes) if k != vote]
    ends = own[vote] - own[others]  # the vote wins where every other Gumbel is above its own by less
    D, scratch, drawn = np.empty(classes), np.empty(classes), np.empty((5000, classes))
    for row in drawn:
        gumbel_differences(rng, z, vote, tau, tempered, D, scratch)
        row[:] = D
    assert (drawn[:, vote] == 0.0).all()

    for at, other in enumerate(others):
        x, rest = ends[at] - np.geomspace(40.0, 1e-6, 5000), 1.0 + np.exp(-np.delete(ends, at)).sum()
        below = (rest + np.exp(-ends[at])) / (rest + np.exp(-x))
        assert fit_to(drawn[:, other], tau * x, below) > UNLIKELY


LATTICE = np.array([0.7548776662466927, 0.5698402909980532])
"""Steps whose multiples fill the unit square evenly."""
CASES = [(3, 0, True, False), (3, 2, True, True), (3, 1, False, False), (2, 1, True, True), (2, 0, True, False)]


@pytest.mark.parametrize(("classes", "vote", "tempered", "missing"), CASES)
def test_the_sweep_draws_from_the_latents_of_a_case(classes: int, vote: int, tempered: bool, missing: bool) -> None:
    """One classifier, one voter and one who did not vote, against quadrature over the voter's latents."""
    rng = np.random.default_rng(classes + vote)
    block = classes - 1
    size = 3 * block
    A = rng.standard_normal((size, 2 * size))
    Sigma, mu, tau = A @ A.T / (2 * size), rng.normal(0, 0.3, size), 0.15 if tempered else 1.0
    observed = np.full(block, np.nan) if missing else np.full(block, 0.4)
    known = [] if missing else list(range(block))
    voter = list(range(block, 2 * block))
    mean, cov = conditional(mu, Sigma, known, voter, observed[: len(known)])
    noise = ndtri((np.arange(8000)[:, None] + 0.5) * LATTICE[:block] % 1.0)
    z = mean + noise @ np.linalg.cholesky(cov).T
    weight = vote_probabilities(z, tau, temperature=tempered)[:, vote]
    weight /= weight.sum()

    data = make_data(observed[None, None], np.array([[vote, -1]]), classes)
    start = np.where(np.isnan(observed), 0.0, observed)
    state = State(np.concatenate([start, np.zeros(2 * block)])[None], mu, Sigma, inverse(Sigma), np.array([tau]))
    prior, kept = make_prior(Settings(temperature=tempered)), np.empty((2500, size))
    for row in kept:
        for _ in range(10):
            assert sweep_latents(rng, data, prior, state)
        row[:] = state.z[0]
    for c in range(size):
        if c in voter:
            order = np.argsort(z[:, c - block])
            below = np.cumsum(weight[order])
            assert fit_to(kept[:, c], z[order, c - block], below) > UNLIKELY
        elif c in known:
            assert (kept[:, c] == observed[c]).all()
        else:
            given = known + voter
            seen = np.concatenate([np.tile(observed[: len(known)], (len(z), 1)), z], axis=1)
            gain = np.linalg.solve(Sigma[np.ix_(given, given)], Sigma[given, c])
            centre, sd = mu[c] + (seen - mu[given]) @ gain, np.sqrt(Sigma[c, c] - gain @ Sigma[given, c])
            points = np.linspace(-6.0, 6.0, 100)
            below = ndtr((points[:, None] - centre) / sd) @ weight
            assert fit_to(kept[:, c], points, below) > UNLIKELY


def conditional(mu: Floats, Sigma: Floats, known: list[int], rest: list[int], values: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of some coordinates of a normal given others."""
    gain = np.linalg.solve(Sigma[np.ix_(known, known)], Sigma[np.ix_(known, rest)]).T
    return mu[rest] + gain @ (values - mu[known]), Sigma[np.ix_(rest, rest)] - gain @ Sigma[np.ix_(known, rest)]


def test_a_singular_precision_is_refused() -> None:
    data = make_data(np.zeros((1, 1, 1)), np.array([[-1]]), 2)
    state = State(np.zeros((1, 2)), np.zeros(2), np.eye(2), np.zeros((2, 2)), np.ones(1))
    assert not sweep_latents(np.random.default_rng(0), data, make_prior(Settings()), state)
