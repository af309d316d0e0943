"""Less noise for a decision that needs it: more sweeps, then a long fit, then nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.health import Health
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.full.learner import FullLearner
from quorate.models.full.population import POOLED
from quorate.models.full.predictor import FINER, MORE_DRAWS, FullPredictor
from tests.unit.models.full.test_learner import PANEL, history

SETTINGS = Settings(population=8, warmup=30, draws=60, extensions=0, latents=2000)


@pytest.fixture(scope="module")
def learned() -> FullPredictor:
    found = FullLearner(SETTINGS).update(np.random.default_rng(0), history(0), None)
    for n in range(1, 13):
        found = FullLearner(SETTINGS).update(np.random.default_rng(n), history(n), found)
    assert isinstance(found, FullPredictor)
    return found


def test_the_ladder(learned: FullPredictor) -> None:
    first = learned.refined()
    assert first is not None
    assert first is learned.refined()
    assert first.draws.shape == (8, POOLED + MORE_DRAWS)
    assert first.draws.last(POOLED + MORE_DRAWS).digest == first.draws.digest
    assert first.settings.latents == FINER * SETTINGS.latents
    second = first.refined()
    assert second is not None
    assert second.draws.shape == (4, FINER * SETTINGS.draws)
    assert second.refined() is None


def test_a_finer_forecast_has_less_noise(learned: FullPredictor) -> None:
    target, finer = parse_target("consensus", PANEL), learned.refined()
    assert finer is not None
    noise = {}
    for predictor in (learned, finer):
        cases = history(30).cases[20:]
        found = [predictor.forecast(np.random.default_rng(1), case, target).health for case in cases]
        noise[predictor.rung] = np.mean([health.monte_carlo_error for health in found])
    assert noise[1] < 0.8 * noise[0]


def test_nothing_is_won_by_more_of_an_unhealthy_fit(learned: FullPredictor) -> None:
    ill = FullPredictor(PANEL, SETTINGS, learned.draws, Health(("ill",)), learned.population)
    assert ill.refined() is None
    assert FullPredictor(PANEL, SETTINGS, learned.draws, Health()).refined() is None
