# ruff: noqa: N806  # the recipe's letters for matrices
from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.full.latents import gumbel_differences, interval, sweep_latents
from quorate.models.full.normal import vote_probabilities
from quorate.models.full.simplex import probabilities
from quorate.models.full.state import State, make_data, make_prior
from tests.unit.models.full.joint import inverse


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
def test_gumbel_differences_against_refusal(tempered: bool) -> None:
    rng = np.random.default_rng(7)
    z, vote, tau = np.array([0.4, -0.3]), 1, 0.2 if tempered else 1.0
    means = utilities(z, tempered=tempered) / tau
    gumbels = -np.log(rng.standard_exponential((200_000, 3)))
    won = gumbels[(means + gumbels).argmax(axis=1) == vote]
    expected = tau * (won - won[:, [vote]])
    D, scratch, drawn = np.empty(3), np.empty(3), np.empty((40_000, 3))
    for row in drawn:
        gumbel_differences(rng, z, vote, tau, tempered, D, scratch)
        row[:] = D
    for power in (1, 2):
        a, b = drawn**power, expected**power
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b)) + 1e-12
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4.5 * error).all()


CASES = [(3, 0, True, False), (3, 2, True, True), (3, 1, False, False), (2, 1, True, True), (2, 0, True, False)]


@pytest.mark.parametrize(("classes", "vote", "tempered", "missing"), CASES)
def test_the_sweep_leaves_the_latents_of_a_case_invariant(
    classes: int, vote: int, tempered: bool, missing: bool
) -> None:
    """One classifier, one voter and one who did not vote, against importance sampling from the normal."""
    rng = np.random.default_rng(classes + vote)
    block = classes - 1
    size = 3 * block
    A = rng.standard_normal((size, 2 * size))
    Sigma, mu, tau = A @ A.T / (2 * size), rng.normal(0, 0.3, size), 0.15 if tempered else 1.0
    observed = np.full(block, np.nan) if missing else np.full(block, 0.4)
    L = np.linalg.cholesky(Sigma)
    noise = rng.standard_normal((400_000, size))
    if not missing:  # noise that gives the observed log-ratios; the rest is free
        noise[:, :block] = np.linalg.solve(L[:block, :block], observed - mu[:block])
    prior_z = mu + noise @ L.T
    weight = vote_probabilities(prior_z[:, block : 2 * block], tau, temperature=tempered)[:, vote]
    weight /= weight.sum()
    mean, square = weight @ prior_z, weight @ prior_z**2
    data = make_data(observed[None, None], np.array([[vote, -1]]), classes)
    start = np.where(np.isnan(observed), 0.0, observed)
    state = State(np.concatenate([start, np.zeros(2 * block)])[None], mu, Sigma, inverse(Sigma), np.array([tau]))
    prior, kept = make_prior(Settings(temperature=tempered)), np.empty((60_000, size))
    for row in kept:
        assert sweep_latents(rng, data, prior, state)
        row[:] = state.z[0]
    for found, expected in ((kept, mean), (kept**2, square)):
        batches = found.reshape(100, -1, size).mean(axis=1)
        error = np.sqrt(batches.var(axis=0) / 100 + (weight**2).sum() * found.var(axis=0)) + 1e-12
        assert (np.abs(found.mean(axis=0) - expected) < 4.5 * error).all()


def test_a_singular_precision_is_refused() -> None:
    data = make_data(np.zeros((1, 1, 1)), np.array([[-1]]), 2)
    state = State(np.zeros((1, 2)), np.zeros(2), np.eye(2), np.zeros((2, 2)), np.ones(1))
    assert not sweep_latents(np.random.default_rng(0), data, make_prior(Settings()), state)
