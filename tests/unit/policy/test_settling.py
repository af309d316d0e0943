"""The chance to settle right after a vote, and what costs do to it."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.decision import Query, decide
from quorate.core.panel import Panel
from quorate.policy.choosers import WEIGHING, choosers
from quorate.policy.cost import per_cost
from quorate.policy.information import InformationGain, information
from quorate.policy.settling import TIE, SettlingChance
from quorate.policy.stopping import ErrorBelow
from tests.unit.policy.brute import CASE, after, enough, forecast_of, some_mass

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("max_error", [0.0, 0.02, 0.1, 0.3])
def test_the_chance_is_that_of_votes_after_which_the_case_settles(max_error: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        mass = some_mass(rng, 3, 3, 3, empty=0.3)
        seen = forecast_of(mass)
        found = SettlingChance(ErrorBelow(max_error)).score(RNG, Choice(CASE, seen, seen.candidates))
        told = information(seen, seen.candidates)
        for axis, name in enumerate(seen.candidates):
            chance = sum(float(part.sum()) for part in after(mass, axis) if part.sum() and enough(part, max_error))
            assert found[name] == pytest.approx(chance + TIE * told[name], abs=1e-12)


def test_where_nobody_settles_it_alone_the_one_who_tells_most_is_asked() -> None:
    seen = forecast_of(np.array([[[0.3, 0.1], [0.1, 0.1]], [[0.05, 0.1], [0.05, 0.2]]]))
    told = InformationGain().score(RNG, Choice(CASE, seen, seen.candidates))
    found = SettlingChance(ErrorBelow(0.01)).score(RNG, Choice(CASE, seen, seen.candidates))
    assert max(found.values()) < 2 * TIE
    assert max(found, key=lambda name: found[name]) == max(told, key=lambda name: told[name])


@pytest.mark.parametrize("name", WEIGHING)
def test_equal_costs_change_nothing(name: str) -> None:
    """Over random forecasts: panels where everyone costs the same are asked as if nobody had spoken of costs."""
    rng = np.random.default_rng(2)
    chooser = choosers(ErrorBelow(0.05))[name]
    for _ in range(20):
        mass = some_mass(rng, 3, 2)
        seen = forecast_of(mass)
        case = Case("c", (None,), (True,) * 3)
        found = []
        for costs in (None, [3.0, 3.0, 3.0], [1.0, 1.0, 1.0], [0.2, 0.2, 0.2]):
            panel = Panel(seen.classes, seen.candidates, costs=costs)
            found.append(decide(rng, case, panel=panel, forecast=seen, chooser=chooser, stopper=ErrorBelow(0.0)))
        assert all(step == found[0] for step in found)
        assert isinstance(found[0], Query)
        assert "per cost" not in found[0].measure


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("entropy", "nats of information per cost"),
        ("stop", "probability to settle per cost"),
        ("lookahead", "minus expected cost to settle, error left included"),
        ("random", "random numbers"),
        ("panel", "minus the place in the panel"),
    ],
)
def test_a_query_says_what_its_gains_are_in(name: str, measure: str) -> None:
    seen = forecast_of(some_mass(np.random.default_rng(3), 3, 2))
    panel = Panel(seen.classes, seen.candidates, costs={"e0": 5.0})
    case, rule = Case("c", (None,), (True,) * 3), ErrorBelow(0.0)
    chooser = choosers(rule)[name]
    step = decide(RNG, case, panel=panel, forecast=seen, chooser=chooser, stopper=rule)
    assert isinstance(step, Query)
    assert step.measure == measure
    blind = decide(RNG, case, panel=panel, forecast=seen, chooser=chooser, stopper=rule, cost_blind=True)
    assert isinstance(blind, Query)
    assert blind.measure == measure.removesuffix(" per cost").replace("cost", "votes")


def test_a_dear_expert_must_tell_as_much_more() -> None:
    worth = {"ann": 0.3, "ben": 0.1}
    assert per_cost(worth, {"ann": 2.9, "ben": 1.0})["ann"] > 0.1
    assert per_cost(worth, {"ann": 3.1, "ben": 1.0})["ann"] < 0.1


def test_whoever_costs_nothing_comes_first_by_worth() -> None:
    worth = {"ann": 9.0, "ben": 0.0, "cho": 0.1, "dee": -1e-17}
    found = per_cost(worth, {"ann": 0.001, "ben": 0.0, "cho": 0.0, "dee": 0.0})
    assert sorted(found, key=lambda name: -found[name])[0] == "cho"
    assert min(found["ben"], found["dee"]) > found["ann"]
    assert per_cost({"ben": 0.2}, {"ben": 0.0}) == {"ben": 1.2}


def test_a_blind_choice_is_told_nothing_of_costs() -> None:
    seen = forecast_of(some_mass(np.random.default_rng(4), 3, 2))
    panel = Panel(seen.classes, seen.candidates, costs=[5.0, 0.0, 1.0])
    case, rule, chooser = Case("c", (None,), (True,) * 3), ErrorBelow(0.0), InformationGain()
    steps = [
        decide(RNG, case, panel=panel, forecast=seen, chooser=chooser, stopper=rule, cost_blind=blind)
        for blind in (True, False)
    ]
    gains = [step.gains for step in steps if isinstance(step, Query)]
    assert gains[0] == chooser.score(RNG, Choice(CASE, seen, seen.candidates))
    assert gains[1] != gains[0]
