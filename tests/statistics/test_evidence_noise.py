"""The Monte Carlo error that forecasts of the shared-evidence model state, against the spread over other particles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.settings import EvidenceSettings
from quorate.core.target import parse_target
from quorate.data.table import Table
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.predictor import EvidencePredictor
from tests.statistics import simulated

LEARNED, ASKED = 40, 20
"""Cases that are learned one by one, and later ones that are forecast."""
SEEDS = 14
SETTINGS = EvidenceSettings(particles=128)


def half_of_the_votes(table: Table) -> History:
    """The cases that are learned, each vote of them cast or not by chance."""
    rng = np.random.default_rng(0)
    cases = []
    for row in range(LEARNED):
        cast = tuple((h, int(vote)) for h, vote in enumerate(table.votes[row]) if rng.random() < 0.5)
        cases.append(replace(table.case(row), votes=cast))
    return History(table.panel, tuple(cases))


def carried(seed: int, history: History) -> EvidencePredictor:
    """Particles of their own, carried case by case."""
    rng, learner, found = np.random.default_rng(seed), EvidenceLearner(SETTINGS), None
    for n in range(1, len(history) + 1):
        found = learner.update(rng, History(history.panel, history.cases[:n]), found)
    assert isinstance(found, EvidencePredictor)
    return found


def with_votes(table: Table, row: int, count: int) -> Case:
    case = table.case(row)
    for h in range(count):
        case = case.with_vote(h, int(table.votes[row, h]))
    return case


@pytest.mark.parametrize("number", [0, 1])  # two classes and five experts, three and three
def test_the_stated_noise_is_the_real_one(number: int) -> None:
    table = simulated.evidence(np.random.default_rng(7), number, LEARNED + ASKED)
    target, history = parse_target("consensus", table.panel), half_of_the_votes(table)
    found = [carried(seed, history) for seed in range(SEEDS)]
    real, claimed = [], []
    for row in range(LEARNED, LEARNED + ASKED):
        for votes in (0, 1):
            case = with_votes(table, row, votes)
            forecasts = [one.forecast(np.random.default_rng(0), case, target) for one in found]
            leader = int(np.mean([forecast.values for forecast in forecasts], axis=0).argmax())
            real.append(np.var([forecast.values[leader] for forecast in forecasts], ddof=1))
            claimed.append(np.mean([(forecast.health.monte_carlo_error or 0.0) ** 2 for forecast in forecasts]))
    spread = np.sqrt(np.mean(real))
    assert 0.001 < spread < 0.05
    assert 1 / 1.5 < np.sqrt(np.mean(claimed)) / spread < 1.5
