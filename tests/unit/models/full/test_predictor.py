from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import Case, open_case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.draws import Draws
from quorate.models.full import predictor as module
from quorate.models.full.normal import lkj
from quorate.models.full.predictor import LATENTS_A_DRAW, FullPredictor
from quorate.models.full.tables import Answer, Posterior, answer
from quorate.models.full.walk import Question
from quorate.models.patterns import Sample, Table


def panel_of(classes: int, experts: int, classifiers: int = 1) -> Panel:
    return Panel(
        [f"c{k}" for k in range(classes)], [f"e{h}" for h in range(experts)], [f"m{m}" for m in range(classifiers)]
    )


def agreeing(panel: Panel, *, chains: int = 4, count: int = 30, tau: float = 0.05) -> Draws:
    """Draws of a panel whose agents mostly agree."""
    rng = np.random.default_rng(7)
    classes, agents = len(panel.classes), len(panel.classifiers) + len(panel.experts)
    block, total = classes - 1, chains * count
    size = agents * block
    omega = 0.6 * np.kron(np.ones((agents, agents)), 0.5 + 0.5 * np.eye(block)) + 0.4 * lkj(rng, size, 1.0, total)
    shape = (chains, count)
    return Draws(
        rng.normal(0.0, 0.1, (*shape, size)),
        rng.uniform(0.8, 1.2, (*shape, size)),
        omega.reshape(*shape, size, size),
        np.full(shape, tau),
        classes,
        len(panel.classifiers),
        len(panel.experts),
    )


def predictor_of(panel: Panel, draws: Draws | None = None, **settings: float) -> FullPredictor:
    drawn = agreeing(panel) if draws is None else draws
    return FullPredictor(
        panel, Settings(latents=4000).changed({k: str(v) for k, v in settings.items()}), drawn, Health()
    )


def voted(case: Case, *votes: tuple[int, int]) -> Case:
    for expert, vote in votes:
        case = case.with_vote(expert, vote)
    return case


def stated(predictor: FullPredictor, case: Case, seed: int = 1) -> Forecast:
    return predictor.forecast(np.random.default_rng(seed), case, parse_target("consensus", predictor.panel))


def same(one: Forecast, other: Forecast) -> bool:
    return one == other and all(np.array_equal(one.joint[name], other.joint[name]) for name in one.joint)


SMALL, LARGE = panel_of(2, 5), panel_of(4, 8)
SURE = {"m0": [0.95, 0.05]}


@pytest.mark.parametrize("panel", [SMALL, LARGE])
def test_the_same_generator_gives_the_same_forecast(panel: Panel) -> None:
    """Whatever was asked before: with and without the table of the case, with other votes in between."""
    start = open_case(panel, "case", {"m0": [0.6] + [0.4 / (len(panel.classes) - 1)] * (len(panel.classes) - 1)})
    rows = [start, voted(start, (0, 1)), voted(start, (0, 1), (3, 0)), voted(start, (0, 0), (1, 0))]
    fresh = [stated(predictor_of(panel), case) for case in rows]
    for order in list(permutations(range(4)))[::5]:
        used = predictor_of(panel)
        for place in (*order, *order):
            assert same(stated(used, rows[place]), fresh[place])
    assert not same(stated(predictor_of(panel), rows[1], seed=2), fresh[1])


def test_a_small_panel_has_one_table_until_the_votes_are_surprising() -> None:
    predictor, case = predictor_of(SMALL), open_case(SMALL, "case", SURE)
    first = predictor.patterns(np.random.default_rng(1), case)
    assert isinstance(first, Table)
    assert first.experts == (0, 1, 2, 3, 4)
    usual, surprising = voted(case, (2, 0)), voted(case, (2, 1), (4, 1))
    assert predictor.patterns(np.random.default_rng(1), usual) is first
    anew = predictor.patterns(np.random.default_rng(1), surprising)
    assert isinstance(anew, Table)
    assert anew.experts == (0, 1, 3)
    assert predictor.patterns(np.random.default_rng(1), case) is first
    assert predictor.patterns(np.random.default_rng(1), surprising) is anew
    shares = [
        each.given(surprising.vote_row(), surprising.unasked, parse_target("any:c1", SMALL)) for each in (first, anew)
    ]
    assert shares[0].latents < 0.25 * 3960 < shares[1].latents


def test_a_large_panel_is_sampled_until_few_are_left() -> None:
    predictor, case = predictor_of(LARGE), open_case(LARGE, "case", {"m0": [0.4, 0.2, 0.2, 0.2]})
    assert isinstance(predictor.patterns(np.random.default_rng(1), case), Sample)
    two = voted(case, (0, 0), (1, 0))
    rest = predictor.patterns(np.random.default_rng(1), two)
    assert isinstance(rest, Table)
    assert rest.experts == (2, 3, 4, 5, 6, 7)


def test_only_the_last_case_is_kept() -> None:
    predictor = predictor_of(SMALL)
    for number in range(3):
        stated(predictor, voted(open_case(SMALL, "case", SURE), (0, 1)), seed=number)
    assert len(predictor._tables) == 1
    assert all(len(memo.found) == 2 for memo in predictor._tables.values())


def test_both_ways_agree_on_surprising_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(3, 4)
    predictor = predictor_of(panel, latents=400_000)
    case = voted(open_case(panel, "case", {"m0": [0.6, 0.2, 0.2]}), (1, 2), (3, 0))
    anew = stated(predictor, case)
    monkeypatch.setattr(module, "SURPRISING", 0.0)
    tabled = stated(predictor_of(panel, latents=400_000), case)
    assert anew.values == pytest.approx(tabled.values, abs=0.005)
    for name in anew.joint:
        assert anew.joint[name] == pytest.approx(tabled.joint[name], abs=0.005)


def test_more_latents_where_the_votes_leave_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(rng: np.random.Generator, question: Question, draws: Posterior, *, repeats: int) -> Answer:
        asked.append(repeats)
        return answer(rng, question, draws, repeats=repeats)

    monkeypatch.setattr(module, "answer", counting)
    predictor = predictor_of(LARGE)
    case = open_case(LARGE, "case", {"m0": [0.97, 0.01, 0.01, 0.01]})
    stated(predictor, case)
    assert asked == [33]
    stated(predictor, voted(case, (0, 1), (1, 2), (2, 3), (3, 1), (4, 2), (5, 3)))
    assert asked == [33, 33, 4 * 33]


def test_an_absent_expert_and_a_missing_classifier_are_as_if_never_there() -> None:
    whole, part = panel_of(3, 3, 2), Panel(["c0", "c1", "c2"], ["e0", "e2"], ["m1"])
    draws = agreeing(whole)
    keep = [2, 3, 4, 5, 8, 9]  # blocks of m1, e0 and e2
    fewer = Draws(draws.mu[..., keep], draws.s[..., keep], draws.omega[..., keep, :][..., keep], draws.tau, 3, 1, 2)
    given = {"m1": [0.5, 0.3, 0.2]}
    one = stated(predictor_of(whole, draws), voted(open_case(whole, "case", given, ["e0", "e2"]), (2, 1)))
    two = stated(predictor_of(part, fewer), voted(open_case(part, "case", given), (1, 1)))
    assert one.values == pytest.approx(two.values, abs=1e-12)
    assert set(one.joint) == set(two.joint) == {"e0"}
    assert one.joint["e0"] == pytest.approx(two.joint["e0"], abs=1e-12)


def test_without_any_classifier_only_the_votes_tell() -> None:
    case = open_case(SMALL, "case", {})
    even = stated(predictor_of(SMALL, latents=40_000), case)
    assert even.values == pytest.approx([0.5, 0.5], abs=0.1)  # the means are near 0
    assert stated(predictor_of(SMALL), voted(case, (0, 1), (1, 1))).outcome == "c1"


def test_without_a_temperature_votes_follow_the_latents() -> None:
    case, draws = open_case(SMALL, "case", SURE), agreeing(SMALL, tau=1.0)
    plain, vague = predictor_of(SMALL, draws, temperature=False), predictor_of(SMALL, draws)
    assert stated(plain, case).error < stated(vague, case).error - 0.05  # softmax(theta) is flatter than theta


@pytest.mark.parametrize(("chains", "count", "batches"), [(32, 15, 32), (4, 500, 16), (2, 4, 8)])
def test_draws_are_taken_from_all_chains(chains: int, count: int, batches: int) -> None:
    predictor = predictor_of(SMALL, agreeing(SMALL, chains=chains, count=count), latents=16_000)
    taken = np.bincount(predictor._batch)
    assert taken.sum() == min(chains * count, 16_000 // LATENTS_A_DRAW)
    assert len(taken) == batches
    assert np.ptp(taken) <= 1
    assert 0 < (stated(predictor, open_case(SMALL, "case", SURE)).health.monte_carlo_error or 0) < 0.1


def test_when_all_have_voted_nothing_is_left_to_forecast() -> None:
    case = voted(open_case(SMALL, "case", SURE), *((h, h % 2) for h in range(5)))
    done = stated(predictor_of(SMALL), case)
    assert done.certain
    assert done.values == (1.0, 0.0)
    assert done.joint == {}


def marginals(forecast: Forecast) -> Floats:
    return np.array([list(votes.values()) for votes in forecast.votes.values()])


def test_the_order_of_the_votes_is_only_noise() -> None:
    predictor = predictor_of(LARGE, latents=100_000)
    case = open_case(LARGE, "case", {"m0": [0.4, 0.2, 0.2, 0.2]})
    one, two = (
        stated(predictor, voted(case, *votes))
        for votes in permutations(((0, 1), (5, 2), (6, 1)), 3)
        if votes[0][1] == 1 and votes[1][1] == 2
    )
    assert one.values == pytest.approx(two.values, abs=0.01)
    assert marginals(one) == pytest.approx(marginals(two), abs=0.01)
