"""Several experts asked at once: the best pair by hand, votes on their way, and nobody beyond size and purse."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.batch import best_batch
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.outlook import Outlook
from quorate.core.protocols import Joint
from quorate.policy.choosers import choosers
from quorate.policy.information import InformationGain, PanelOrder, RandomOrder, information
from quorate.policy.lookahead import Lookahead
from quorate.policy.settling import TIE, SettlingChance
from quorate.policy.stopping import ErrorBelow
from quorate.policy.votes import votes_of
from tests.unit.policy.brute import CASE, enough, forecast_of, least_cost, some_mass

RNG = np.random.default_rng(0)
ONES = {f"e{h}": 1.0 for h in range(30)}
E = 0.08


def parts(mass: Floats, axes: tuple[int, ...]) -> list[Floats]:
    """The masses left by all ways in which some experts may vote, by plain loops."""
    found = []
    for votes in product(range(mass.shape[0]), repeat=len(axes)):
        index: list[int | slice] = [slice(None)] * mass.ndim
        for axis, vote in zip(axes, votes, strict=True):
            index[axis] = vote
        found.append(mass[tuple(index)])
    return found


def by_outcome(part: Floats) -> Floats:
    total: Floats = part.reshape(-1, part.shape[-1]).sum(axis=0)
    return total


def surprise(part: Floats) -> float:
    mass = by_outcome(part)
    return -sum(float(m) * math.log(m / mass.sum()) for m in mass if m > 0)


def told(mass: Floats, axes: tuple[int, ...]) -> float:
    return surprise(mass) - sum(surprise(part) for part in parts(mass, axes))


def chance(mass: Floats, axes: tuple[int, ...]) -> float:
    return sum(float(part.sum()) for part in parts(mass, axes) if part.sum() > 0 and enough(part, E))


def spent(mass: Floats, axes: tuple[int, ...], prices: list[float], toll: float) -> float:
    """What a batch and the best single experts after it cost."""
    rest = [price for axis, price in enumerate(prices) if axis not in axes]
    return sum(prices[axis] for axis in axes) + sum(least_cost(part, rest, E, toll=toll) for part in parts(mass, axes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("pending", [(), ("e1",)])
def test_what_batches_are_worth_by_hand(classes: int, pending: tuple[str, ...]) -> None:
    rng = np.random.default_rng(classes)
    for _ in range(5):
        mass = some_mass(rng, 4, classes, empty=0.2)
        prices = rng.uniform(0.5, 3.0, 4).tolist()
        costs = {f"e{h}": price for h, price in enumerate(prices)}
        seen = forecast_of(mass)
        free = tuple(name for name in seen.candidates if name not in pending)
        batches = [*combinations(free, 1), *combinations(free, 2), free]
        coming = tuple(int(name[1]) for name in pending)
        for weighed in (None, costs):
            choice = Choice(CASE, seen, free, weighed, pending)
            gains = InformationGain().together(choice, batches)
            chances = SettlingChance(ErrorBelow(E)).together(choice, batches)
            ahead = Lookahead(ErrorBelow(E), error=0.5).together(choice, batches)
            for place, batch in enumerate(batches):
                axes = (*coming, *(int(name[1]) for name in batch))
                price = sum(costs[name] for name in batch) if weighed else 1.0
                more = told(mass, axes) - told(mass, coming)
                assert gains[place] == pytest.approx(more / price, abs=1e-9)
                sooner = max(chance(mass, axes) - chance(mass, coming), 0.0)
                assert chances[place] == pytest.approx((sooner + TIE * more) / price, abs=1e-9)
                own = prices if weighed else [1.0] * 4
                paid = spent(mass, axes, own, 0.5 * float(np.mean(own))) - sum(own[axis] for axis in coming)
                assert ahead[place] == pytest.approx(-paid, abs=1e-5 * max(own))


@pytest.mark.parametrize("name", ["entropy", "stop", "lookahead"])
def test_the_pair_is_the_best_of_all_pairs(name: str) -> None:
    rng = np.random.default_rng(5)
    chooser = choosers(ErrorBelow(E))[name]
    for _ in range(10):
        seen = forecast_of(some_mass(rng, 4, 2))
        choice = Choice(CASE, seen, seen.candidates)
        found = best_batch(RNG, chooser, choice, size=2, prices=ONES)
        pairs = list(combinations(seen.candidates, 2))
        assert isinstance(chooser, Joint)
        worth = dict(zip(pairs, chooser.together(choice, pairs), strict=True))
        best = max(worth, key=lambda pair: worth[pair])
        assert set(found.experts) == set(best)
        assert found.gains[found.experts[0]] == found.gains[found.experts[1]] == worth[best]
        assert found.gains == {one: max(v for pair, v in worth.items() if one in pair) for one in seen.candidates}


def test_one_expert_with_nothing_pending_is_chosen_as_ever() -> None:
    seen = forecast_of(some_mass(np.random.default_rng(6), 4, 2))
    for chooser in choosers(ErrorBelow(E)).values():
        choice = Choice(CASE, seen, seen.candidates)
        scores = chooser.score(np.random.default_rng(1), choice)
        found = best_batch(np.random.default_rng(1), chooser, choice, prices=ONES)
        assert found.gains == scores
        assert found.experts == (max(scores, key=lambda name: scores[name]),)


def test_two_who_always_vote_alike_are_not_asked_together() -> None:
    mass = np.zeros((2, 2, 2, 2))  # e0 and e1 are one mind; e2 tells less alone
    for one, third, outcome in product(range(2), repeat=3):
        mass[one, one, third, outcome] = (0.9 if one == outcome else 0.1) * (0.8 if third == outcome else 0.2)
    seen = forecast_of(mass / mass.sum())
    told = information(seen, seen.candidates)
    assert told["e0"] == pytest.approx(told["e1"])
    assert told["e0"] > told["e2"] > 0
    for chooser in (InformationGain(), SettlingChance(ErrorBelow(0.05)), Lookahead(ErrorBelow(0.05))):
        pair = best_batch(RNG, chooser, Choice(CASE, seen, seen.candidates), size=2, prices=ONES)
        assert "e2" in pair.experts
        after = best_batch(RNG, chooser, Choice(CASE, seen, ("e1", "e2"), pending=("e0",)), prices=ONES)
        assert after.experts == ("e2",)
    assert InformationGain().together(Choice(CASE, seen, ("e1",), pending=("e0",)), [("e1",)])[0] == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["entropy", "stop", "lookahead"])
def test_whoever_always_says_the_same_joins_no_batch(name: str) -> None:
    """Sampled votes of many classes are thin: votes that tell must not look worse than one that tells nothing."""
    rng = np.random.default_rng(11)
    latent = rng.integers(0, 10, 8192)
    right = rng.random((8192, 12)) < 0.7
    votes = np.where(right, latent[:, None], rng.integers(0, 10, (8192, 12)))
    votes[:, 11] = 0
    mass = np.zeros((8192, 10))
    mass[np.arange(8192), latent] = 1 / 8192
    names = tuple(f"e{h}" for h in range(12))
    outlook = Outlook(names, votes, mass, whole=False)
    joint = {one: votes_of(outlook, [one]) for one in names}
    seen = Forecast(tuple("abcdefghij"), tuple("abcdefghij"), (0.1,) * 10, joint, names, outlook=outlook)
    chooser = choosers(ErrorBelow(0.05))[name]
    found = best_batch(rng, chooser, Choice(CASE, seen, names), size=4, prices=ONES)
    assert "e11" not in found.experts
    later = best_batch(rng, chooser, Choice(CASE, seen, names[3:], pending=names[:3]), prices=ONES)
    assert later.experts != ("e11",)


def test_a_dear_vote_is_no_better_where_pending_ones_settle_it() -> None:
    """A case that is sure already, and may only become less so."""
    mass = np.zeros((2, 2, 2, 2))
    for votes in product(range(2), repeat=3):
        mass[(*votes, 0)] = 0.97 / 8
        mass[(*votes, 1)] = (0.03 / 8) * (1 + 0.9 * (votes[1] - 0.5) + 0.9 * (votes[2] - 0.5))
    seen = forecast_of(mass / mass.sum())
    costs = {"e0": 1.0, "e1": 1.0, "e2": 50.0}
    choice = Choice(CASE, seen, ("e1", "e2"), costs, ("e0",))
    assert best_batch(RNG, SettlingChance(ErrorBelow(0.05)), choice, prices=costs).experts == ("e1",)


@pytest.mark.parametrize("name", ["entropy", "stop", "lookahead", "random", "panel"])
def test_size_and_purse_are_never_exceeded(name: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(30):
        seen = forecast_of(some_mass(rng, 4, 2))
        prices = {name: float(price) for name, price in zip(seen.candidates, rng.integers(1, 4, 4), strict=True)}
        size, left = int(rng.integers(1, 5)), float(rng.integers(3, 12))
        chooser = choosers(ErrorBelow(E))[name]
        found = best_batch(rng, chooser, Choice(CASE, seen, seen.candidates), size=size, prices=prices, left=left)
        assert 1 <= len(found.experts) == len(set(found.experts)) <= size
        assert sum(prices[one] for one in found.experts) <= left
        if sum(sorted(prices.values())[:size]) <= left and left >= sum(sorted(prices.values())[-size:]):
            assert len(found.experts) == size  # nothing keeps from asking as many as may be


def test_choosers_that_know_no_worth_together_take_the_best_alone() -> None:
    seen = forecast_of(some_mass(np.random.default_rng(9), 4, 2))
    choice = Choice(CASE, seen, ("e1", "e2", "e3"), pending=("e0",))
    assert best_batch(RNG, PanelOrder(), choice, size=2, prices=ONES).experts == ("e1", "e2")
    drawn = {
        best_batch(np.random.default_rng(s), RandomOrder(), choice, size=2, prices=ONES).experts for s in range(60)
    }
    assert len(drawn) == 6


def test_a_large_panel_is_joined_one_by_one() -> None:
    rng = np.random.default_rng(10)
    latent = rng.integers(0, 2, 4000)
    right = rng.random((4000, 26)) < np.linspace(0.55, 0.9, 26)
    votes = np.where(right, latent[:, None], 1 - latent[:, None])
    mass = np.zeros((4000, 2))
    mass[np.arange(4000), latent] = 1 / 4000
    names = tuple(f"e{h}" for h in range(26))
    outlook = Outlook(names, votes, mass, whole=False)
    joint = {name: votes_of(outlook, [name]) for name in names}
    seen = forecast_of(some_mass(rng, 2, 2))
    seen = type(seen)(seen.outcomes, seen.classes, (0.5, 0.5), joint, names, outlook=outlook)
    for chooser in (InformationGain(), SettlingChance(ErrorBelow(0.05)), Lookahead(ErrorBelow(0.05))):
        found = best_batch(rng, chooser, Choice(CASE, seen, names), size=3, prices=ONES)
        assert len(found.experts) == 3
        assert min(int(name[1:]) for name in found.experts) >= 16  # those who know
