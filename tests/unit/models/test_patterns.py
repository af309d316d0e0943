from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import Case, open_case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.target import parse_target
from quorate.models.patterns import (
    FEWEST_BATCHES,
    Patterns,
    Sample,
    Table,
    batches,
    effective,
    forecast_from,
    interval,
    monte_carlo_error,
)

PANEL = Panel(["a", "b", "c"], ["e0", "e1", "e2"], ["m"])
TARGET = parse_target("consensus", PANEL)
CASE = open_case(PANEL, "case", {"m": [0.2, 0.3, 0.5]})


def some_table(draws: int = 40, latents: float = 1e4) -> Table:
    rng = np.random.default_rng(0)
    return Table((0, 1, 2), 3, rng.dirichlet(np.full(27, 0.3), draws), latents)


def forecast(found: Patterns, case: Case, draws: int = 40) -> Forecast:
    return forecast_from(found, case, TARGET, panel=PANEL, fit=Health(), batch=np.arange(draws))


def by_hand(table: Table, seen: dict[int, int]) -> tuple[Floats, Floats]:
    """Outcome masses by draw, and masses of each expert's vote and outcome, one pattern at a time."""
    by_draw, joint = np.zeros((len(table.mass), 3)), np.zeros((3, 3, 3))
    for place, row in enumerate(product(range(3), repeat=3)):
        if all(row[h] == k for h, k in seen.items()):
            shares = TARGET.weights(np.array([row]))[0]
            by_draw += table.mass[:, place, None] * shares
            for h in range(3):
                joint[h, row[h]] += table.mass[:, place].sum() * shares
    return by_draw, joint


@pytest.mark.parametrize("seen", [{}, {1: 2}, {2: 0, 0: 0}, {0: 0, 1: 1, 2: 2}])
def test_a_table_sums_its_patterns(seen: dict[int, int]) -> None:
    table, case = some_table(), CASE
    for expert, vote in seen.items():
        case = case.with_vote(expert, vote)
    found = table.given(case.vote_row(), case.unasked, TARGET)
    by_draw, joint = by_hand(table, seen)
    assert found.by_draw == pytest.approx(by_draw)
    assert found.joint == pytest.approx(joint[list(case.unasked)])
    assert found.latents == pytest.approx(1e4 * by_draw.sum() / 40)
    assert table.share(case.vote_row()) == pytest.approx(by_draw.sum() / 40)


def test_a_table_of_the_unasked_needs_no_votes() -> None:
    table, case = some_table(), CASE.with_vote(1, 2)
    masses = table.mass.reshape(-1, 3, 3, 3)[:, :, 2].reshape(-1, 9)
    rest = Table((0, 2), 3, 7.0 * masses, 500.0)  # any common factor
    one, two = (forecast(each, case) for each in (table, rest))
    assert one.values == pytest.approx(two.values)
    assert one.health.monte_carlo_error == pytest.approx(two.health.monte_carlo_error)
    assert rest.given(case.vote_row(), case.unasked, TARGET).latents == 500.0


def test_a_sample_of_every_pattern_is_the_table() -> None:
    table, case = some_table(), CASE.with_vote(0, 1)
    rest = table.mass.reshape(-1, 3, 9)[:, 1]
    votes = np.array(list(product(range(3), repeat=2)))[None].repeat(40, axis=0)
    sample = Sample(3, 9.0 * rest, votes, 800.0)
    one, two = (each.given(case.vote_row(), case.unasked, TARGET) for each in (table, sample))
    assert two.by_draw == pytest.approx(one.by_draw)
    assert two.joint == pytest.approx(one.joint)
    assert two.latents == 800.0
    assert two.possible.all()


def test_the_outlook_holds_every_way_to_vote() -> None:
    table, case = some_table(), CASE.with_vote(1, 2)
    stated = forecast(table, case)
    outlook = stated.outlook
    assert outlook is not None
    assert outlook.whole
    assert (outlook.experts, outlook.classes) == (("e0", "e2"), 3)
    assert outlook.votes.tolist() == [list(way) for way in product(range(3), repeat=2)]
    assert outlook.mass.sum() == pytest.approx(1.0)
    assert outlook.mass.sum(axis=0) == pytest.approx(stated.values)
    for way, mass in zip(outlook.votes, outlook.mass, strict=True):
        by_draw, _ = by_hand(table, {0: int(way[0]), 1: 2, 2: int(way[1])})
        assert mass == pytest.approx(by_draw.sum(axis=0) / by_hand(table, {1: 2})[0].sum())
    for expert in outlook.experts:
        assert outlook.among((expert,)) == pytest.approx(stated.joint[expert])
    turned = outlook.among(("e2", "e0")).reshape(3, 3, 3)
    assert turned == pytest.approx(outlook.mass.reshape(3, 3, 3).transpose(1, 0, 2))


def test_the_outlook_of_a_sample_is_its_rows() -> None:
    votes = np.random.default_rng(2).integers(3, size=(40, 5, 2))
    stated = forecast(Sample(3, np.full((40, 5), 0.2), votes, 800.0), CASE.with_vote(0, 1))
    outlook = stated.outlook
    assert outlook is not None
    assert not outlook.whole
    assert outlook.votes.tolist() == votes.reshape(200, 2).tolist()
    assert outlook.mass.sum(axis=0) == pytest.approx(stated.values)
    assert outlook.mass.sum(axis=1) == pytest.approx(np.full(200, 1 / 200))


def test_few_draws_or_latents_make_a_forecast_unhealthy() -> None:
    assert forecast(some_table(), CASE).health.healthy
    lone = some_table()
    mass = lone.mass * np.where(np.arange(40) < 3, 1.0, 1e-6)[:, None]
    [reason] = forecast(replace(lone, mass=mass), CASE).health.reasons
    assert reason == "the votes seen leave 3 effective draws, fewer than 25"
    [reason] = forecast(some_table(latents=150.0), CASE).health.reasons
    assert reason == "the votes seen leave 150 effective latents, fewer than 200"


def test_votes_that_no_draw_explains() -> None:
    certain = Table((0, 1, 2), 3, np.eye(27)[:1].repeat(40, axis=0), 1e4)  # all vote for the first class
    stated = forecast(certain, CASE.with_vote(0, 2))
    assert stated.values == pytest.approx([1 / 3] * 3)
    assert stated.health.reasons == ("no posterior draw explains the votes seen",)
    assert stated.health.monte_carlo_error == 1.0
    assert stated.outlook is not None
    assert stated.outlook.mass == pytest.approx(np.full((9, 3), 1 / 27))


def test_votes_that_decide_need_no_draws() -> None:
    stated = forecast(some_table(latents=1.0), CASE.with_vote(0, 2).with_vote(1, 2))
    assert stated.certain
    assert stated.values == (0.0, 0.0, 1.0)
    assert stated.health == Health(monte_carlo_error=0.0)


@pytest.mark.parametrize("chains", [1, 2, 3, 4, 7])
def test_few_chains_are_cut_into_batches_of_neighbours(chains: int) -> None:
    chain = np.repeat(np.arange(chains), 100)
    batch = batches(chain)
    assert len(np.unique(batch)) >= FEWEST_BATCHES
    assert (np.diff(batch) >= 0).all()
    assert all(len(np.unique(chain[batch == number])) == 1 for number in range(batch.max() + 1))
    assert np.ptp(np.bincount(batch)) <= 1


def test_many_chains_are_their_own_batches() -> None:
    chain = np.repeat(np.arange(32), 15)
    assert batches(chain).tolist() == chain.tolist()


def test_chains_with_fewer_draws_than_pieces() -> None:
    assert batches(np.array([0, 0, 0, 1, 1])).tolist() == [0, 1, 2, 3, 4]


def test_effective_numbers() -> None:
    assert effective(np.full((4, 5), 0.1)) == pytest.approx(20.0)
    assert effective(np.array([1.0, 0.5, 0.5])) == pytest.approx(4 / 1.5)
    assert effective(np.zeros(3)) == 0.0


def test_the_monte_carlo_error_is_that_of_a_ratio() -> None:
    """Against resampling whole chains."""
    rng = np.random.default_rng(1)
    weight = rng.gamma(3.0, size=(32, 1)) * rng.gamma(3.0, size=(32, 10))
    p = np.clip(rng.normal(0.1, 0.03, (32, 1)) + rng.normal(0.0, 0.03, (32, 10)), 0.0, 1.0)
    by_draw = np.stack([weight * p, weight * (1 - p)], axis=-1).reshape(320, 2)
    stated = monte_carlo_error(by_draw, np.repeat(np.arange(32), 10))
    again = []
    for _ in range(2000):
        picked = rng.integers(32, size=32)
        again.append((weight * p)[picked].sum() / weight[picked].sum())
    assert stated == pytest.approx(np.std(again), rel=0.1)


def test_one_batch_says_nothing_about_noise() -> None:
    assert monte_carlo_error(np.array([[0.2, 0.8]]), np.zeros(1, dtype=np.int64)) == 1.0


def test_the_interval_weighs_draws_by_the_votes() -> None:
    by_draw = np.array([[0.0, 0.0], [1e-9, 9e-9], [0.4, 0.1], [0.2, 0.8]])
    assert interval(by_draw, 0) == pytest.approx((0.2, 0.8))
