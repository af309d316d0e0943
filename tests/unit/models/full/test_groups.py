"""Each group slice's density is the joint density along its move, times the move's Jacobian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from quorate.core.settings import Settings
from quorate.models.full import groups
from quorate.models.full.state import Data, Prior, State, make_widths, rescale
from tests.unit.models.full.joint import log_joint, log_votes, made_up

MODELS = [Settings(), Settings(temperature=False), Settings(correlations=False)]
T = 0.3


def copied(state: State) -> State:
    return State(*(part.copy() for part in state))


def scaled(state: State, coordinates: range, *, with_tau: bool) -> State:
    moved = copied(state)
    for c in coordinates:
        rescale(moved, c, float(np.exp(T)))
    moved.tau[0] *= np.exp(T) if with_tau else 1.0
    return moved


def gain(density: Callable[[float, groups.Group], float], group: groups.Group) -> float:
    return density(T, group) - density(0.0, group)


def jacobian(data: Data, prior: Prior, count: int) -> float:
    """Log Jacobian of scaling `count` coordinates' latents, means and rows of Sigma by e^T, in Sigma's own measure."""
    size = data.patterns.shape[1] * (data.K - 1)
    rows = count * (size + 1) if prior.correlated else 2 * count  # each entry of Sigma once for each scaled index
    return (rows + count * (len(data.votes) + 1)) * T


@pytest.mark.parametrize("settings", MODELS)
@pytest.mark.parametrize("classes", [2, 4])
def test_densities_along_the_moves(settings: Settings, classes: int) -> None:
    data, prior, state = made_up(classes, classes=classes, classifiers=1, experts=2, n=9, settings=settings)
    block = classes - 1
    here = log_joint(state, data, prior)
    whole, one = range(block, 3 * block), range(2 * block, 3 * block)
    if prior.tempered:
        moved = copied(state)
        moved.tau[0] *= np.exp(T)
        expected = log_joint(moved, data, prior) - here + T
        assert gain(groups.log_density_tau, groups.Group(data, prior, state, 0, 0)) == pytest.approx(expected)
    expected = log_joint(scaled(state, whole, with_tau=prior.tempered), data, prior) - here
    expected += jacobian(data, prior, len(whole)) + T * prior.tempered
    found = gain(groups.log_density_everyone, groups.Group(data, prior, state, 0, 0))
    assert found == pytest.approx(expected, abs=1e-6)
    expected = log_joint(scaled(state, one, with_tau=False), data, prior) - here + jacobian(data, prior, len(one))
    assert gain(groups.log_density_expert, groups.Group(data, prior, state, 1, 0)) == pytest.approx(expected, abs=1e-6)
    moved = copied(state)
    moved.mu[2 * block] += T
    moved.z[:, 2 * block] += T
    expected = log_joint(moved, data, prior) - here
    assert gain(groups.log_density_shift, groups.Group(data, prior, state, 1, 0)) == pytest.approx(expected, abs=1e-6)


def test_votes_that_are_all_but_impossible_keep_a_finite_density() -> None:
    data, prior, state = made_up(3, classes=3, classifiers=1, experts=2, n=9, settings=Settings(), missing=0.0)
    for expert in range(2):
        assert np.isfinite(groups.log_votes(groups.Group(data, prior, state, 0, 0), expert, 1.0, -1, 0.0, 1e-5))
    both = sum(groups.log_votes(groups.Group(data, prior, state, 0, 0), h, 1.0, -1, 0.0, 0.3) for h in range(2))
    assert both == pytest.approx(log_votes(state.z, 0.3, data, prior))


def test_moves_keep_sigma_and_its_inverse_together_and_leave_classifiers_alone() -> None:
    data, prior, state = made_up(5, classes=3, classifiers=1, experts=2, n=9, settings=Settings())
    before = copied(state)
    widths = make_widths(2, 6)
    groups.move_groups(np.random.default_rng(0), data, prior, state, widths, True)
    assert state.Sigma @ state.Q == pytest.approx(np.eye(6), abs=1e-6)
    assert (state.z[:, :2] == before.z[:, :2]).all()
    assert (state.z[:, 2:] != before.z[:, 2:]).all()
    assert widths.tau[0] != 1.0
    settled = make_widths(2, 6)
    groups.move_groups(np.random.default_rng(0), data, prior, state, settled, False)
    assert settled.tau[0] == 1.0
    assert (settled.expert == 1.0).all()
