"""Epsilon-greedy asking and ties left to chance, by their frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.decision import Query, decide
from quorate.core.forecast import Forecast
from quorate.core.panel import Panel
from quorate.core.protocols import Chooser
from quorate.errors import SettingsError
from quorate.policy.greedy import EpsilonGreedy, TiesAtRandom
from quorate.policy.information import InformationGain, PanelOrder
from quorate.policy.stopping import ErrorBelow

PANEL = Panel(["a", "b"], ["ann", "ben", "cho", "dan"])
CASE = Case("1", (None,), (True,) * 4)
HALF = np.full((2, 2), 0.25)
TOLD = np.array([[0.4, 0.1], [0.1, 0.4]])


def forecast(accuracy: Mapping[str, float], joint: Mapping[str, Floats] | None = None) -> Forecast:
    return Forecast(("a", "b"), PANEL.classes, (0.5, 0.5), joint or {}, PANEL.experts, accuracy=accuracy)


def asked(chooser: Chooser, seen: Forecast, times: int = 2000) -> Counter[str]:
    """How often each expert is asked."""
    found: Counter[str] = Counter()
    for seed in range(times):
        rng = np.random.default_rng(seed)
        step = decide(rng, CASE, panel=PANEL, forecast=seen, chooser=chooser, stopper=ErrorBelow(0.01))
        assert isinstance(step, Query)
        found[step.expert] += 1
    return found


def test_without_exploring_the_most_accurate_is_asked() -> None:
    seen = forecast({"ann": 0.6, "ben": 0.7, "cho": 0.9, "dan": 0.8})
    assert asked(EpsilonGreedy(epsilon=0.0), seen) == {"cho": 2000}
    scores = EpsilonGreedy(epsilon=0.0).score(np.random.default_rng(0), Choice(CASE, seen, ("ann", "ben")))
    assert scores == pytest.approx({"ann": 0.6, "ben": 0.7})


def test_ties_are_broken_at_random() -> None:
    found = asked(EpsilonGreedy(epsilon=0.0), forecast({"ann": 0.6, "ben": 0.9, "cho": 0.9, "dan": 0.9}))
    assert set(found) == {"ben", "cho", "dan"}
    assert min(found.values()) > 580


def test_one_query_in_ten_goes_to_anyone() -> None:
    found = asked(EpsilonGreedy(), forecast({"ann": 1.0, "ben": 0.7, "cho": 0.9, "dan": 0.8}), times=4000)
    for name in ("ben", "cho", "dan"):
        assert found[name] / 4000 == pytest.approx(0.025, abs=0.008)


def test_epsilon_one_is_chance_alone() -> None:
    found = asked(EpsilonGreedy(epsilon=1.0), forecast({"ann": 0.9}))
    assert set(found) == set(PANEL.experts)
    assert min(found.values()) > 420


def test_an_expert_the_forecast_does_not_know_counts_as_even() -> None:
    assert asked(EpsilonGreedy(epsilon=0.0), forecast({"ann": 0.4, "ben": 0.45, "cho": 0.3}), 20) == {"dan": 20}


def test_the_same_seed_asks_the_same_expert() -> None:
    chooser, seen = EpsilonGreedy(epsilon=0.5), forecast({})
    assert asked(chooser, seen, 50) == asked(chooser, seen, 50)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_epsilon_is_a_probability(epsilon: float) -> None:
    with pytest.raises(SettingsError, match=r"epsilon .* is out of range; expected a number from 0 to 1"):
        EpsilonGreedy(epsilon=epsilon)


def test_equal_gains_are_left_to_chance_and_larger_ones_are_not() -> None:
    even = forecast({}, {"ann": HALF, "ben": TOLD, "cho": TOLD * (1 + 1e-16), "dan": TOLD})
    assert asked(InformationGain(), even, 20) == {"ben": 20}
    found = asked(TiesAtRandom(InformationGain()), even)
    assert set(found) == {"ben", "cho", "dan"}
    assert min(found.values()) > 580
    assert asked(TiesAtRandom(PanelOrder()), even, 20) == {"ann": 20}
