"""Late, amended and withdrawn votes: what they change, what they never change, and what must be learned anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.decision import Query, Settle
from quorate.core.settings import EvidenceSettings, Settings
from quorate.errors import PanelError, StudyError
from quorate.models.stored import predictor_to_npz
from quorate.policy.schedule import every_schedule, never_schedule, paper_schedule
from quorate.study.events import Amended, Settled, Voted, Withdrawn
from tests.unit.study.memoirs import PANEL, every_ten, imported, learn, opened, rebuilt, remembering

SMALL = Settings(chains=2, warmup=20, draws=20, extensions=0, latents=2000, max_rhat=9.0, min_ess=1.0)
QUORATE = Options(settings=EvidenceSettings(particles=64))
PAPER = Options(preset="paper", settings=SMALL)


def test_an_expert_whose_vote_is_withdrawn_may_be_asked_again() -> None:
    study = opened(remembering(), "c1", ann="abnormal", ben="abnormal")
    assert isinstance(study.ask("c1"), Settle)
    study.withdraw("c1", "ann")
    again = study.ask("c1")
    assert isinstance(again, Query)
    assert again.expert == "ann"
    study.tell("c1", "ann", "normal")
    assert list(study.journal)[-2:] == [Withdrawn("c1", 0), Voted("c1", 0, 0)]
    step = study.ask("c1")
    assert isinstance(step, Query)
    assert step.expert == "cho"


def test_an_amended_vote_counts_as_it_is_now() -> None:
    study = opened(remembering(), "c1", ann="abnormal", ben="normal")
    study.tell("c1", "ann", "normal", amend=True)
    assert list(study.journal)[-1] == Amended("c1", 0, 0)
    assert study.settle("c1").outcome == "normal"
    assert study.history.cases[0].votes == ((0, 0), (1, 0))


def test_amending_is_a_plain_vote_where_there_is_none_and_nothing_where_it_is_the_same() -> None:
    study = opened(remembering(), "c1")
    study.tell("c1", "ann", "normal", amend=True)
    assert list(study.journal)[-1] == Voted("c1", 0, 0)
    study.tell("c1", "ann", "normal", amend=True)
    assert len(study.journal) == 2


def test_what_does_not_fit_is_refused_and_leaves_no_trace() -> None:
    study = imported(opened(remembering(), "c1", ann="abnormal", cho="normal"), 1)
    before = list(study.journal)
    refused: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("'ann' has voted 'abnormal' on case 'c1' already.*amend=True", StudyError, lambda: tell("c1", "ann")),
        ("'ann' has voted 'abnormal' on case 'past-0' already", StudyError, lambda: tell("past-0", "ann")),
        ("'c9' was never opened in study 'cxr'; open it first", StudyError, lambda: study.withdraw("c9", "ann")),
        ("no expert 'zed'", PanelError, lambda: study.withdraw("c1", "zed")),
        ("'ben' has no vote on case 'c1' to withdraw.*: ann, cho$", StudyError, lambda: study.withdraw("c1", "ben")),
        ("'cho' has no vote on case 'past-0'.*: ann, ben$", StudyError, lambda: study.withdraw("past-0", "cho")),
    ]

    def tell(key: str, expert: str) -> None:
        study.tell(key, expert, "normal")

    for message, error, act in refused:
        with pytest.raises(error, match=message):
            act()
    assert list(study.journal) == before
    study.withdraw("c1", "ann")
    study.withdraw("c1", "cho")
    with pytest.raises(StudyError, match="expected one who has voted: nobody"):
        study.withdraw("c1", "ann")


def test_a_settled_outcome_stays_whatever_becomes_of_its_votes() -> None:
    study = opened(remembering(), "c1", ann="normal", ben="normal")
    settled = study.settle("c1")
    study.tell("c1", "ann", "abnormal", amend=True)
    assert list(study.contradicted) == []  # one of each: the third vote would decide
    study.withdraw("c1", "ben")
    assert study.history.votes().tolist() == [[1, -1, -1]]
    study.tell("c1", "cho", "abnormal")
    assert list(study.contradicted) == ["c1"]
    study.withdraw("c1", "cho")
    assert list(study.contradicted) == []
    assert [event for event in study.journal if isinstance(event, Settled)] == [settled]
    with pytest.raises(StudyError, match="has settled"):
        study.ask("c1")


def test_a_case_whose_only_vote_is_withdrawn_stays_in_the_history() -> None:
    study = remembering()
    study.import_case("past", {"densenet": [0.3, 0.7]}, {"ben": "abnormal"})
    study.withdraw("past", "ben")
    assert study.history.votes().tolist() == [[-1, -1, -1]]
    assert study.history.probabilities().tolist() == [[[0.3, 0.7]]]
    study.tell("past", "ben", "normal")
    assert study.history.votes().tolist() == [[-1, 0, -1]]


@pytest.mark.parametrize("change", ["amend", "withdraw"])
def test_a_vote_that_no_longer_stands_is_unlearned_at_once(change: str) -> None:
    study = imported(remembering(every_ten), 10)
    learn(study)
    assert study.due() is None
    study.tell("past-3", "ann", "normal", amend=True) if change == "amend" else study.withdraw("past-3", "ann")
    job = study.due()
    assert job is not None
    assert (job.fit, job.cases) == (2, 10)
    assert job.history == study.history
    study.adopt(job, job.run())
    assert study.due() is None
    for n in range(10):
        opened(study, f"c{n}", ann="normal", ben="normal").settle(f"c{n}")
        assert (study.due() is not None) == (n == 9)  # the schedule goes on as it was


def test_a_late_vote_waits_for_the_schedule() -> None:
    study = opened(imported(remembering(every_ten), 9), "c1", ann="normal", ben="normal")
    study.settle("c1")
    learn(study)
    study.tell("c1", "cho", "abnormal")
    assert study.due() is None
    in_force = study.predictor
    for n in range(10):
        opened(study, f"d{n}", ann="normal", ben="normal").settle(f"d{n}")
    job = study.due()
    assert job is not None
    assert job.history.votes()[9].tolist() == [0, 0, 1]
    assert job.previous is in_force


def test_changes_of_open_cases_leave_nothing_to_unlearn() -> None:
    study = opened(imported(remembering(every_ten), 10), "c1", ann="abnormal", ben="normal")
    learn(study)
    study.tell("c1", "ann", "normal", amend=True)
    study.withdraw("c1", "ben")
    assert study.due() is None


@pytest.mark.parametrize("schedule", [never_schedule, every_ten])
def test_before_anything_is_learned_there_is_nothing_to_unlearn(schedule: Callable[[int], bool]) -> None:
    study = imported(remembering(schedule), 9)
    study.withdraw("past-1", "ann")
    study.tell("past-2", "ann", "normal", amend=True)
    assert study.due() is None


def test_a_method_that_only_counts_never_learns() -> None:
    study = imported(create_study(PANEL, options=Options(method="until-determined")), 3)
    study.withdraw("past-1", "ann")
    assert study.due() is None


def test_a_job_made_before_a_change_and_adopted_after_it_leaves_a_fit_due() -> None:
    study = imported(remembering(every_ten), 10)
    job = study.due()
    assert job is not None
    study.withdraw("past-0", "ann")
    study.adopt(job, job.run())
    after = study.due()
    assert after is not None
    assert after.history.votes()[0].tolist() == [-1, 0, -1]
    again = rebuilt(study)
    assert again.predictor == study.predictor
    assert again.due() == after


def test_a_job_shares_nothing_with_its_study() -> None:
    study = imported(remembering(), 4)
    job = study.due()
    assert job is not None
    copy = pickle.loads(pickle.dumps(job))  # noqa: S301  # our own bytes, as a process pool would send them
    study.withdraw("past-0", "ann")
    study.tell("past-1", "ann", "normal", amend=True)
    assert job == copy
    assert job.run() == copy.run()


def test_a_window_limits_what_is_learned_from_after_a_change_too() -> None:
    study = imported(remembering(window=2), 5)
    learn(study)
    study.tell("past-4", "ann", "normal", amend=True)
    study.withdraw("past-0", "ann")
    job = study.due()
    assert job is not None
    assert [case.key for case in job.history] == ["past-3", "past-4"]
    assert job.history.votes().tolist() == [[1, 0, -1], [0, 0, -1]]
    assert job.cases == 5
    study.adopt(job, job.run())
    study.withdraw("past-3", "ben")
    study.import_case("last", {}, {"cho": "normal"})
    job = study.due()
    assert job is not None
    assert job.history.votes().tolist() == [[0, 0, -1], [-1, -1, 0]]  # past-3 has left the window
    assert rebuilt(study).due() == job


@pytest.mark.parametrize("schedule", [paper_schedule, every_schedule, every_ten, never_schedule])
def test_asking_often_what_is_due_answers_as_asking_once(schedule: Callable[[int], bool]) -> None:
    often, once = remembering(schedule), remembering(schedule)
    for n in range(45):
        for study in (often, once):
            study.import_case(f"past-{n}", {}, {"ann": "normal"})
        often.due()
        if n % 7 == 6:
            assert often.due() == once.due()
        if n % 14 == 13 and often.due() is not None:
            learn(often)
            learn(once)


@pytest.mark.parametrize(
    "options",
    [
        QUORATE,
        PAPER,
        Options(method="infexp", schedule="every"),
        Options(method="confusion"),
        replace(QUORATE, method="until-determined", chooser="entropy"),
        replace(PAPER, method="until-determined", chooser="entropy"),
    ],
    ids=["bayes", "bayes:paper", "infexp", "confusion", "guided", "guided by the paper's model"],
)
def test_every_learner_copes_with_a_case_that_lost_its_votes(options: Options) -> None:
    study = create_study(PANEL, options=options)
    study.import_case("past", {"densenet": [0.3, 0.7]}, {"ben": "abnormal"})
    learn(study)
    study.withdraw("past", "ben")
    learn(study)
    assert study.due() is None
    opened(study, "c1", ann="abnormal")
    assert np.isfinite(study.forecast("c1").values).all()
    study.ask("c1")


@pytest.mark.parametrize("options", [QUORATE, PAPER], ids=["quorate", "paper"])
def test_the_model_rebuilt_after_changed_votes_asks_the_same_questions(options: Options) -> None:
    study = imported(create_study(PANEL, options=replace(options, window=4), seed=5), 5)
    learn(study)
    opened(study, "c1", ann="abnormal", ben="abnormal", cho="abnormal").settle("c1")
    early = study.due()
    assert early is not None
    study.withdraw("past-4", "ben")
    study.adopt(early, early.run())
    learn(study)
    study.tell("c1", "cho", "normal", amend=True)
    study.tell("past-4", "ben", "abnormal")
    learn(study)
    assert study.due() is None
    again = rebuilt(study)
    assert again.history == study.history
    assert again.due() is None
    for one in (study, again):
        opened(one, "next", ann="normal", ben="abnormal")
        one.withdraw("next", "ann")
    first, second = study.ask("next"), again.ask("next")
    assert isinstance(first, Query)
    assert first == second
    assert predictor_to_npz(study.predictor) == predictor_to_npz(again.predictor)
