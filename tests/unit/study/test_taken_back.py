"""Votes that must be, and votes that are taken back: who is asked again then, and who is not."""

from __future__ import annotations

import pytest

from quorate.core.decision import Query, Settle, Wait
from quorate.core.rules import Rules
from quorate.errors import StudyError
from quorate.study.study import Study
from tests.unit.study.test_leases import PANEL, asked, study


def short(least: int = 1) -> Study:
    """A study whose only case was let pass by everyone."""
    made = study(1, Rules(min_votes=least))
    for _ in PANEL.experts:
        step = made.ask("c1")
        assert isinstance(step, Query)
        made.lease("c1", step.expert)
        made.expire("c1", step.expert)
    return made


def test_a_case_that_nobody_saw_waits_for_a_person() -> None:
    made = short()
    step = made.ask("c1")
    assert isinstance(step, Wait)
    assert (step.pending, step.away, step.reason) == ((), (), "rule")
    with pytest.raises(StudyError, match="reopen it to ask again"):
        made.settle("c1")
    made.tell("c1", "ann", "normal")
    assert isinstance(made.ask("c1"), Settle), "late as it is, it is a person's vote"


def test_without_a_rule_a_case_settles_where_everyone_let_it_pass() -> None:
    step = short(0).ask("c1")
    assert isinstance(step, Settle)
    assert (step.reason, step.human_votes, step.kept) == ("nobody left", 0, False)


def test_reopening_asks_those_again_who_let_the_question_pass() -> None:
    made = short()
    made.reopen("c1", whole=True)
    assert isinstance(made.ask("c1"), Query)


def test_who_went_away_with_a_question_may_be_asked_once_back() -> None:
    made = study(1, Rules(min_votes=4))
    step = made.ask("c1")
    assert isinstance(step, Query)
    made.lease("c1", step.expert)
    made.away(step.expert)
    made.expire("c1", step.expert)
    for _ in range(3):
        other = made.ask("c1")
        assert isinstance(other, Query)
        assert other.expert != step.expert
        made.tell("c1", other.expert, "normal")
    waits = made.ask("c1")
    assert isinstance(waits, Wait)
    assert waits.away == (step.expert,)
    made.back(step.expert)
    last = made.ask("c1")
    assert isinstance(last, Query)
    assert last.expert == step.expert


def test_a_case_that_is_opened_again_gets_at_least_one_more_vote() -> None:
    made = study(1, Rules(min_votes=1, max_votes=1))
    made.tell("c1", "ann", "normal")
    made.settle("c1")
    made.reopen("c1")
    step = made.ask("c1")
    assert isinstance(step, Query), "whatever the limit was"
    made.tell("c1", step.expert, "normal")
    assert isinstance(made.ask("c1"), Settle)


def test_which_votes_a_case_settled_with() -> None:
    made = study(1, Rules(min_votes=1, max_votes=1))
    made.tell("c1", "ann", "normal")
    assert not made._verbs.decided_by("c1", "ann"), "it is open"
    made.settle("c1")
    made.tell("c1", "ben", "abnormal")
    assert made._verbs.decided_by("c1", "ann")
    assert not made._verbs.decided_by("c1", "ben"), "who was late"
    assert not made._verbs.decided_by("c1", "cho"), "who has not voted"


def test_a_corrected_vote_does_not_bring_back_those_who_let_the_question_pass() -> None:
    made = study(1, Rules(min_votes=1, max_votes=1))
    made.lease("c1", "ann")
    made.expire("c1", "ann")
    made.tell("c1", "ben", "normal")
    made.settle("c1")
    made.correct("c1", "ben", "abnormal")
    assert made.state.waiting("c1").passed == ("ann",)
    assert made.state.open_case("c1") is not None
    made.settle("c1")
    made.correct("c1", "ben", None)
    step = made.ask("c1")
    assert isinstance(step, Query)
    assert step.expert != "ann", "who is not asked twice"


def test_who_was_not_needed_any_more_is_asked_once_a_vote_is_taken_back() -> None:
    made = study(4)
    made.lease("c1", *PANEL.experts)
    for name in ("ann", "ben", "cho"):
        made.tell("c1", name, "normal")
    made.settle("c1")
    made.expire("c1", "dan")
    assert made.state.waiting("c1").passed == (), "dan let nothing pass"
    made.correct("c1", "ben", None)
    assert {*asked(made)} == {"ben", "dan"}
