"""Votes on their way: counted as such, never asked for twice, and never beyond what may be in flight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.assembly import Options, create_study
from quorate.core.decision import Query, Settle, Wait
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.core.settings import EvidenceSettings
from quorate.errors import PanelError, SettingsError, StudyError
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho", "dan"], ["densenet"], costs={"ann": 3.0})
COUNTING = Options(method="until-determined", chooser="panel")


def study(in_flight: int = 1, rules: Rules | None = None, options: Options = COUNTING) -> Study:
    made = create_study(PANEL, options=replace(options, in_flight=in_flight, rules=rules or Rules()))
    made.open("c1", {"densenet": [0.5, 0.5]})
    return made


def asked(made: Study) -> tuple[str, ...]:
    step = made.ask("c1")
    return step.batch if isinstance(step, Query) else ()


def test_as_many_are_asked_at_once_as_may_be_in_flight() -> None:
    assert asked(study(1)) == ("ann",)
    assert asked(study(2)) == ("ann", "ben")
    assert asked(study(9)) == ("ann", "ben", "cho", "dan")


def test_whoever_is_asked_is_waited_for_and_not_asked_again() -> None:
    made = study(2)
    made.lease("c1", "ann", "ben")
    step = made.ask("c1")
    assert isinstance(step, Wait)
    assert (step.pending, step.reason, made.pending("c1")) == (("ann", "ben"), "unsure", ("ann", "ben"))
    with pytest.raises(StudyError, match="it waits for ann, ben"):
        made.settle("c1")
    made.tell("c1", "ann", "normal")
    assert asked(made) == ("cho",)  # one more, since one vote is still on its way
    made.lease("c1", "cho")
    assert made.pending("c1") == ("ben", "cho")


def test_the_next_best_is_asked_for_whoever_lets_it_pass() -> None:
    made = study(2)
    made.lease("c1", "ann", "ben")
    made.expire("c1", "ann")
    assert asked(made) == ("cho",)
    made.tell("c1", "ann", "normal")  # late and welcome
    made.tell("c1", "ben", "normal")
    assert asked(made) == ("cho", "dan")


def test_a_case_whose_experts_all_let_it_pass_settles_as_it_is() -> None:
    made = study(4)
    made.lease("c1", *PANEL.experts)
    for name in PANEL.experts:
        made.expire("c1", name)
    step = made.ask("c1")
    assert isinstance(step, Settle)
    assert (step.reason, step.kept, step.human_votes) == ("nobody left", False, 0)


def test_a_case_settles_without_votes_that_it_does_not_need_any_more() -> None:
    made = study(4)
    made.lease("c1", *PANEL.experts)
    for name in ("ann", "ben", "cho"):
        made.tell("c1", name, "normal")
    assert made.settle("c1").reason == "certain"
    assert made.pending("c1") == ("dan",)  # it was asked for, and will have to be paid
    made.tell("c1", "dan", "abnormal")
    assert made.pending("c1") == ()
    assert made.history.cases[-1].votes[-1] == (3, 1)


def test_votes_that_come_after_a_case_settled_were_paid_for_before() -> None:
    made = study(4, Rules(budget=6))
    made.lease("c1", *PANEL.experts)
    assert made.left == 0
    for name in ("ann", "ben", "cho"):
        made.tell("c1", name, "normal")
    made.settle("c1")
    made.open("c2", {})
    step = made.ask("c2")
    assert isinstance(step, Wait)  # the last coin is for dan, whose vote is on its way
    assert (step.reason, made.left) == ("budget", 0)
    with pytest.raises(StudyError, match="it waits for money"):
        made.settle("c2")
    made.tell("c1", "dan", "normal")
    assert (made.spent, made.left) == (6, 0)
    last = made.ask("c2")
    assert isinstance(last, Settle)
    assert last.reason == "budget"
    again = study(4, Rules(budget=6))
    again.lease("c1", *PANEL.experts)
    for name in ("ann", "ben", "cho"):
        again.tell("c1", name, "normal")
    again.settle("c1")
    again.expire("c1", "dan")  # a clock that runs on
    assert again.left == 1


def test_a_vote_that_was_taken_back_may_be_asked_for_again() -> None:
    made = study(1)
    made.lease("c1", "ann")
    made.tell("c1", "ann", "normal")
    made.withdraw("c1", "ann")
    assert (asked(made), made.pending("c1")) == (("ann",), ())


def test_votes_stay_on_their_way_while_the_panel_grows() -> None:
    made = study(2)
    made.lease("c1", "ann")
    made.add_expert("eve")
    assert made.pending("c1") == ("ann",)
    assert asked(made) == ("ben",)
    again = create_study(PANEL, options=made_options(2), journal=made.journal)
    assert again.ask("c1") == made.ask("c1")


def made_options(in_flight: int) -> Options:
    return replace(COUNTING, in_flight=in_flight, rules=Rules())


def test_a_method_that_counts_votes_asks_for_no_more_than_it_counts() -> None:
    made = study(2, options=replace(COUNTING, method="majority:3"))
    assert asked(made) == ("ann", "ben")
    made.lease("c1", "ann", "ben")
    made.tell("c1", "ann", "normal")
    assert asked(made) == ("cho",)
    made.lease("c1", "cho")
    made.tell("c1", "ben", "normal")
    assert isinstance(made.ask("c1"), Wait)  # the third is on its way


def test_rules_count_votes_that_are_on_their_way() -> None:
    made = study(3, Rules(max_votes=2))
    assert asked(made) == ("ann", "ben")
    made.lease("c1", "ann", "ben")
    assert isinstance(made.ask("c1"), Wait)
    poor = study(3, Rules(budget=4))
    assert asked(poor) == ("ann", "ben")
    poor.lease("c1", "ann")
    poor.open("c2", {})
    assert poor.left == 1
    step = poor.ask("c2")
    assert isinstance(step, Query)
    assert step.batch == ("ben",)  # the vote of ann on the other case will have to be paid
    poor.expire("c1", "ann")
    assert poor.left == 4
    least = study(1, Rules(min_votes=1), replace(COUNTING, method="classifier"))
    least.lease("c1", "ann")
    wait = least.ask("c1")
    assert isinstance(wait, Wait)
    assert wait.reason == "rule"
    needed = study(1, Rules(required=("cho",)), replace(COUNTING, method="classifier"))
    needed.lease("c1", "cho")
    assert isinstance(needed.ask("c1"), Wait)
    needed.expire("c1", "cho")
    assert isinstance(needed.ask("c1"), Settle)  # who is required and let it pass cannot be had


def test_a_rule_asks_for_no_more_votes_than_it_needs() -> None:
    sure = replace(COUNTING, method="classifier")  # settles at once but for the rules
    assert asked(study(3, Rules(min_votes=1), sure)) == ("ann",)
    assert asked(study(3, Rules(min_votes=2), sure)) == ("ann", "ben")
    assert asked(study(3, Rules(required=("cho", "dan")), sure)) == ("cho", "dan")
    assert asked(study(3, Rules(min_votes=3, required=("cho",)), sure)) == ("cho",)  # those required come first
    full = study(3, Rules(required=("cho", "dan"), max_votes=2), sure)
    full.tell("c1", "ann", "normal")
    assert asked(full) == ("cho",)  # there is room for one more
    part = study(3, Rules(min_votes=2), sure)
    part.lease("c1", "ann")
    assert asked(part) == ("ben",)


def test_whoever_retires_is_not_waited_for() -> None:
    made = study(2)
    made.lease("c1", "ann", "ben")
    made.retire_expert("ann")
    assert made.pending("c1") == ("ben",)


@pytest.mark.parametrize(
    ("experts", "error", "match"),
    [
        (("eve",), PanelError, "no expert 'eve'"),
        (("ann",), StudyError, "expert 'ann' was asked about case 'c1' already"),
        (("ben", "ben"), StudyError, "expert 'ben' was asked about case 'c1' already"),
        (("cho",), StudyError, "expert 'cho' was asked about case 'c1' already"),
        (("ben", "dan"), StudyError, "expert 'dan' does not belong to the panel of case 'c1'"),
    ],
)
def test_nobody_is_asked_twice_and_all_or_none_are(
    experts: tuple[str, ...], error: type[Exception], match: str
) -> None:
    made = create_study(PANEL, options=COUNTING)
    made.open("c1", {}, available=["ann", "ben", "cho"])
    made.lease("c1", "ann")
    made.tell("c1", "cho", "normal")
    events = len(made.journal)
    with pytest.raises(error, match=match):
        made.lease("c1", *experts)
    assert len(made.journal) == events


def test_only_who_is_waited_for_can_run_out_of_time() -> None:
    made = study()
    with pytest.raises(StudyError, match="no vote of expert 'ann' on case 'c1' is on its way; expected one of nobody"):
        made.expire("c1", "ann")
    with pytest.raises(StudyError, match="never opened"):
        made.lease("c9", "ann")


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_how_many_may_be_in_flight_is_checked(wrong: float) -> None:
    with pytest.raises(SettingsError, match=f"in_flight {wrong} is out of range"):
        study(wrong)  # type: ignore[arg-type]  # what a user may type


def test_a_study_rebuilt_waits_for_the_same_votes() -> None:
    options = Options(in_flight=2, settings=EvidenceSettings(particles=64))
    made = create_study(PANEL, options=options)
    made.open("c1", {"densenet": [0.5, 0.5]})
    made.lease("c1", *asked(made))
    made.expire("c1", made.pending("c1")[0])
    again = create_study(PANEL, options=options, journal=made.journal)
    assert again.pending("c1") == made.pending("c1")
    assert again.ask("c1") == made.ask("c1")


@settings(max_examples=150, deadline=None)
@given(data=st.data(), in_flight=st.integers(1, 3), most=st.none() | st.integers(1, 4))
def test_streams_of_asking_voting_and_letting_pass(data: st.DataObject, in_flight: int, most: int | None) -> None:
    budget = data.draw(st.none() | st.integers(0, 20))
    least = data.draw(st.integers(0, most or 4))
    made = study(in_flight, Rules(min_votes=least, max_votes=most, budget=budget))
    made.open("c2", {"densenet": [0.9, 0.1]})
    ever: dict[str, set[str]] = {"c1": set(), "c2": set()}
    running = ["c1", "c2"]
    for _ in range(60):
        if not running:
            break
        key = data.draw(st.sampled_from(running))
        step = made.ask(key)
        assert len(made.pending(key)) <= in_flight
        if isinstance(step, Settle):
            made.settle(key)
            running.remove(key)
        elif isinstance(step, Query):
            assert not ever[key] & set(step.batch)
            assert len(step.batch) + len(made.pending(key)) <= in_flight
            ever[key] |= set(step.batch)
            made.lease(key, *step.batch)
        elif not step.pending and step.reason == "budget":  # what is left is for votes that are on their way
            other = next(one for one in ("c1", "c2") if made.pending(one))
            name = data.draw(st.sampled_from(made.pending(other)))
            if data.draw(st.booleans()):
                made.expire(other, name)
            else:
                made.tell(other, name, data.draw(st.sampled_from(PANEL.classes)))
        elif not step.pending:  # it needs a person, and one who let the question pass is late
            case = made.state.known(key)
            assert len(case.votes) < least, "the rules want more votes"
            assert ever[key] == set(PANEL.experts), "and nobody is left to be asked"
            with pytest.raises(StudyError, match="reopen it"):
                made.settle(key)
            if budget is not None:  # no rule keeps from paying for votes that come late
                running.remove(key)
                continue
            late = [PANEL.experts[h] for h in case.unasked]
            made.tell(key, data.draw(st.sampled_from(late)), data.draw(st.sampled_from(PANEL.classes)))
        else:
            name = data.draw(st.sampled_from(step.pending))
            if data.draw(st.booleans()):
                made.expire(key, name)
            else:
                made.tell(key, name, data.draw(st.sampled_from(PANEL.classes)))
        assert made.spent <= (budget if budget is not None else made.spent)
    assert not running
    for case in made.history.cases:
        assert len(case.votes) <= (4 if most is None else most)
    for key in ("c1", "c2"):
        for name in made.pending(key):  # late ones
            made.tell(key, name, data.draw(st.sampled_from(PANEL.classes)))
    assert made.spent <= (budget if budget is not None else made.spent)
