"""Rules in a live study: what was spent, and that nothing but votes told uses up a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.assembly import Options, create_study
from quorate.core.decision import Query, Settle
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.errors import SettingsError, StudyError
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"], costs={"ann": 3.0})
COUNTING = Options(method="until-determined", chooser="panel")


def study(rules: Rules, method: str = "until-determined", **options: object) -> Study:
    chosen = replace(COUNTING, method=method, rules=rules, **options)  # type: ignore[arg-type]  # by name
    made = create_study(PANEL, options=chosen)
    made.open("c1", {})
    return made


def test_what_is_spent_counts_every_vote_told_and_nothing_comes_back() -> None:
    made = study(Rules(budget=6))
    made.import_case("past", {}, {"ann": "normal", "ben": "normal"})
    assert (made.spent, made.left) == (0, 6)
    made.tell("c1", "ann", "normal")
    made.tell("c1", "ann", "normal")
    made.tell("c1", "ann", "abnormal", amend=True)
    assert (made.spent, made.left) == (3, 3)
    made.withdraw("c1", "ann")
    assert made.left == 3
    made.tell("c1", "ann", "normal")  # another vote, another fee
    assert (made.spent, made.left) == (6, 0)
    step = made.ask("c1")
    assert isinstance(step, Settle)
    assert (step.reason, step.kept) == ("budget", False)
    settled = made.settle("c1")
    assert (settled.reason, settled.kept) == ("budget", False)
    made.tell("c1", "ben", "normal")  # a late vote teaches, and was not asked for
    assert (made.spent, made.left) == (7, 0)


def test_a_study_rebuilt_has_spent_as_much() -> None:
    made = study(Rules(budget=6))
    made.tell("c1", "ann", "normal")
    again = create_study(PANEL, options=replace(COUNTING, rules=Rules(budget=6)), journal=made.journal)
    assert again.spent == made.spent == 3
    assert again.ask("c1") == made.ask("c1")


def test_without_a_budget_there_is_no_end_of_money() -> None:
    assert study(Rules()).left is None


def test_a_case_that_a_rule_keeps_open_cannot_be_settled() -> None:
    made = study(Rules(required=("cho",)))
    for expert in ("ann", "ben"):
        made.tell("c1", expert, "normal")
    step = made.ask("c1")
    assert isinstance(step, Query)
    assert (step.expert, step.reason) == ("cho", "rule")
    with pytest.raises(StudyError, match="expert 'cho' should be asked"):
        made.settle("c1")
    made.retire_expert("cho")  # is on no panel any more
    assert made.settle("c1").reason == "certain"


def test_a_loss_resolves_a_tie_and_is_stated() -> None:
    made = create_study(PANEL, options=replace(COUNTING, loss={"abnormal": 5}))
    made.open("c1", {}, available=["ann", "ben"])
    made.tell("c1", "ann", "normal")
    made.tell("c1", "ben", "abnormal")
    step = made.ask("c1")
    assert isinstance(step, Settle)
    assert (step.outcome, step.reason, step.tied) == ("abnormal", "certain", ())
    assert (step.forecast.error, step.forecast.loss) == (0.5, 0.5)
    assert step.forecast.risks == {"normal": 2.5, "abnormal": 0.5}


def test_rules_and_losses_that_cannot_be_are_refused_when_a_study_is_made() -> None:
    for options, message in (
        ({"rules": Rules(required=("zed",))}, "no expert 'zed'; the panel has ann"),
        ({"rules": Rules(min_votes=4)}, "min_votes 4 is more than the panel has"),
        ({"loss": {"mild": 2.0}}, "no outcome 'mild' to have a loss; the target has normal, abnormal"),
    ):
        with pytest.raises(SettingsError, match=message):
            create_study(PANEL, options=replace(COUNTING, **options))


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    method=st.sampled_from(["until-determined", "majority:1", "majority:2", "all", "classifier", "confusion"]),
    least=st.integers(0, 2),
    required=st.lists(st.sampled_from(PANEL.experts), unique=True, max_size=2),
    most=st.none() | st.integers(2, 3),
    budget=st.none() | st.integers(0, 15),
)
def test_rules_hold_in_any_study(
    data: st.DataObject, method: str, least: int, required: list[str], most: int | None, budget: int | None
) -> None:
    rules = Rules(least, tuple(required), most, budget)
    made = create_study(PANEL, options=Options(method=method, rules=rules))
    for number in range(4):
        key = f"c{number}"
        there = data.draw(st.lists(st.sampled_from(PANEL.experts), unique=True, min_size=1))
        made.open(key, {"densenet": [0.3, 0.7]}, available=there)
        voted = set()
        while isinstance(step := made.ask(key), Query):
            before = made.left
            voted.add(step.expert)
            made.tell(key, step.expert, data.draw(st.sampled_from(PANEL.classes)))
            assert before is None or PANEL.costs[PANEL.expert(step.expert)] <= before
        lacking = [name for name in required if name in there and name not in voted]
        assert isinstance(step, Settle)
        assert step.human_votes == len(voted) <= (most if most is not None else 3)
        assert made.spent <= (budget if budget is not None else made.spent)
        if lacking or len(voted) < min(least, len(there)):
            assert step.reason == "budget"
        made.settle(key)


def test_what_cannot_be_paid_is_for_the_budget_even_where_the_room_is_full() -> None:
    made = create_study(PANEL, options=replace(COUNTING, rules=Rules(required=("ann",), max_votes=2, budget=2)))
    made.open("c", {"densenet": [0.3, 0.7]})
    while isinstance(step := made.ask("c"), Query):
        made.tell("c", step.expert, "normal")
    assert isinstance(step, Settle)
    assert step.human_votes == 2
    assert step.reason == "budget"
