"""The Monte Carlo error that a forecast states against the spread over independent sets of chains."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import open_case
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.draws import Draws
from quorate.models.full.predictor import FullPredictor

PANEL = Panel(["c0", "c1"], [f"e{h}" for h in range(5)], ["m"])
TARGET = parse_target("consensus", PANEL)
SIZE = 6
MEMORY = 0.8
"""How much of a chain's state is left after one sweep: some nine sweeps are worth one independent draw."""


def walks(rng: np.random.Generator, chains: int, count: int) -> Floats:
    """Standard normal values by chain and sweep that remember the sweep before: (C, S, 2 d + 1)."""
    found = np.empty((chains, count, 2 * SIZE + 1))
    found[:, 0] = rng.standard_normal(found[:, 0].shape)
    for sweep in range(1, count):
        fresh = rng.standard_normal(found[:, 0].shape)
        found[:, sweep] = MEMORY * found[:, sweep - 1] + np.sqrt(1.0 - MEMORY**2) * fresh
    return found


def chains_of(rng: np.random.Generator, chains: int, count: int) -> Draws:
    """Chains over a posterior of means, scales and a temperature; the correlations are known."""
    value = walks(rng, chains, count)
    omega = np.broadcast_to(0.5 + 0.5 * np.eye(SIZE), (chains, count, SIZE, SIZE))
    s, tau = 0.5 * np.exp(0.4 * value[..., SIZE : 2 * SIZE]), 0.05 * np.exp(0.6 * value[..., -1])
    return Draws(0.3 * value[..., :SIZE], s, omega, tau, 2, 1, 5)


@pytest.mark.parametrize(
    ("chains", "count", "latents", "votes"),
    [
        (32, 15, 16_000, ()),
        (32, 15, 16_000, ((0, 1), (1, 1))),
        (32, 15, 1000, ((0, 0), (1, 1), (2, 0))),  # one draw a chain
        (4, 500, 16_000, ((0, 0), (1, 1), (2, 0))),
    ],
)
def test_the_stated_noise_is_the_real_one(
    chains: int, count: int, latents: int, votes: tuple[tuple[int, int], ...]
) -> None:
    case = open_case(PANEL, "case", {"m": [0.7, 0.3]})
    for expert, vote in votes:
        case = case.with_vote(expert, vote)
    errors, claimed = [], []
    for rng in np.random.default_rng(3).spawn(150):
        predictor = FullPredictor(PANEL, Settings(latents=latents), chains_of(rng, chains, count), Health())
        forecast = predictor.forecast(rng, case, TARGET)
        errors.append(forecast.error)
        claimed.append(forecast.health.monte_carlo_error or 0.0)
    real = np.std(errors)
    assert 0.002 < real < 0.05
    assert np.sqrt(np.mean(np.square(claimed))) == pytest.approx(real, rel=0.25)
