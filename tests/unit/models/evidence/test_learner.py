from __future__ import annotations

import numpy as np
import pytest

import quorate
from quorate.core.case import Case, open_case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.settings import EVIDENCE_RANGES, EvidenceSettings
from quorate.core.target import parse_target
from quorate.errors import HealthError
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.particles import RESAMPLED
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.patterns import FEWEST_EFFECTIVE, FEWEST_LATENTS

SETTINGS = EvidenceSettings(particles=64, nodes=32, panels=2000)
PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"], ["m"])


def told(panel: Panel, number: int) -> Case:
    p = (number % 10 + 0.5) / 10
    case = open_case(panel, f"case-{number}", {"m": [1 - p, p]})
    return case.with_vote(number % 3, int(p > 0.5)).with_vote((number + 1) % 3, int(p > 0.4))


def history(count: int, panel: Panel = PANEL) -> History:
    return History(panel, tuple(told(panel, number) for number in range(count)))


def carried(count: int, settings: EvidenceSettings = SETTINGS) -> EvidencePredictor:
    learner, found = EvidenceLearner(settings), None
    for n in range(count + 1):
        found = learner.update(np.random.default_rng(n), history(n), found)
    assert isinstance(found, EvidencePredictor)
    return found


def test_it_learns_that_the_classifier_is_followed() -> None:
    predictor, target = carried(30), parse_target("consensus", PANEL)
    case = open_case(PANEL, "new", {"m": [0.05, 0.95]})
    before = EvidenceLearner(SETTINGS).update(np.random.default_rng(0), history(0), None)
    early, late = (
        one.forecast(np.random.default_rng(0), case, target).probabilities["yes"] for one in (before, predictor)
    )
    assert 0.5 < early < late
    assert late > 0.95
    assert predictor.health.healthy


def test_votes_seen_move_the_forecast_and_all_votes_decide_it() -> None:
    predictor, target = carried(20), parse_target("consensus", PANEL)
    case = open_case(PANEL, "new", {"m": [0.5, 0.5]})
    rng = np.random.default_rng(0)
    values = []
    for expert in range(3):
        values.append(predictor.forecast(rng, case, target).probabilities["yes"])
        case = case.with_vote(expert, 1)
    values.append(predictor.forecast(rng, case, target).probabilities["yes"])
    assert values == sorted(values)
    assert values[-1] == 1.0


def test_a_forecast_is_the_same_by_table_and_by_sampled_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor, target = carried(12), parse_target("consensus", PANEL)
    case = open_case(PANEL, "new", {"m": [0.3, 0.7]}).with_vote(1, 0)
    exact = predictor.forecast(np.random.default_rng(0), case, target)
    monkeypatch.setattr("quorate.models.evidence.predictor.TABLE_LIMIT", 2)
    drawn = predictor.forecast(np.random.default_rng(0), case, target)
    assert drawn.values == pytest.approx(exact.values, abs=0.03)
    assert drawn.votes["ann"]["yes"] == pytest.approx(exact.votes["ann"]["yes"], abs=0.03)
    assert drawn.health.monte_carlo_error is not None


def test_a_missing_classifier_row_makes_the_forecast_less_sure() -> None:
    predictor, target = carried(20), parse_target("consensus", PANEL)
    told, untold = (
        predictor.forecast(np.random.default_rng(0), open_case(PANEL, "new", given), target)
        for given in ({"m": [0.02, 0.98]}, {})
    )
    assert untold.error > told.error
    assert untold.health.healthy


def test_a_refined_forecast_has_less_noise_and_the_same_answer() -> None:
    predictor, target = carried(20), parse_target("consensus", PANEL)
    finer = predictor.refined()
    assert finer is not None
    assert finer.refined() is None
    assert predictor.refined() is finer
    case = open_case(PANEL, "new", {"m": [0.3, 0.7]})
    one, other = (p.forecast(np.random.default_rng(0), case, target) for p in (predictor, finer))
    assert one.error == pytest.approx(other.error, abs=0.05)
    assert (other.health.monte_carlo_error or 0) < (one.health.monte_carlo_error or 0)


def test_only_recent_cases_are_learned_from_beyond_the_limit() -> None:
    predictor = carried(25, EvidenceSettings(particles=64, cases=10))
    assert predictor.particles.cases.keys == tuple(f"case-{n}" for n in range(15, 25))
    assert predictor.health.healthy


def test_withdrawn_and_amended_votes_are_unlearned() -> None:
    learner, before = EvidenceLearner(SETTINGS), carried(20)
    changed = list(history(20).cases)
    changed[3] = changed[3].without_vote(0)
    changed[5] = changed[5].amended(2, 1 - (changed[5].voted(2) or 0))
    after = learner.update(np.random.default_rng(0), History(PANEL, tuple(changed)), before)
    assert isinstance(after, EvidencePredictor)
    assert np.array_equal(after.particles.cases.votes, History(PANEL, tuple(changed)).votes())
    assert after.health.healthy


def test_broken_particles_are_given_up_for_others() -> None:
    learner, before = EvidenceLearner(SETTINGS), carried(12)
    before.particles.theta[:] += 30.0
    after = learner.update(np.random.default_rng(0), history(13), before)
    assert after.health.healthy


def test_a_study_rebuilt_from_its_journal_asks_the_same() -> None:
    options = quorate.Options(preset="quorate", settings=SETTINGS)
    study = quorate.create_study(PANEL, options=options, max_error=0.05)
    for number in range(8):
        p = (number % 4 + 0.5) / 4
        study.open(f"case-{number}", {"m": [1 - p, p]})
        while isinstance(step := study.ask(f"case-{number}"), quorate.Query):
            study.tell(f"case-{number}", step.expert, "yes" if p > 0.5 else "no")
        study.settle(f"case-{number}")
        job = study.due()
        assert job is not None
        study.adopt(job, job.run())
    study.open("last", {"m": [0.45, 0.55]})
    again = quorate.create_study(PANEL, options=options, max_error=0.05, journal=study.journal)
    assert again.forecast("last").values == study.forecast("last").values
    one, other = study.ask("last"), again.ask("last")
    assert isinstance(one, quorate.Query)
    assert isinstance(other, quorate.Query)
    assert (one.expert, one.gains) == (other.expert, other.gains)


def test_a_large_panel_decides_when_the_last_vote_is_in() -> None:
    panel = Panel(["no", "yes"], [f"e{h}" for h in range(13)], ["m"])
    settings = EvidenceSettings(particles=64, panels=1000)
    study = quorate.create_study(panel, options=quorate.Options(preset="quorate", settings=settings), max_error=0.0)
    study.open("close", {"m": [0.5, 0.5]})
    count = 0
    while isinstance(step := study.ask("close"), quorate.Query):
        study.tell("close", step.expert, ("no", "yes")[count % 2])
        count += 1
    assert isinstance(step, quorate.Settle)
    assert (count, step.outcome, step.reason) == (13, "no", "certain")


@pytest.mark.parametrize("experts", [3, 13])  # a table, and sampled votes
def test_with_the_smallest_settings_a_forecast_can_pass_its_gate(experts: int) -> None:
    fewest, panels = (int(EVIDENCE_RANGES[name][0]) for name in ("particles", "panels"))
    assert RESAMPLED * fewest > FEWEST_EFFECTIVE
    assert RESAMPLED * panels > FEWEST_LATENTS
    panel = Panel(["no", "yes"], [f"e{h}" for h in range(experts)], ["m"])
    cases = []
    for n in range(8):
        case = open_case(panel, f"case-{n}", {"m": [0.8, 0.2] if n % 2 else [0.2, 0.8]})
        cases.append(case.with_vote(0, (n + 1) % 2).with_vote(1, (n + 1) % 2))
    learner, rng = EvidenceLearner(EvidenceSettings(particles=fewest, panels=panels)), np.random.default_rng(0)
    found = learner.update(rng, History(panel, tuple(cases)), None)
    case = open_case(panel, "new", {"m": [0.8, 0.2]}).with_vote(0, 0)
    assert found.forecast(rng, case, parse_target("consensus", panel)).health.healthy


def test_many_particles_can_be_refined() -> None:
    found = EvidenceLearner(EvidenceSettings(particles=2048, nodes=16)).update(
        np.random.default_rng(0), history(2), None
    )
    assert isinstance(found, EvidencePredictor)
    finer = found.refined()
    assert finer is not None
    assert len(finer.particles.theta) == 4 * 2048


def test_what_was_learned_under_other_settings_is_no_start() -> None:
    other = EvidenceLearner(EvidenceSettings(particles=96)).update(np.random.default_rng(0), history(6), carried(5))
    assert isinstance(other, EvidencePredictor)
    assert len(other.particles.theta) == 96


def test_where_nothing_is_usable_the_old_stays_for_the_whole_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise HealthError("broken for the test")

    before = carried(5)
    larger = PANEL.with_expert("dee")
    grown = History(larger, tuple(case.grown(larger) for case in history(6)))
    monkeypatch.setattr("quorate.models.evidence.learner.carried", refuse)
    monkeypatch.setattr("quorate.models.evidence.learner.from_nothing", refuse)
    after = EvidenceLearner(SETTINGS).update(np.random.default_rng(0), grown, before)
    assert isinstance(after, EvidencePredictor)
    assert after.panel == larger
    assert after.health.reasons == ("broken for the test",)
    forecast = after.forecast(np.random.default_rng(0), open_case(larger, "new", {}), parse_target("consensus", larger))
    assert not forecast.health.healthy
