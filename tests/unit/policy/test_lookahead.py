"""The cost to settle: against plain recursion, and never above what greedy choosers cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.choice import Choice
from quorate.core.protocols import Chooser
from quorate.errors import SettingsError
from quorate.policy import lookahead, settle_costs
from quorate.policy.information import InformationGain
from quorate.policy.lookahead import Lookahead
from quorate.policy.settle_costs import costs_to_settle, pairs_of, two_votes_deep
from quorate.policy.settling import SettlingChance
from quorate.policy.stopping import ErrorBelow
from tests.unit.policy.brute import CASE, by_chooser, cost_of, forecast_of, least_cost, some_mass

SIZES = [(1, 2), (2, 2), (3, 2), (4, 2), (2, 3), (3, 3), (4, 3)]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("experts", "classes"), SIZES)
@pytest.mark.parametrize("max_error", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("toll", [0.0, 0.8])
def test_costs_are_those_of_plain_recursion(experts: int, classes: int, max_error: float, toll: float) -> None:
    rng = np.random.default_rng([experts, classes, round(100 * max_error)])
    for trial in range(4):
        outcomes = 2 + trial % 2
        mass = some_mass(rng, experts, classes, outcomes, empty=0.3 * (trial > 1))
        prices = rng.choice([0.0, 0.5, 1.0, 5.0], experts) + 0.25
        found = costs_to_settle(ErrorBelow(max_error), mass.reshape(-1, outcomes), prices, toll)
        by_hand = [least_cost(mass, prices.tolist(), max_error, first=first, toll=toll) for first in range(experts)]
        assert found == pytest.approx(by_hand, rel=1e-9)


def test_whoever_is_free_costs_nothing() -> None:
    mass = some_mass(np.random.default_rng(1), 3, 2)
    prices = np.array([0.0, 1.0, 2.0])
    found = costs_to_settle(ErrorBelow(0.05), mass.reshape(-1, 2), prices)
    assert found == pytest.approx([least_cost(mass, [0.0, 1.0, 2.0], 0.05, first=h) for h in range(3)])


def test_votes_that_nobody_casts_cost_nothing() -> None:
    mass = np.zeros((2, 2, 2))
    mass[0, 0, 0], mass[0, 1, 1] = 0.5, 0.5  # the first always votes for the first class, the second decides
    chooser = Lookahead(ErrorBelow(0.01))
    scores = chooser.score(RNG, Choice(CASE, forecast_of(mass), ("e0", "e1")))
    assert scores == pytest.approx({"e0": -2.0, "e1": -1.0}, abs=2e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_experts_in_another_order_get_the_same_scores(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact:
        monkeypatch.setattr(lookahead, "STATES", 0)
    mass = some_mass(np.random.default_rng(2), 4, 3, 3)
    price = {"e0": 1.0, "e1": 2.0, "e2": 0.0, "e3": 1.0}
    chooser, order = Lookahead(ErrorBelow(0.05)), (2, 0, 3, 1)
    turned = np.transpose(mass, [*order, 4])
    for costs in (None, price):
        one = chooser.score(RNG, Choice(CASE, forecast_of(mass), ("e0", "e1", "e2", "e3"), costs))
        two = chooser.score(RNG, Choice(CASE, forecast_of(turned, order), ("e0", "e1", "e2", "e3"), costs))
        assert one == pytest.approx(dict(two), rel=1e-9)


def test_only_candidates_are_counted_on() -> None:
    """Whoever is not worth asking is left out as if they would never vote."""
    mass = some_mass(np.random.default_rng(3), 4, 2)
    scores = Lookahead(ErrorBelow(0.05), error=0.0).score(RNG, Choice(CASE, forecast_of(mass), ("e1", "e3")))
    left = mass.sum(axis=(0, 2))
    by_hand = {f"e{h}": -least_cost(left, [1.0, 1.0], 0.05, first=axis) for axis, h in enumerate((1, 3))}
    assert scores == pytest.approx(by_hand, abs=2e-6)


@pytest.mark.parametrize("prices", [None, (1.0, 5.0, 2.0, 1.0)])
@pytest.mark.parametrize("max_error", [0.01, 0.1])
def test_nobody_settles_for_less(prices: tuple[float, ...] | None, max_error: float) -> None:
    rng, rule = np.random.default_rng(4), ErrorBelow(max_error)
    choosers: list[Chooser] = [InformationGain(), SettlingChance(rule)]
    for _ in range(6):
        mass = some_mass(rng, 4, 2)
        paid = prices or (1.0,) * 4
        least = least_cost(mass, paid, max_error)
        ahead = cost_of(mass, paid, max_error, by_chooser(Lookahead(rule, error=0.0), prices))
        assert ahead == pytest.approx(least, abs=1e-5)  # but for ties within what a tie-break is worth
        for chooser in choosers:
            assert ahead <= cost_of(mass, paid, max_error, by_chooser(chooser, prices)) + 1e-5


def test_ties_go_to_whom_tells_most_for_the_cost() -> None:
    """Nobody can settle it before all have voted, so every order costs the same."""
    mass = np.zeros((2, 2, 2))
    mass[0, 0], mass[0, 1], mass[1, 0], mass[1, 1] = (0.3, 0.01), (0.02, 0.18), (0.15, 0.05), (0.03, 0.26)
    chooser, seen = Lookahead(ErrorBelow(0.0)), forecast_of(mass)
    gains = InformationGain().score(RNG, Choice(CASE, seen, ("e0", "e1")))
    assert gains["e1"] > gains["e0"]
    scores = chooser.score(RNG, Choice(CASE, seen, ("e0", "e1")))
    assert scores["e1"] > scores["e0"]
    assert scores["e1"] - scores["e0"] <= 1e-6
    dear = chooser.score(RNG, Choice(CASE, seen, ("e0", "e1"), {"e0": 1.0, "e1": 100.0}))
    assert dear["e0"] > dear["e1"]


@pytest.mark.parametrize("experts", [1, 2])
def test_two_votes_deep_is_exact_where_there_are_no_more(experts: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        mass, prices = some_mass(rng, experts, 3, 3), rng.random(experts)
        seen = forecast_of(mass)
        assert seen.outlook is not None
        for toll in (0.0, 0.7):
            rule, ones = ErrorBelow(0.05), np.ones(experts)
            found = two_votes_deep(rule, seen.outlook, seen.candidates, prices, ones, toll)
            assert found == pytest.approx(costs_to_settle(rule, mass.reshape(-1, 3), prices, toll))


def test_two_votes_deep_by_hand() -> None:
    rng, rule = np.random.default_rng(6), ErrorBelow(0.2)
    mass, prices = some_mass(rng, 4, 2), [1.0, 2.0, 1.5, 3.0]
    seen = forecast_of(mass)
    assert seen.outlook is not None
    found = two_votes_deep(rule, seen.outlook, seen.candidates, np.array(prices), np.ones(4))
    for first in range(4):
        cost = prices[first]
        for one in (np.take(mass, vote, axis=first) for vote in range(2)):
            others = [h for h in range(4) if h != first]
            if rule.enough(one.reshape(-1, 2).sum(axis=0) / one.sum()):
                continue
            options = []
            for axis, second in enumerate(others):
                rest = min(prices[h] for h in others if h != second)
                two = [np.take(one, vote, axis=axis).reshape(-1, 2).sum(axis=0) for vote in range(2)]
                open_ = sum(float(part.sum()) for part in two if not rule.enough(part / part.sum()))
                options.append(prices[second] * float(one.sum()) + rest * open_)
            cost += min(options)
        assert found[first] == pytest.approx(cost)


def test_only_a_few_are_looked_into_and_the_others_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead, "STATES", 0)
    monkeypatch.setattr(settle_costs, "FEW", 3)
    mass = some_mass(np.random.default_rng(7), 5, 2)
    seen = forecast_of(mass)
    gains = InformationGain().score(RNG, Choice(CASE, seen, seen.candidates))
    scores = Lookahead(ErrorBelow(0.05)).score(RNG, Choice(CASE, seen, seen.candidates))
    best = max(scores, key=lambda name: scores[name])
    assert best in sorted(gains, key=lambda name: -gains[name])[:3]
    assert set(scores) == set(seen.candidates)


def test_a_sample_is_counted_like_a_table() -> None:
    mass = some_mass(np.random.default_rng(8), 3, 3, 3)
    outlook = forecast_of(mass).outlook
    assert outlook is not None
    alone, together = pairs_of(outlook, ["e2", "e0"])
    assert alone[0] == pytest.approx(mass.sum(axis=(0, 1)))
    assert together[1, 0] == pytest.approx(mass.sum(axis=1))
    assert together[0, 1] == pytest.approx(mass.sum(axis=1).transpose(1, 0, 2))


def test_a_vote_that_was_sampled_once_is_not_taken_for_certain() -> None:
    """The second expert's votes are spread so thin that each would name its outcome."""
    ways = np.array([[0, k, 0] for k in range(8)])
    mass = np.zeros((8, 2))
    mass[np.arange(8), np.arange(8) % 2] = 1 / 8
    seen = forecast_of(some_mass(np.random.default_rng(9), 3, 8))
    assert seen.outlook is not None
    outlook = type(seen.outlook)(seen.candidates, ways, mass, whole=False)
    sampled = two_votes_deep(ErrorBelow(0.05), outlook, seen.candidates, np.ones(3), np.ones(3))
    assert sampled == pytest.approx([3.0, 3.0, 3.0])


def test_without_an_outlook_it_says_what_is_missing() -> None:
    seen = replace(forecast_of(some_mass(np.random.default_rng(10), 2, 2)), outlook=None)
    with pytest.raises(SettingsError, match="needs a model that knows how all experts vote together"):
        Lookahead(ErrorBelow(0.01)).score(RNG, Choice(CASE, seen, seen.candidates))
