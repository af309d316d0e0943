"""INFEXP as a learner and a predictor: what it counts, when it searches, what it knows for certain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.baselines import crowd
from quorate.baselines.infexp import InfexpLearner, InfexpOptions, InfexpPredictor, every_twenty
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.target import parse_target
from quorate.data.synthetic import simulate
from quorate.data.table import read_table
from quorate.errors import SettingsError
from quorate.experiments.replay import replay
from quorate.policy.schedule import every_schedule

PANEL = Panel(["a", "b", "c"], ["ann", "ben", "cho"], ["net"])
TARGET = parse_target("consensus", PANEL)
LEARNER = InfexpLearner(TARGET)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def case(key: int, votes: dict[int, int], p: tuple[float, ...] | None = (0.7, 0.2, 0.1)) -> Case:
    return Case(str(key), (p,), (True,) * 3, tuple(votes.items()))


def history(*votes: dict[int, int]) -> History:
    return History(PANEL, tuple(case(n, cast) for n, cast in enumerate(votes)))


def first(options: InfexpOptions | None = None) -> InfexpPredictor:
    return InfexpLearner(TARGET, options or InfexpOptions()).update(rng(), History(PANEL), None)


def test_it_starts_at_the_mode_of_the_prior() -> None:
    start = first()
    assert start.parameters == (1.0,) * 5
    assert start.accuracy == (0.5,) * 3
    assert start.health.healthy


def test_accuracies_count_only_votes_on_a_determined_consensus() -> None:
    past = history({0: 0, 1: 0}, {0: 1}, {0: 0, 1: 1, 2: 1}, {2: 2, 0: 1}, {})
    assert LEARNER.update(rng(), past, None).accuracy == pytest.approx(((1 + 1) / 4, (2 + 1) / 4, (1 + 1) / 3))


def test_a_tie_scores_a_vote_by_its_share() -> None:
    past = history({0: 0, 1: 1, 2: 2})
    assert LEARNER.update(rng(), past, None).accuracy == pytest.approx(((1 / 3 + 1) / 3,) * 3)


def test_parameters_are_searched_for_after_every_twenty_cases() -> None:
    predictor, changed = first(), []
    for n in range(1, 61):
        past = history(*[{0: k % 3, 1: k % 3} for k in range(n)])
        newer = LEARNER.update(rng(), past, predictor)
        if newer.parameters != predictor.parameters:
            changed.append(n)
        assert (newer.cases, newer.queries) == (n, 2 * n)
        predictor = newer
    assert changed == [20, 40, 60]
    assert predictor.fitted == 120


def test_another_schedule_and_cases_that_come_together() -> None:
    often = InfexpLearner(TARGET, refit=every_schedule)
    assert often.update(rng(), history({0: 1}), first()).parameters != first().parameters
    together = history(*[{0: 1, 1: 1}] * 33)
    assert LEARNER.update(rng(), together, first()).parameters != first().parameters


def test_without_a_new_vote_nothing_is_searched_for() -> None:
    twenty = [{0: 1, 1: 1}] * 20
    fitted = LEARNER.update(rng(), history(*twenty), first())
    far = replace(fitted, parameters=(2.0,) * 5)
    assert LEARNER.update(rng(), history(*twenty, *[{}] * 20), far).parameters == (2.0,) * 5
    assert LEARNER.update(rng(), history(*[{}] * 20), first()).parameters == first().parameters


def test_the_window_and_the_fading_prior() -> None:
    votes = [{0: n % 3} for n in range(30)]
    found = InfexpLearner(TARGET, InfexpOptions(window=10)).update(rng(), history(*votes, *[{}] * 10), None)
    p = np.tile([0.7, 0.2, 0.1], (10, 1))
    tally = np.eye(3, dtype=np.int64)[np.arange(20, 30) % 3]
    assert found.parameters == tuple(crowd.fit(p, tally, before=crowd.start(3), prior_weight=1 / 30).tolist())


def test_it_may_learn_from_determined_cases_only() -> None:
    strict = InfexpLearner(TARGET, InfexpOptions(update_only_when_determined=True))
    unsure, sure = [{0: 2}] * 20, [{0: 0, 1: 0}] * 20
    assert strict.update(rng(), history(*unsure), first()).parameters == first().parameters
    mixed = strict.update(rng(), history(*unsure, *sure), None)
    assert mixed.parameters == pytest.approx(LEARNER.update(rng(), history(*sure), None).parameters)


def test_votes_teach_trust_in_a_classifier_that_is_right() -> None:
    table = simulate(np.random.default_rng(3), classes=3, experts=5, cases=200)
    target = parse_target("consensus", table.panel)
    cases = tuple(replace(table.case(n), votes=tuple(enumerate(table.votes[n].tolist()))) for n in range(len(table)))
    found = InfexpLearner(target).update(rng(), History(table.panel, cases), None)
    x = np.array(found.parameters)
    p, tally = np.array([c.probabilities[0] for c in cases[-100:]]), np.zeros((100, 3), dtype=np.int64)
    for n, row in enumerate(table.votes[-100:]):
        tally[n] = np.bincount(row, minlength=3)
    assert crowd.log_posterior(x, p, tally, 0.005)[0] > crowd.log_posterior(crowd.start(3), p, tally, 0.005)[0]


@pytest.mark.parametrize("options", [InfexpOptions(), InfexpOptions(pool="finite"), InfexpOptions(exact=True)])
def test_votes_that_decide_are_certain(options: InfexpOptions) -> None:
    predictor = first(options)
    decided = predictor.forecast(rng(), case(1, {0: 2, 2: 2}, (0.98, 0.01, 0.01)), TARGET)
    assert (decided.certain, decided.values, decided.error) == (True, (0.0, 0.0, 1.0), 0.0)
    assert decided.candidates == ()
    assert decided.votes["ben"]["c"] > 0.5
    tied = predictor.forecast(rng(), case(1, {0: 0, 1: 1, 2: 2}), TARGET)
    assert tied.certain
    assert tied.leaders == ("a", "b", "c")
    open_ = predictor.forecast(rng(), case(1, {0: 2}), TARGET)
    assert not open_.certain
    assert open_.candidates == ("ben", "cho")
    assert sum(open_.values) == pytest.approx(1)
    for joint in open_.joint.values():
        assert joint.sum(axis=0) == pytest.approx(open_.values, abs=1e-9)
    assert open_.accuracy == {"ann": 0.5, "ben": 0.5, "cho": 0.5}


def test_the_tie_rule_decides_for_its_class() -> None:
    panel = Panel(["a", "b"], ["ann", "ben"], ["net"])
    target = parse_target("consensus:worst=b", panel)
    predictor = InfexpLearner(target).update(rng(), History(panel), None)
    one = Case("1", ((0.9, 0.1),), (True, True), ((0, 1),))
    assert predictor.forecast(rng(), one, target).values == (0.0, 1.0)


def test_the_exact_form_is_never_sure_where_sampling_may_be() -> None:
    sharp = replace(first(), parameters=(60.0, 0.01, 1.0, 1.0, 1.0), queries=50)
    asked = case(1, {0: 0}, (0.998, 0.001, 0.001))
    assert sharp.forecast(rng(), asked, TARGET).error == 0.0
    exact = replace(sharp, options=InfexpOptions(exact=True)).forecast(rng(), asked, TARGET)
    assert 0 < exact.error < 1e-6
    assert exact.health.monte_carlo_error is None


def test_more_draws_are_made_before_ten_queries() -> None:
    early = first()
    late = replace(early, queries=9)
    assert early.forecast(rng(), case(1, {}), TARGET).health.monte_carlo_error == pytest.approx(0.0014, abs=2e-4)
    assert late.forecast(rng(), case(1, {}), TARGET).health.monte_carlo_error == pytest.approx(0.0014, abs=2e-4)
    assert late.forecast(rng(), case(1, {0: 1}), TARGET).health.monte_carlo_error == pytest.approx(0.015, abs=2e-3)


def test_a_missing_classifier_counts_as_uniform() -> None:
    values = first().forecast(rng(), case(1, {}, None), TARGET).values
    assert values == pytest.approx((1 / 3,) * 3, abs=0.01)


def test_the_same_generator_gives_the_same_forecast() -> None:
    for options in (InfexpOptions(), InfexpOptions(pool="finite")):
        one, two = (first(options).forecast(rng(), case(1, {1: 2}), TARGET) for _ in range(2))
        assert one == two


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pool": "some"}, "infexp pool 'some' is unknown; expected 'infinite' or 'finite'"),
        ({"pool": "finite", "exact": True}, "the exact form is that of the infinite pool"),
        ({"samples": 0}, "infexp samples = 0 is too small; expected a whole number from 1 on"),
        ({"window": 0}, "window = 0 is too small"),
        ({"early_queries": -1}, "early_queries = -1 is too small"),
    ],
)
def test_options_out_of_range_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        InfexpOptions(**wrong)


def test_other_targets_are_refused_when_learning_and_when_forecasting() -> None:
    other = parse_target("any:a", PANEL)
    with pytest.raises(SettingsError, match="method 'infexp' forecasts the consensus only"):
        InfexpLearner(other)
    with pytest.raises(SettingsError, match="the target is 'any:a'"):
        first().forecast(rng(), case(1, {}), other)


@pytest.mark.parametrize("method", ["infexp", "infexp:finite", "infexp:exact", "infexp:determined"])
def test_a_replay_at_no_error_is_right_and_repeats_itself(method: str) -> None:
    table = simulate(np.random.default_rng(2), classes=3, experts=3, cases=45, classifiers=2, missing=0.1)
    one, two = (replay(table, options=Options(method=method, max_error=0.0), seed=4) for _ in range(2))
    assert one.scored == two.scored
    assert one.summary.errors == 0
    assert 0 < one.summary.mean_queries <= 3
    if method == "infexp:exact":
        assert {scored.reason for scored in one.scored} <= {"certain", "tie"}


def test_every_twentieth() -> None:
    assert not every_twenty(0)


@pytest.mark.panels
@pytest.mark.parametrize(("max_error", "queries", "share"), [(0.0, 3.30, 0.0), (0.01, 2.72, 0.0003)])
def test_the_first_chest_x_rays_cost_what_they_should(
    panels: Path, max_error: float, queries: float, share: float
) -> None:
    table = read_table(panels / "chestxray.csv")
    summary = replay(table, options=Options(method="infexp", max_error=max_error)).summary
    # One run of twelve: its own spread comes on top of the .1 query allowed for their mean.
    assert summary.mean_queries == pytest.approx(queries, abs=0.25)
    assert summary.error_rate == pytest.approx(share, abs=0.005)
