"""Experts who join, retire and return, and classifiers that are replaced while a study runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from quorate.assembly import Options, create_study
from quorate.core.decision import Query, Settle
from quorate.core.target import Votes
from quorate.errors import PanelError, StudyError, TargetError
from quorate.policy.schedule import every_schedule
from quorate.study.events import Event, Joined, Replaced, Restored, Retired, Returned
from quorate.study.journal import MemoryJournal
from quorate.study.study import Study
from tests.unit.study.memoirs import PANEL, imported, opened, remembering, who


def counting() -> Study:
    return create_study(PANEL, name="cxr", options=Options(method="until-determined", chooser="panel"))


def test_a_new_expert_is_asked_about_cases_opened_from_then_on() -> None:
    study = opened(counting(), "before")
    study.add_expert("dee")
    opened(study, "after")
    assert study.panel.experts == study.experts == ("ann", "ben", "cho", "dee")
    assert who(study, "before") == ["ann", "ben", "cho"]
    assert who(study, "after") == ["ann", "ben", "cho", "dee"]
    with pytest.raises(StudyError, match=r"'dee' does not belong to the panel of case 'before'$"):
        study.tell("before", "dee", "normal")
    study.tell("after", "dee", "abnormal")
    study.tell("after", "ann", "abnormal")
    assert isinstance(study.ask("after"), Query)  # two of four can still be a tie
    study.tell("after", "ben", "abnormal")
    assert study.settle("after").outcome == "abnormal"
    study.open("few", {}, available=["dee"])
    study.tell("few", "dee", "normal")
    assert study.settle("few").reason == "certain"


def test_the_past_is_as_wide_as_the_panel() -> None:
    study = imported(counting(), 2)
    study.add_expert("dee")
    study.replace_classifier("densenet", "vit")
    study.import_case("more", {"vit": [0.1, 0.9], "densenet": [0.2, 0.8]}, {"dee": "normal", "ann": "normal"})
    assert study.history.votes().tolist() == [[1, 0, -1, -1], [1, 0, -1, -1], [0, -1, -1, 0]]
    p = study.history.probabilities()
    assert p.shape == (3, 2, 2)
    assert np.isnan(p[:2, 1]).all()
    assert p[2].tolist() == [[0.2, 0.8], [0.1, 0.9]]
    assert [case.available for case in study.history] == [(True, True, False, False)] * 2 + [(True, False, False, True)]


def test_a_retired_expert_is_not_asked_any_more() -> None:
    study = opened(opened(counting(), "untouched"), "voted", ann="normal")
    study.retire_expert("ann")
    opened(study, "after")
    assert study.experts == ("ben", "cho")
    assert study.panel.experts == ("ann", "ben", "cho")
    assert who(study, "untouched") == who(study, "voted") == who(study, "after") == ["ben", "cho"]
    with pytest.raises(StudyError, match=r"'ann' does not belong to the panel of case 'after', and has retired from"):
        study.tell("after", "ann", "normal")
    study.tell("voted", "ben", "normal")  # her vote counts: two of three
    assert study.settle("voted").reason == "certain"
    study.tell("untouched", "ben", "normal")
    study.tell("untouched", "cho", "abnormal")
    assert study.settle("untouched").reason == "tie"  # the target is that of those who are left


def test_a_retired_expert_may_correct_a_vote_but_is_not_asked_for_it_again() -> None:
    study = opened(counting(), "c1", ann="normal")
    study.retire_expert("ann")
    study.tell("c1", "ann", "abnormal", amend=True)
    assert who(study, "c1") == ["ben", "cho"]
    study.withdraw("c1", "ann")
    assert who(study, "c1") == ["ben", "cho"]
    with pytest.raises(StudyError, match=r"does not belong"):
        study.tell("c1", "ann", "normal")


def test_a_retired_expert_s_late_vote_on_a_settled_case_still_teaches() -> None:
    study = opened(counting(), "c1", ben="normal", cho="normal")
    study.settle("c1")
    study.retire_expert("ann")
    study.tell("c1", "ann", "abnormal")
    assert study.history.votes().tolist() == [[1, 0, 0]]
    study.withdraw("c1", "ann")
    assert study.history.cases[0].available == (True, True, True)  # what belonged to a settled case stays


def test_a_case_that_loses_its_last_expert_settles_by_the_votes_it_has() -> None:
    study = counting()
    study.open("c1", {}, available=["ann", "ben"])
    study.tell("c1", "ben", "abnormal")
    study.retire_expert("ann")
    step = study.ask("c1")
    assert isinstance(step, Settle)
    assert (step.outcome, step.reason, step.human_votes) == ("abnormal", "certain", 1)


def test_a_case_that_would_have_nobody_passes_to_everyone_left() -> None:
    study = counting()
    study.open("hers", {}, available=["ann"])
    study.open("voted", {}, available=["ann"])
    study.tell("voted", "ann", "normal")
    study.retire_expert("ann")
    assert who(study, "hers") == ["ben", "cho"]
    assert isinstance(study.ask("voted"), Settle)
    study.withdraw("voted", "ann")
    assert who(study, "voted") == ["ben", "cho"]
    study.retire_expert("ben")
    assert who(study, "hers") == who(study, "voted") == ["cho"]


def test_an_expert_who_returns_is_the_one_who_left() -> None:
    study = opened(imported(counting(), 1), "open")
    study.retire_expert("ann")
    study.add_expert("ann")
    opened(study, "after")
    assert study.panel == PANEL
    assert study.history.votes().tolist() == [[1, 0, -1]]
    assert who(study, "open") == ["ben", "cho"]  # cases that are open keep their panel
    assert who(study, "after") == ["ann", "ben", "cho"]
    assert list(study.journal)[2:4] == [Retired(0), Returned(0)]


def test_a_replaced_classifier_is_missing_from_then_on() -> None:
    study = opened(counting(), "before")
    study.replace_classifier("densenet", "vit")
    assert study.classifiers == ("vit",)
    assert study.panel.classifiers == ("densenet", "vit")
    with pytest.raises(StudyError, match=r"'densenet' was replaced in study 'cxr'; expected probabilities of vit$"):
        study.open("c1", {"densenet": [0.5, 0.5]})
    study.open("c1", {"vit": [0.2, 0.8], "densenet": None})
    for key in ("before", "c1"):
        for expert in ("ann", "ben"):
            study.tell(key, expert, "normal")
        study.settle(key)
    assert [case.probabilities for case in study.history] == [((0.2, 0.8), None), (None, (0.2, 0.8))]
    study.replace_classifier("vit", "densenet")  # and back
    study.open("c2", {"densenet": [0.5, 0.5]})
    assert study.panel.classifiers == ("densenet", "vit")
    assert [e for e in study.journal if isinstance(e, Replaced | Restored)] == [Replaced(0, "vit"), Restored(1, 0)]


def test_what_does_not_fit_is_refused_and_leaves_no_trace() -> None:
    study = counting()
    study.add_expert("dee")
    study.retire_expert("dee")
    study.replace_classifier("densenet", "vit")
    before = list(study.journal)
    refused: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("'ann' belongs to study 'cxr' already; expected .* retired expert: dee$", StudyError, lambda: add("ann")),
        ("expert '' is not a name; expected a text", PanelError, lambda: add("")),
        ("no expert 'zed'; the panel has ann, ben, cho, dee", PanelError, lambda: study.retire_expert("zed")),
        (
            "'dee' has retired .* already; expected one of ann, ben, cho$",
            StudyError,
            lambda: study.retire_expert("dee"),
        ),
        ("'dee' has retired from study 'cxr'; expected some of ann, ben, cho, or", StudyError, lambda: open_for("dee")),
        ("no classifier 'x'; the panel has densenet, vit", PanelError, lambda: study.replace_classifier("x", "y")),
        ("'densenet' was replaced .* already; expected one in use: vit", StudyError, lambda: instead("densenet", "y")),
        ("'vit' is in use in study 'cxr' already and cannot replace 'vit'", StudyError, lambda: instead("vit", "vit")),
        ("classifier ' ' is not a name", PanelError, lambda: instead("vit", " ")),
    ]

    def add(name: str) -> None:
        study.add_expert(name)

    def open_for(name: str) -> None:
        study.open("c1", {}, available=["ann", name])

    def instead(old: str, new: str) -> None:
        study.replace_classifier(old, new)

    for message, error, act in refused:
        with pytest.raises(error, match=message):
            act()
    study.add_expert("dee")
    with pytest.raises(StudyError, match=r"retired expert: nobody$"):
        study.add_expert("dee")
    study.retire_expert("dee")
    study.retire_expert("ann")
    study.retire_expert("ben")
    with pytest.raises(StudyError, match=r"'cho' is the last of study 'cxr'; add another one first"):
        study.retire_expert("cho")
    assert list(study.journal)[: len(before)] == before
    assert len(study.journal) == len(before) + 4


def test_a_new_expert_has_a_cost() -> None:
    panel = PANEL.priced({"ann": 3.0})
    method = Options(method="until-determined", chooser="panel")
    study = create_study(panel, name="cxr", options=method)
    study.add_expert("dee")
    study.add_expert("eve", cost=0.5)
    assert study.panel.costs == (3.0, 1.0, 1.0, 1.0, 0.5)
    study.retire_expert("eve")
    with pytest.raises(StudyError, match=r"'eve' returns to study 'cxr' at the cost of before, 0.5, not 2; leave"):
        study.add_expert("eve", cost=2.0)
    study.add_expert("eve", cost=0.5)
    with pytest.raises(PanelError, match="cost -1 of expert 'fay' is out of range"):
        study.add_expert("fay", cost=-1.0)
    assert [event for event in study.journal if isinstance(event, Joined)] == [Joined("dee", 1.0), Joined("eve", 0.5)]
    again = create_study(panel, options=method, journal=study.journal)
    assert again.panel == study.panel
    before = create_study(panel, options=method, journal=MemoryJournal([Joined("dee")]))  # as journals were kept
    assert before.panel.costs == (3.0, 1.0, 1.0, 1.0)


def test_a_new_expert_has_weight_1() -> None:
    study = create_study(PANEL, target="weighted:ann=3", options=Options(method="until-determined", chooser="panel"))
    study.add_expert("dee")
    opened(study, "c1", ann="normal", ben="abnormal", cho="abnormal")
    step = study.ask("c1")
    assert isinstance(step, Query)
    assert step.expert == "dee"
    study.tell("c1", "dee", "abnormal")
    step = study.ask("c1")
    assert isinstance(step, Settle)
    assert step.reason == "tie"  # 3 against 1 + 1 + 1


def escalated(votes: Votes) -> str:
    return "refer" if votes.get("dee") == "abnormal" or list(votes.values()).count("abnormal") >= 2 else "discharge"


def test_a_function_is_given_the_votes_of_those_who_join() -> None:
    study = create_study(PANEL, target=escalated, options=Options(method="until-determined", chooser="panel"))
    study.add_expert("dee")
    opened(study, "c1", dee="abnormal")
    assert study.settle("c1").outcome == "refer"


def number(votes: Votes) -> int:
    return list(votes.values()).count("abnormal")


def test_a_function_that_new_experts_give_other_outcomes_refuses_them() -> None:
    study = create_study(PANEL, target=number, options=Options(method="until-determined"))
    with pytest.raises(
        TargetError, match="function:number gives 4 once dee may vote; its outcomes are 0, 1, 2, 3: decl"
    ):
        study.add_expert("dee")
    assert len(study.journal) == 0
    assert study.panel == PANEL


@pytest.mark.parametrize("event", [Joined("cho"), Replaced(0, "densenet")])
@pytest.mark.parametrize("kept", [False, True])
def test_a_journal_of_another_panel_is_refused(event: Event, kept: bool) -> None:
    learned = remembering(every_schedule).predictor if kept else None
    with pytest.raises(StudyError, match=r"does not fit the panel: .* is named twice.* with the panel it started with"):
        Study(
            PANEL,
            target=remembering().target,
            method=remembering().method,
            journal=MemoryJournal([event]),
            learned=learned,
        )
