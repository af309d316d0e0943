"""The one step every method shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.decision import Decision, Query, Settle, decide
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.policy.information import InformationGain, PanelOrder, RandomOrder, entropy, expected_entropy
from quorate.policy.stopping import ErrorBelow, VotesSeen

PANEL = Panel(["a", "b"], ["ann", "ben"])
CASE = Case("c", (None,), (True, True))
SURE = Forecast(
    outcomes=("a", "b"),
    classes=("a", "b"),
    values=(0.995, 0.005),
    joint={"ann": np.array([[0.5, 0.0], [0.495, 0.005]]), "ben": np.array([[0.995, 0.0], [0.0, 0.005]])},
    candidates=("ann", "ben"),
)


def step(forecast: Forecast, max_error: float) -> Decision:
    rng = np.random.default_rng(0)
    chooser, stopper = InformationGain(), ErrorBelow(max_error)
    return decide(rng, CASE, panel=PANEL, forecast=forecast, chooser=chooser, stopper=stopper)


def test_sure_enough_settles_and_unsure_asks_whose_vote_tells_most() -> None:
    settled = step(SURE, 0.01)
    assert isinstance(settled, Settle)
    assert settled.reason == "sure"
    asked = step(SURE, 0.001)
    assert isinstance(asked, Query)
    assert (asked.expert, asked.reason) == ("ben", "unsure")
    assert asked.gains["ben"] > asked.gains["ann"] >= 0


def test_an_unhealthy_forecast_never_settles_while_anyone_is_left() -> None:
    ill = replace(SURE, health=Health(reasons=("R-hat 1.4 of tau is above 1.05",)))
    asked = step(ill, 0.01)
    assert isinstance(asked, Query)
    assert asked.reason == "unhealthy"
    alone = step(replace(ill, candidates=()), 0.01)
    assert isinstance(alone, Settle)
    assert alone.reason == "nobody left"


@pytest.mark.parametrize(
    ("error", "noise", "settles"),
    [
        (0.005, 0.0025, True),  # a quarter of what is allowed
        (0.005, 0.003, False),  # more, and two of it reach the threshold
        (0.003, 0.003, True),  # more, but the threshold is far
        (0.0099, 0.0024, True),
    ],
)
def test_near_the_threshold_a_noisy_forecast_does_not_settle(error: float, noise: float, settles: bool) -> None:
    noisy = replace(SURE, values=(1 - error, error), health=Health(monte_carlo_error=noise))
    found = step(noisy, 0.01)
    assert isinstance(found, Settle if settles else Query)
    if isinstance(found, Query):
        assert found.reason == "unhealthy"
        assert found.forecast.health.reasons[0].startswith("the Monte Carlo error 0.003 of the stated error 0.005")


def test_certainty_settles_whatever_the_health() -> None:
    certain = replace(SURE, certain=True, values=(1.0, 0.0), health=Health(reasons=("ill",)))
    settled = step(certain, 0.0)
    assert isinstance(settled, Settle)
    assert settled.reason == "certain"


def test_equal_gains_ask_in_panel_order() -> None:
    joint = np.full((2, 2), 0.25)
    even = replace(SURE, values=(0.5, 0.5), joint={"ann": joint, "ben": joint})
    asked = step(even, 0.01)
    assert isinstance(asked, Query)
    assert asked.expert == "ann"


def test_orders_and_counts_without_a_model() -> None:
    rng = np.random.default_rng(0)
    assert PanelOrder().score(rng, Choice(CASE, SURE, PANEL.experts)) == {"ann": 0.0, "ben": -1.0}
    firsts = {
        max(s := RandomOrder().score(rng, Choice(CASE, SURE, PANEL.experts)), key=lambda name: s[name])
        for _ in range(40)
    }
    assert firsts == {"ann", "ben"}
    assert not VotesSeen(1).settled(CASE, SURE)
    assert VotesSeen(0).settled(CASE, SURE)
    assert not VotesSeen(None).settled(CASE.with_vote(0, 0).with_vote(1, 0), SURE)


def test_expected_entropy_by_hand() -> None:
    joint = np.array([[0.3, 0.1], [0.2, 0.4]])
    by_hand = 0.4 * float(entropy(np.array([0.75, 0.25]))) + 0.6 * float(entropy(np.array([1 / 3, 2 / 3])))
    assert abs(expected_entropy(joint) - by_hand) < 1e-15
    assert expected_entropy(np.array([[0.0, 0.0], [0.5, 0.5]])) == float(entropy(np.array([0.5, 0.5])))
