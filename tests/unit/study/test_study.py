"""Studies: what may be done when, and that the journal alone rebuilds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from quorate.assembly import Options, create_study
from quorate.core.decision import Query, Settle
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.errors import InputError, PanelError, StudyError
from quorate.study.journal import MemoryJournal
from quorate.study.seeds import generator
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
COUNTING = Options(method="until-determined", chooser="panel")


def counting() -> Study:
    return create_study(PANEL, name="cxr", options=COUNTING)


def test_a_case_is_asked_until_the_votes_decide() -> None:
    study = counting()
    study.open("c1", {"densenet": [0.2, 0.8]})
    first = study.ask("c1")
    assert isinstance(first, Query)
    assert first.expert == "ann"
    study.tell("c1", "ann", "abnormal")
    assert isinstance(study.ask("c1"), Query)
    study.tell("c1", "ben", "abnormal")
    last = study.ask("c1")
    assert isinstance(last, Settle)
    assert (last.outcome, last.human_votes, last.reason, last.tied) == ("abnormal", 2, "certain", ())
    assert last.forecast.error == 0.0
    settled = study.settle("c1")
    assert settled.outcome == "abnormal"
    assert [case.key for case in study.history] == ["c1"]


def test_a_tie_of_the_whole_panel_settles_as_a_tie() -> None:
    study = counting()
    study.open("c1", {}, available=["ann", "cho"])
    study.tell("c1", "ann", "abnormal")
    study.tell("c1", "cho", "normal")
    step = study.ask("c1")
    assert isinstance(step, Settle)
    assert step.reason == "tie"
    assert step.tied == ("normal", "abnormal")
    assert step.forecast.error == 0.5


def test_what_does_not_fit_is_refused_and_leaves_no_trace() -> None:
    study = counting()
    study.open("c1", {"densenet": [0.2, 0.8]}, available=["ann", "ben"])
    study.tell("c1", "ann", "abnormal")
    before = list(study.journal)
    refused: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("exists already", StudyError, lambda: study.open("c1", {})),
        ("sum to 0.9", InputError, lambda: study.open("c2", {"densenet": [0.1, 0.8]})),
        ("never opened", StudyError, lambda: study.ask("c9")),
        ("never opened", StudyError, lambda: study.tell("c9", "ann", "normal")),
        ("no expert 'zed'", PanelError, lambda: study.tell("c1", "zed", "normal")),
        ("no class 'grey'", PanelError, lambda: study.tell("c1", "ben", "grey")),
        ("does not belong to the panel", StudyError, lambda: study.tell("c1", "cho", "normal")),
        ("has voted 'abnormal' on case 'c1' already", StudyError, lambda: study.tell("c1", "ann", "normal")),
        ("cannot settle yet: expert 'ben'", StudyError, lambda: study.settle("c1")),
    ]
    for message, error, act in refused:
        with pytest.raises(error, match=message):
            act()
    assert list(study.journal) == before
    study.tell("c1", "ann", "abnormal")  # the same vote twice is one vote
    assert list(study.journal) == before


def test_a_late_vote_teaches_but_does_not_unsettle() -> None:
    study = create_study(PANEL, options=Options(method="majority:1"))
    study.open("c1", {})
    study.tell("c1", "ann", "normal")
    study.settle("c1")
    assert list(study.contradicted) == []
    study.tell("c1", "ben", "abnormal")
    study.tell("c1", "cho", "abnormal")
    assert study.history.votes().tolist() == [[0, 1, 1]]
    assert list(study.contradicted) == ["c1"]
    with pytest.raises(StudyError, match="has settled"):
        study.ask("c1")


def test_asking_only_reads_and_answers_alike() -> None:
    study = create_study(PANEL, options=Options(method="until-determined"), seed=7)
    study.open("c1", {"densenet": [0.2, 0.8]})
    size = len(study.journal)
    assert study.ask("c1") == study.ask("c1")
    assert study.due() is None
    assert len(study.journal) == size


SMALL = Settings(chains=2, warmup=20, draws=20, extensions=0, latents=2000, max_rhat=9.0, min_ess=1.0)
PRESETS = {
    "quorate": Options(settings=EvidenceSettings(particles=64)),
    "paper": Options(preset="paper", settings=SMALL),
}
each_preset = pytest.mark.parametrize("options", PRESETS.values(), ids=PRESETS)


def drive(study: Study, cases: int) -> list[object]:
    """Open, ask, tell and settle some cases, adopting each fit that is due; returns every decision."""
    rng = np.random.default_rng(3)
    asked: list[object] = []
    for n in range(cases):
        p = float(rng.uniform(0.05, 0.95))
        key = f"case-{n}"
        study.open(key, {"densenet": [p, 1 - p]})
        while isinstance(step := study.ask(key), Query):
            asked.append((key, step.expert, step.gains, step.reason))
            study.tell(key, step.expert, PANEL.classes[int(rng.random() > p)])
        assert isinstance(step, Settle)
        asked.append((key, step.outcome, step.forecast.values))
        study.settle(key)
        job = study.due()
        if job is not None:
            study.adopt(job, job.run())
    return asked


@each_preset
def test_a_study_rebuilt_from_its_journal_asks_the_same_questions(options: Options) -> None:
    journal = MemoryJournal()
    whole = create_study(PANEL, options=options, seed=5, journal=journal)
    drive(whole, 4)
    again = create_study(PANEL, options=options, seed=5, journal=MemoryJournal(list(journal)))
    for study in (whole, again):
        study.open("next", {"densenet": [0.4, 0.6]})
    assert whole.ask("next") == again.ask("next")
    first, second = whole.ask("next"), again.ask("next")
    assert isinstance(first, Query)
    assert isinstance(second, Query)
    assert (first.expert, first.gains, first.forecast.values) == (second.expert, second.gains, second.forecast.values)
    assert whole.history == again.history


@each_preset
def test_same_seed_same_questions_another_seed_others(options: Options) -> None:
    runs = [drive(create_study(PANEL, options=options, seed=seed), 3) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@each_preset
def test_past_votes_make_a_first_fit_due(options: Options) -> None:
    study = create_study(PANEL, options=options)
    for n in range(7):
        study.import_case(f"past-{n}", {"densenet": [0.3, 0.7]}, {"ann": "abnormal", "cho": "normal"})
    job = study.due()
    assert job is not None
    assert len(job.history) == 7
    study.adopt(job, job.run())
    assert study.due() is None
    with pytest.raises(StudyError, match="out of turn"):
        study.adopt(job, job.run())


@each_preset
def test_a_window_limits_what_is_learned_from(options: Options) -> None:
    study = create_study(PANEL, options=replace(options, window=3))
    for n in range(7):
        study.import_case(f"past-{n}", {"densenet": [0.3, 0.7]}, {"ann": "abnormal"})
    job = study.due()
    assert job is not None
    assert [case.key for case in job.history] == ["past-4", "past-5", "past-6"]


def test_generators_differ_by_every_part_of_their_path() -> None:
    paths: list[tuple[str | int, ...]] = [("a", "bc"), ("ab", "c"), ("a", 1), ("a", "1"), ("a",)]
    numbers = [generator(0, *path).random() for path in paths] + [generator(1, "a").random()]
    assert len(set(numbers)) == len(numbers)


class StudyMachine(RuleBasedStateMachine):
    """Random operations on a study beside a plain dictionary of what should be true."""

    def __init__(self) -> None:
        super().__init__()
        self.study = counting()
        self.votes: dict[str, dict[str, str]] = {}
        self.settled: dict[str, str] = {}

    @rule(key=st.sampled_from(["c1", "c2", "c3"]), p=st.floats(0, 1))
    def open(self, key: str, p: float) -> None:
        if key in self.votes:
            with pytest.raises(StudyError):
                self.study.open(key, {"densenet": [p, 1 - p]})
        else:
            self.study.open(key, {"densenet": [p, 1 - p]})
            self.votes[key] = {}

    @precondition(lambda self: self.votes)
    @rule(data=st.data(), expert=st.sampled_from(PANEL.experts), vote=st.sampled_from(PANEL.classes))
    def tell(self, data: st.DataObject, expert: str, vote: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.votes)))
        before = self.votes[key].get(expert)
        if before in (None, vote):
            self.study.tell(key, expert, vote)
            self.votes[key][expert] = vote
        else:
            with pytest.raises(StudyError):
                self.study.tell(key, expert, vote)

    @precondition(lambda self: self.votes)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.votes)))
        counts = [list(self.votes[key].values()).count(name) for name in PANEL.classes]
        if key not in self.settled and max(counts) >= 2:
            self.settled[key] = self.study.settle(key).outcome
            assert self.settled[key] == PANEL.classes[int(np.argmax(counts))]
        else:
            with pytest.raises(StudyError):
                self.study.settle(key)

    @invariant()
    def nobody_is_asked_twice(self) -> None:
        for key, votes in self.votes.items():
            if key not in self.settled:
                step = self.study.ask(key)
                assert not (isinstance(step, Query) and step.expert in votes)

    @invariant()
    def the_journal_rebuilds_the_study(self) -> None:
        again = create_study(PANEL, options=COUNTING, journal=MemoryJournal(list(self.study.journal)))
        assert again.history == self.study.history
        assert {case.key for case in again.history} == set(self.settled)


TestStudyMachine = StudyMachine.TestCase
TestStudyMachine.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
