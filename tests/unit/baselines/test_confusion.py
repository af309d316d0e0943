"""Confusion matrices and calibration: counts by hand, temperatures, and what one more vote is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from quorate.assembly import Options
from quorate.baselines.calibration import fit_temperature, log_tempered
from quorate.baselines.confusion import (
    ConfusionLearner,
    ConfusionOptions,
    ConfusionPredictor,
    confusion_matrices,
)
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.target import parse_target
from quorate.data.synthetic import simulate
from quorate.data.table import read_table
from quorate.errors import SettingsError
from quorate.experiments.replay import replay
from quorate.policy.information import entropy, expected_entropy

PANEL = Panel(["a", "b", "c"], ["ann", "ben", "cho"], ["net"])
TARGET = parse_target("consensus", PANEL)
LEARNER = ConfusionLearner(TARGET)
PRIOR = np.where(np.eye(3, dtype=bool), 0.6, 0.1)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def case(votes: dict[int, int], p: tuple[float, ...] | None = (0.7, 0.2, 0.1)) -> Case:
    return Case(str(sorted(votes.items())), (p,), (True,) * 3, tuple(votes.items()))


def learned(*votes: dict[int, int]) -> ConfusionPredictor:
    return LEARNER.update(rng(), History(PANEL, tuple(map(case, votes))), None)


def random_predictor(seed: int) -> ConfusionPredictor:
    draw = np.random.default_rng(seed)
    return ConfusionPredictor(PANEL, draw.dirichlet(np.ones(3), size=(3, 3)).transpose(0, 2, 1), draw.gamma(2.0))


def test_an_expert_nobody_has_seen_is_right_three_times_of_four() -> None:
    start = learned()
    assert start.matrices == pytest.approx(np.tile(PRIOR / 0.8, (3, 1, 1)))
    assert np.diagonal(start.matrices, axis1=1, axis2=2) == pytest.approx(np.full((3, 3), 0.75))
    assert start.temperature == pytest.approx(np.exp(0.25), abs=1e-5)
    assert start.health.healthy


def test_votes_are_counted_only_where_they_determine_the_consensus() -> None:
    found = learned({0: 0, 1: 0}, {0: 2}, {0: 1, 1: 2, 2: 2}, {2: 1, 0: 0})
    ann, cho = PRIOR.copy(), PRIOR.copy()
    ann[0, 0] += 1  # said a, the consensus was a
    ann[1, 2] += 1  # said b, the consensus was c
    cho[2, 2] += 1
    assert found.matrices[0] == pytest.approx(ann / ann.sum(axis=0))
    assert found.matrices[2] == pytest.approx(cho / cho.sum(axis=0))
    assert found.matrices.sum(axis=1) == pytest.approx(np.ones((3, 3)))


def test_a_tie_counts_as_its_shares() -> None:
    found = learned({0: 0, 1: 1, 2: 2})
    ann = PRIOR.copy()
    ann[0] += 1 / 3
    assert found.matrices[0] == pytest.approx(ann / ann.sum(axis=0))


def test_matrices_approach_the_experts_that_made_the_votes() -> None:
    draw = np.random.default_rng(1)
    truth = draw.integers(3, size=20_000)
    matrix = np.array([[0.8, 0.1, 0.3], [0.1, 0.7, 0.1], [0.1, 0.2, 0.6]])
    votes = np.array([draw.choice(3, p=matrix[:, k]) for k in truth])
    found = confusion_matrices(votes[:, None], np.eye(3)[truth], options=ConfusionOptions())
    assert found[0] == pytest.approx(matrix, abs=0.02)


def test_without_data_the_temperature_is_the_mode_of_its_prior() -> None:
    nothing = np.empty((0, 4))
    for likelihood in ("sum", "mean"):
        assert fit_temperature(nothing, nothing, likelihood=likelihood) == pytest.approx(np.exp(0.25), abs=1e-6)


def test_the_temperature_undoes_overconfidence_by_the_sum_and_leans_on_the_prior_by_the_mean() -> None:
    draw = np.random.default_rng(2)
    honest = draw.dirichlet(np.ones(3), size=3000)
    truth = np.array([draw.choice(3, p=row) for row in honest])
    sharp = np.exp(log_tempered(honest, 1 / 4))
    by_sum = fit_temperature(sharp, np.eye(3)[truth])
    by_mean = fit_temperature(sharp, np.eye(3)[truth], likelihood="mean")
    assert by_sum == pytest.approx(4, rel=0.1)
    assert np.exp(0.25) < by_mean < by_sum - 0.5


def test_the_temperature_is_the_least_of_its_loss() -> None:
    draw = np.random.default_rng(3)
    p = draw.dirichlet(np.ones(3), size=40)
    shares = np.eye(3)[draw.integers(3, size=40)]

    def loss(t: float) -> float:
        powered = p ** (1 / t)
        q = powered / powered.sum(axis=1, keepdims=True)
        density = np.exp(-((np.log(t) - 0.5) ** 2) / (2 * 0.25)) / t
        return float(-(shares * np.log(q)).sum() - np.log(density))

    found = minimize_scalar(loss, bounds=(0.01, 100), method="bounded", options={"xatol": 1e-6})
    assert fit_temperature(p, shares) == pytest.approx(found.x, rel=1e-3)


def test_probabilities_of_nought_do_not_break_anything() -> None:
    p = np.tile([1.0, 0.0, 0.0], (30, 1))
    assert 1 < fit_temperature(p, np.eye(3)[[0] * 25 + [1] * 5]) <= 100
    forecast = learned().forecast(rng(), case({1: 2}, (1.0, 0.0, 0.0)), TARGET)
    assert 0 < forecast.error < 1e-20


def test_the_forecast_multiplies_the_hints() -> None:
    predictor = random_predictor(5)
    p = np.array([0.7, 0.2, 0.1]) ** (1 / predictor.temperature)
    expected = p * predictor.matrices[0, 2] * predictor.matrices[2, 1]
    forecast = predictor.forecast(rng(), case({0: 2, 2: 1}), TARGET)
    assert forecast.values == pytest.approx(expected / expected.sum())
    assert forecast.candidates == ("ben",)
    bare = predictor.forecast(rng(), case({}), TARGET)
    assert bare.values == pytest.approx(p / p.sum())


@pytest.mark.parametrize("seed", range(5))
def test_a_vote_to_come_changes_nothing_on_average_and_never_adds_doubt(seed: int) -> None:
    predictor = random_predictor(seed)
    now = predictor.forecast(rng(), case({1: 0}), TARGET)
    for expert in (0, 2):
        joint = now.joint[PANEL.experts[expert]]
        after = [predictor.forecast(rng(), case({1: 0, expert: vote}), TARGET).values for vote in range(3)]
        assert joint.sum(axis=1) @ np.array(after) == pytest.approx(now.values)
        assert joint.sum(axis=0) == pytest.approx(now.values)
        by_hand = float(joint.sum(axis=1) @ entropy(np.array(after)))
        assert expected_entropy(joint) == pytest.approx(by_hand)
        assert expected_entropy(joint) <= entropy(np.array(now.values)) + 1e-12


def test_it_does_not_know_that_the_votes_are_the_consensus() -> None:
    predictor = learned()
    decided = predictor.forecast(rng(), case({0: 1, 1: 1}, (1.0, 0.0, 0.0)), TARGET)
    assert not decided.certain
    assert decided.candidates == ("cho",)
    assert decided.outcome == "a"  # against two votes of three
    last = predictor.forecast(rng(), case({0: 1, 1: 1, 2: 1}, (1.0, 0.0, 0.0)), TARGET)
    assert (last.certain, last.candidates) == (False, ())


def test_a_missing_classifier_counts_as_uniform() -> None:
    assert learned().forecast(rng(), case({}, None), TARGET).values == pytest.approx((1 / 3,) * 3)


def test_other_targets_are_refused_when_learning_and_when_forecasting() -> None:
    other = parse_target("unanimous", PANEL)
    with pytest.raises(SettingsError, match="method 'confusion' forecasts the consensus only"):
        ConfusionLearner(other)
    with pytest.raises(SettingsError, match="the target is 'unanimous'"):
        learned().forecast(rng(), case({}), other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"accuracy": 1.0}, "confusion accuracy 1 is out of range; expected a number between 0 and 1"),
        ({"strength": 0.0}, "confusion strength 0 is out of range; expected a number above 0"),
        ({"likelihood": "median"}, "confusion likelihood 'median' is unknown; expected 'sum' or 'mean'"),
    ],
)
def test_options_out_of_range_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ConfusionOptions(**wrong)


@pytest.mark.parametrize("method", ["confusion", "confusion:mean"])
def test_at_no_error_it_asks_everyone_and_a_replay_repeats_itself(method: str) -> None:
    table = simulate(np.random.default_rng(2), classes=3, experts=3, cases=40, classifiers=2)
    one, two = (replay(table, options=Options(method=method, max_error=0.0), seed=4) for _ in range(2))
    assert one.scored == two.scored
    assert {scored.human_votes for scored in one.scored} == {3}
    assert {scored.reason for scored in one.scored} == {"nobody left"}
    assert len({scored.asked for scored in one.scored}) > 1


def test_a_replay_is_the_method_written_out_in_a_loop() -> None:
    table = simulate(np.random.default_rng(8), classes=3, experts=4, cases=60, missing=0.1)
    experts, counts = range(4), np.tile(PRIOR, (4, 1, 1))
    wrong, labels, past = [], np.empty((0, 3)), np.empty((0, 3))
    for row, p in zip(table.votes, table.probabilities[:, 0], strict=True):
        temperature = fit_temperature(past, labels)
        chance = p ** (1 / temperature)
        for h in experts:
            if row[h] >= 0:
                chance = chance * counts[h, row[h]] / counts[h].sum(axis=0)
        tally = np.bincount(row[row >= 0], minlength=3)
        shares = (tally == tally.max()) / (tally == tally.max()).sum()
        wrong.append(1 - shares[chance.argmax()])
        past, labels = np.vstack([past, p]), np.vstack([labels, shares])
        for h in experts:
            if row[h] >= 0:
                counts[h, row[h]] += shares
    report = replay(table, options=Options(method="confusion", max_error=0.0))
    assert [scored.error for scored in report.scored] == pytest.approx(wrong)
    assert sum(wrong) > 0


@pytest.mark.panels
@pytest.mark.parametrize(("max_error", "queries", "share"), [(0.0, 3.0, 0.011), (0.01, 1.39, 0.013)])
def test_the_first_chaoyang_slides_cost_what_they_should(
    panels: Path, max_error: float, queries: float, share: float
) -> None:
    table = read_table(panels / "chaoyang.csv")
    summary = replay(table, options=Options(method="confusion", max_error=max_error)).summary
    # One run of twelve: its own spread comes on top of what is allowed for their mean.
    assert summary.mean_queries == pytest.approx(queries, abs=0.3)
    assert summary.error_rate == pytest.approx(share, abs=0.015)
