"""What is learned while a panel grows and changes, by every method."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.decision import Query
from quorate.core.settings import EvidenceSettings, Settings
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.stored import predictor_from_npz, predictor_to_npz
from quorate.policy.schedule import never_schedule
from quorate.study.journal import MemoryJournal
from quorate.study.state import folded
from quorate.study.study import Study
from tests.unit.study.memoirs import PANEL, Memoir, every_ten, imported, learn, opened, rebuilt, remembering, who

TINY = Settings(
    chains=2, warmup=5, draws=10, population=8, extensions=0, latents=1000, max_rhat=90.0, min_ess=1e-9, sigma_mu=0.3
)
METHODS = {
    "until-determined": Options(method="until-determined"),
    "classifier": Options(method="classifier"),
    "majority": Options(method="majority:2"),
    "all": Options(method="all"),
    "bayes": Options(method="bayes:paper", schedule="every", settings=TINY),
    "quorate": Options(settings=EvidenceSettings(particles=64)),
    "guided": Options(method="until-determined", chooser="entropy", settings=EvidenceSettings(particles=64)),
    "guided by the paper's model": Options(
        method="until-determined", preset="paper", chooser="entropy", schedule="every", settings=TINY
    ),
    "infexp": Options(method="infexp", schedule="every"),
    "confusion": Options(method="confusion"),
}


def test_somebody_unknown_makes_a_fit_due_at_once() -> None:
    study = imported(remembering(every_ten), 10)
    learn(study)
    in_force = study.predictor
    changes: list[Callable[[], None]] = [
        lambda: study.add_expert("dee"),
        lambda: study.replace_classifier("densenet", "vit"),
    ]
    for change in changes:
        assert study.due() is None
        change()
        job = study.due()
        assert job is not None
        assert job.history == study.history
        assert job.history.panel == study.panel
        assert job.previous is in_force
        study.adopt(job, job.run())
        in_force = study.predictor
    study.retire_expert("dee")
    study.add_expert("dee")
    study.replace_classifier("vit", "densenet")
    assert study.due() is None  # all of them are known


@pytest.mark.parametrize("schedule", [never_schedule, every_ten])
def test_before_anything_is_learned_a_new_expert_makes_nothing_due(schedule: Callable[[int], bool]) -> None:
    study = imported(remembering(schedule), 3)
    study.add_expert("dee")
    assert study.due() is None
    opened(study, "c1")
    assert who(study, "c1") == ["ann", "ben", "cho", "dee"]


def test_a_fit_of_the_smaller_panel_leaves_one_due() -> None:
    study = opened(imported(remembering(every_ten), 10), "before")
    job = study.due()
    assert job is not None
    study.add_expert("dee")
    study.adopt(pickle.loads(pickle.dumps(job)), job.run())  # noqa: S301  # our own bytes
    opened(study, "after")
    assert who(study, "before") == ["ann", "ben", "cho"]
    assert who(study, "after") == ["ann", "ben", "cho", "dee"]
    after = study.due()
    assert after is not None
    assert after.history.panel.experts[-1] == "dee"
    again = rebuilt(study)
    assert (again.predictor, again.due()) == (study.predictor, after)
    learn(study)
    assert isinstance(study.predictor, Memoir)
    assert study.predictor.history.panel == study.panel
    assert study.due() is None


def changed(study: Study) -> list[object]:
    """A study of a panel that grows and changes, with every fit adopted some time after it is due."""
    rng = np.random.default_rng(4)
    said: list[object] = []
    changes: dict[int, Callable[[], None]] = {
        1: lambda: study.add_expert("dee"),
        2: lambda: study.retire_expert("ann"),
        3: lambda: study.replace_classifier("densenet", "vit"),
        4: lambda: study.add_expert("eve"),
        5: lambda: study.add_expert("ann"),
    }
    study.open("slow", {"densenet": [0.3, 0.7]})
    for number in range(7):
        changes.get(number, lambda: None)()
        key, p = f"case-{number}", float(rng.uniform(0.1, 0.9))
        study.open(key, {study.classifiers[0]: [1 - p, p]})
        slow, step = study.ask("slow"), study.ask(key)
        said.append((slow, step))
        while isinstance(step, Query):
            assert step.expert in study.experts
            assert set(step.gains) <= set(study.experts)
            study.tell(key, step.expert, "abnormal" if rng.random() < p else "normal")
            step = study.ask(key)
            said.append(step)
        study.settle(key)
        job = study.due()
        if job is not None and number % 2 == 0:
            study.adopt(job, job.run())
    return said


@pytest.mark.parametrize("name", METHODS)
def test_every_method_goes_on_and_is_rebuilt(name: str) -> None:
    options = METHODS[name]
    study = create_study(PANEL, options=options, max_error=0.2, seed=3)
    said = changed(study)
    assert study.history.votes().shape == (7, 5)
    assert study.history.probabilities().shape == (7, 2, 2)
    assert said == changed(create_study(PANEL, options=options, max_error=0.2, seed=3))
    journal = MemoryJournal(list(study.journal))
    again = create_study(PANEL, options=options, max_error=0.2, seed=3, journal=journal)
    assert (again.history, again.experts, again.classifiers) == (study.history, study.experts, study.classifiers)
    for one in (study, again):
        one.open("next", {"vit": [0.4, 0.6]})
    for key in ("next", "slow"):
        assert study.ask(key) == again.ask(key)
        assert study.forecast(key) == again.forecast(key)


def kept(study: Study) -> bytes:
    assert isinstance(study.predictor, FullPredictor)
    return predictor_to_npz(study.predictor)


@pytest.mark.parametrize("last", ["learned", "not yet learned"])
def test_what_was_learned_is_handed_to_another_process(last: str) -> None:
    options = METHODS["bayes"]
    study = create_study(PANEL, options=options, seed=3)
    changed(study)
    if last == "not yet learned":
        study.add_expert("fay")
    panel = folded(PANEL, study.journal).learned_panel
    assert (panel == study.panel) == (last == "learned")
    learned = predictor_from_npz(kept(study), panel)
    journal = MemoryJournal(list(study.journal))
    again = create_study(PANEL, options=options, seed=3, journal=journal, learned=learned)
    for one in (study, again):
        one.open("next", {"vit": [0.4, 0.6]})
    assert study.ask("next") == again.ask("next")
    assert study.ask("slow") == again.ask("slow")
    if last == "not yet learned":
        learn(study)
        learn(again)
        assert kept(study) == kept(again)


def test_open_cases_are_forecast_by_what_was_learned_until_the_newcomer_is_known() -> None:
    study = imported(create_study(PANEL, options=METHODS["bayes"]), 8)
    learn(study)
    opened(study, "before", ann="abnormal")
    forecast = study.forecast("before")
    study.add_expert("dee")
    assert study.forecast("before") == forecast
    opened(study, "after")
    prior = create_study(study.panel, options=METHODS["bayes"])
    opened(prior, "after")
    assert study.forecast("after").values == pytest.approx(prior.forecast("after").values, abs=0.1)
    learn(study)
    assert isinstance(study.predictor, FullPredictor)
    assert study.predictor.draws.experts == 4
    assert set(study.forecast("after").votes) == {"ann", "ben", "cho", "dee"}


@pytest.mark.parametrize("name", ["infexp", "confusion"])
def test_a_rival_keeps_what_it_has_learned_of_the_others(name: str) -> None:
    study = imported(create_study(PANEL, options=METHODS[name]), 8)
    learn(study)
    study.add_expert("dee")
    opened(study, "c1")
    before = study.forecast("c1")
    learn(study)
    after = study.forecast("c1")
    assert before == after
    assert all(np.array_equal(before.joint[expert], after.joint[expert]) for expert in study.experts)


def test_a_fit_of_the_smaller_panel_is_grown_too() -> None:
    study = imported(create_study(PANEL, options=METHODS["confusion"]), 8)
    job = study.due()
    assert job is not None
    study.add_expert("dee")
    opened(study, "c1")
    before = study.forecast("c1")
    study.adopt(job, job.run())
    after = study.forecast("c1")
    assert after != before
    assert rebuilt(study).forecast("c1") == after
