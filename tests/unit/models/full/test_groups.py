"""Each group slice's density is the joint density along its move with the move's Jacobian, and its draws follow it."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.settings import Settings
from quorate.models.full import groups
from quorate.models.full.state import Data, Prior, State, make_widths, rescale
from tests.unit.models.full.joint import log_joint, log_votes, made_up
from tests.unit.models.full.line import UNLIKELY, chain, fit_of

MODELS = [Settings(), Settings(temperature=False), Settings(correlations=False)]
T = 0.3
MOVES = ["tau", "everyone", "expert", "shift"]


def copied(state: State) -> State:
    return State(*(part.copy() for part in state))


def scaled_coordinates(move: str, block: int) -> range:
    """Whose latents a move scales; of the two experts behind one classifier, the second moves alone."""
    return {"everyone": range(block, 3 * block), "expert": range(2 * block, 3 * block)}.get(move, range(0))


def moved(move: str, t: float, state: State, data: Data, prior: Prior) -> State:
    """The state after a move."""
    there, block = copied(state), data.K - 1
    for c in scaled_coordinates(move, block):
        rescale(there, c, float(np.exp(t)))
    if move in ("tau", "everyone") and prior.tempered:
        there.tau[0] *= np.exp(t)
    if move == "shift":
        there.mu[2 * block] += t
        there.z[:, 2 * block] += t
    return there


def log_density(move: str, t: float, state: State, data: Data, prior: Prior) -> float:
    """The joint density after a move, with the move's Jacobian in Sigma's own measure."""
    count, size = len(scaled_coordinates(move, data.K - 1)), len(state.mu)
    rows = count * (size + 1) if prior.correlated else 2 * count  # each entry of Sigma once for each scaled index
    temperature = int(move in ("tau", "everyone") and prior.tempered)
    jacobian = (rows + count * (len(data.votes) + 1) + temperature) * t
    return log_joint(moved(move, t, state, data, prior), data, prior) + jacobian


def found_density(move: str, t: float, state: State, data: Data, prior: Prior) -> float:
    """The kernel's density of the same move."""
    group = groups.Group(data, prior, state, 1, 0)
    if move == "tau":
        return groups.log_density_tau(t, groups.temperature_line(data, prior, state))
    if move == "everyone":
        return groups.log_density_everyone(t, group)
    return groups.log_density_expert(t, group) if move == "expert" else groups.log_density_shift(t, group)


def step(rng: np.random.Generator, move: str, width: float, state: State, data: Data, prior: Prior) -> float:
    """The kernel's slice along the same move."""
    group = groups.Group(data, prior, state, 1, 0)
    if move == "tau":
        return groups.slice_tau(rng, groups.temperature_line(data, prior, state), width)
    if move == "everyone":
        return groups.slice_everyone(rng, group, width)
    return groups.slice_expert(rng, group, width) if move == "expert" else groups.slice_shift(rng, group, width)


@pytest.mark.parametrize("settings", MODELS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("move", MOVES)
def test_densities_along_the_moves(move: str, settings: Settings, classes: int) -> None:
    data, prior, state = made_up(classes, classes=classes, classifiers=1, experts=2, n=9, settings=settings)
    if prior.tempered or move != "tau":  # without a temperature its slice is never called
        expected = log_density(move, T, state, data, prior) - log_density(move, 0.0, state, data, prior)
        found = found_density(move, T, state, data, prior) - found_density(move, 0.0, state, data, prior)
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("move", MOVES)
def test_draws_follow_the_joint_density_along_the_move(move: str, classes: int) -> None:
    data, prior, state = made_up(classes, classes=classes, classifiers=1, experts=2, n=9, settings=Settings())
    rng, width = np.random.default_rng(6), 0.2 if move == "shift" else 0.7
    grid = np.linspace(-0.8, 0.8, 1000) if move == "shift" else np.linspace(-5.0, 4.0, 2000)
    with np.errstate(divide="ignore"):  # at a small temperature some of these votes are impossible in floats
        density = np.array([log_density(move, t, state, data, prior) for t in grid])
    draws = chain(lambda t: step(rng, move, width, moved(move, t, state, data, prior), data, prior))
    assert fit_of(draws, grid, density) > UNLIKELY


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
