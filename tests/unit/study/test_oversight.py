"""Audits, guards, absences, abstentions and reopened cases: who is asked then, and what is recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quorate.assembly import Options, create_study
from quorate.core.case import Show
from quorate.core.decision import Query, Settle, Wait
from quorate.core.panel import Panel
from quorate.core.rules import Guard, Rules
from quorate.errors import SettingsError, StudyError
from quorate.study.events import Audited, Leased, Opened, Settled
from quorate.study.state import folded
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
COUNTING = Options(method="until-determined", chooser="panel")


def study(options: Options = COUNTING, rules: Rules | None = None, audit: bool = False) -> Study:
    made = create_study(PANEL, options=replace(options, rules=rules or Rules()))
    made.open("c1", {"densenet": [0.8, 0.2]}, audit=audit, show=Show(text="a film"))
    return made


def next_of(made: Study, *busy: str) -> str:
    step = made.ask("c1", busy=busy)
    return step.expert if isinstance(step, Query) else type(step).__name__


def vote(made: Study, *experts: str, as_: str = "normal") -> None:
    for expert in experts:
        made.tell("c1", expert, as_)


def test_an_audit_records_what_would_have_settled_and_then_asks_everyone() -> None:
    made = study(audit=True)
    vote(made, "ann", "ben")
    would_be = made.settle("c1")
    assert isinstance(would_be, Audited)
    assert (would_be.outcome, would_be.human_votes, would_be.kept) == ("normal", 2, True)
    assert next_of(made) == "cho"
    with pytest.raises(StudyError, match="'cho' should be asked"):
        made.settle("c1")
    made.tell("c1", "cho", "abnormal")
    found = made.settle("c1")
    assert isinstance(found, Settled)
    assert found.human_votes == 3
    assert made.state.audits["c1"] == would_be
    assert not made.state.whole


def test_an_audit_goes_past_a_limit_on_votes() -> None:
    made = study(rules=Rules(max_votes=1), audit=True)
    vote(made, "ann")
    assert made.settle("c1").reason == "limit"
    assert next_of(made) == "ben"


def test_an_audit_stops_at_the_budget_and_says_so() -> None:
    made = study(rules=Rules(budget=2.0), audit=True)
    vote(made, "ann", "ben")
    made.settle("c1")
    found = made.settle("c1")
    assert isinstance(found, Settled)
    assert (found.reason, found.human_votes) == ("budget", 2)


def test_what_experts_are_shown_is_in_the_journal() -> None:
    (event,) = study().journal
    assert isinstance(event, Opened)
    assert event.show == Show(text="a film")


def test_a_guard_asks_for_more_votes_where_a_case_looks_grave() -> None:
    guarded = Rules(guards=[Guard("abnormal", above=0.1, votes=2)])
    sure = Options(method="majority:0", chooser="panel")
    made = study(sure, guarded)
    assert next_of(made) == "ann"
    vote(made, "ann", "ben")
    assert next_of(made) == "Settle"
    assert next_of(study(sure, Rules(guards=[Guard("abnormal", above=0.2, votes=2)]))) == "Settle"
    unseen = create_study(PANEL, options=replace(sure, rules=guarded))
    unseen.open("c1", {})
    assert next_of(unseen) == "ann"  # no classifier: it may be anything


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        (Guard("odd", 0.1, 2), "guard of 'odd': no such class; the panel has normal, abnormal"),
        (Guard("normal", 0.1, 4), "4 votes are more than the panel has: 3 experts"),
    ],
)
def test_guards_that_no_case_can_keep_to_are_refused(guard: Guard, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        study(rules=Rules(guards=[guard]))


def test_guards_out_of_range_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"probability 1\.5 is not between 0 and 1"):
        Guard("normal", 1.5, 1)
    with pytest.raises(SettingsError, match="3 votes are more than max_votes 2"):
        Rules(max_votes=2, guards=[Guard("normal", 0.5, 3)])


def test_those_who_are_away_are_not_asked_and_are_waited_for() -> None:
    made = study()
    made.away("ann")
    made.away("ann")  # known
    assert next_of(made) == "ben"
    made.away("ben")
    made.away("cho")
    step = made.ask("c1")
    assert isinstance(step, Wait)
    assert (step.pending, step.away) == ((), ("ann", "ben", "cho"))
    with pytest.raises(StudyError, match="it waits for ann, ben, cho"):
        made.settle("c1")
    made.back("ben")
    assert next_of(made) == "ben"
    assert folded(PANEL, made.journal) == made.state


def test_the_busy_are_passed_over_for_one_decision() -> None:
    made = study()
    assert next_of(made, "ann") == "ben"
    assert next_of(made, "ann", "ben", "cho") == "Wait"
    assert next_of(made) == "ann"


def test_a_required_expert_who_is_away_holds_the_case() -> None:
    made = study(Options(method="majority:0", chooser="panel"), Rules(required=["cho"]))
    made.away("cho")
    assert next_of(made) == "Wait"
    made.back("cho")
    vote(made, "cho")
    assert next_of(made) == "Settle"


def test_the_absent_are_not_waited_for_where_a_limit_or_certainty_ends_it() -> None:
    made = study(rules=Rules(max_votes=1))
    vote(made, "ann")
    made.away("ben")
    made.away("cho")
    step = made.ask("c1")
    assert isinstance(step, Settle)
    assert step.reason == "limit"
    decided = study()
    vote(decided, "ann", "ben")
    decided.away("cho")
    assert next_of(decided) == "Settle"


def test_whoever_abstains_leaves_the_case_to_the_others() -> None:
    made = study()
    made.lease("c1", "ann")
    made.abstain("c1", "ann")
    made.abstain("c1", "ann")  # the same twice is once
    assert made.pending("c1") == ()
    assert next_of(made) == "ben"
    vote(made, "ben", "cho")
    assert made.settle("c1").reason == "certain"
    with pytest.raises(StudyError, match="does not belong to the panel"):
        made.tell("c1", "ann", "normal")
    with pytest.raises(StudyError, match="withdraw the vote before abstaining"):
        made.abstain("c1", "ben")


def test_whoever_let_the_question_pass_may_still_abstain() -> None:
    made = study()
    made.lease("c1", "ann")
    made.expire("c1", "ann")
    made.abstain("c1", "ann")
    assert made.state.known("c1").available == (False, True, True)
    vote(made, "ben", "cho")
    made.settle("c1")
    before = len(made.journal)
    made.abstain("c1", "ann")  # it has settled: there is nothing to leave
    assert len(made.journal) == before


def test_a_case_that_all_abstain_from_ends_unsettled_and_marked() -> None:
    made = study()
    for expert in PANEL.experts:
        made.abstain("c1", expert)
    found = made.settle("c1")
    assert isinstance(found, Settled)
    assert (found.human_votes, found.reason, found.kept) == (0, "nobody left", False)


def test_a_reopened_case_teaches_nothing_until_it_settles_again() -> None:
    made = study()
    vote(made, "ann", "ben")
    made.settle("c1")
    made.open("c2", {"densenet": [0.5, 0.5]})
    for expert in ("ann", "ben"):
        made.tell("c2", expert, "abnormal")
    made.settle("c2")
    made.reopen("c1", whole=True)
    assert [case.key for case in made.history] == ["c2"]
    assert next_of(made) == "cho"
    made.tell("c2", "cho", "normal")  # rows have moved up: the vote finds its case all the same
    assert made.history.cases[0].votes == ((0, 1), (1, 1), (2, 0))
    made.tell("c1", "cho", "normal")
    made.settle("c1")
    assert [case.key for case in made.history] == ["c2", "c1"]
    assert folded(PANEL, made.journal) == made.state


def test_an_open_case_can_be_asked_of_everyone() -> None:
    made = study()
    vote(made, "ann", "ben")
    assert next_of(made) == "Settle"
    made.reopen("c1", whole=True)
    assert next_of(made) == "cho"
    vote(made, "cho")
    assert made.settle("c1").human_votes == 3
    assert folded(PANEL, made.journal) == made.state


def test_only_settled_cases_can_be_reopened() -> None:
    made = study()
    with pytest.raises(StudyError, match="'c1' is open and cannot be reopened"):
        made.reopen("c1")
    made.import_case("past", {}, {"ann": "normal"})
    with pytest.raises(StudyError, match="'past' was imported and cannot be reopened"):
        made.reopen("past")


def test_events_of_others_are_followed() -> None:
    made, other = study(), create_study(PANEL, options=COUNTING)
    made.tell("c1", "ann", "normal")
    for event in made.journal:
        other.follow(event)
    assert other.state == made.state
    assert len(other.journal) == 0


def test_a_reopened_case_is_unlearned_by_a_fit_at_once() -> None:
    made = create_study(PANEL, options=Options(chooser="panel"), max_error=0.2)
    for key in ("c1", "c2"):
        made.open(key, {"densenet": [0.9, 0.1]})
        for expert in PANEL.experts:
            made.tell(key, expert, "normal")
        made.settle(key)
        job = made.due()
        assert job is not None
        made.adopt(job, job.run())
    assert made.due() is None
    made.reopen("c1")
    job = made.due()
    assert job is not None
    assert [case.key for case in job.history] == ["c2"]


def test_a_lease_keeps_its_deadline_and_why_it_was_given() -> None:
    made = study()
    step = made.ask("c1")
    assert isinstance(step, Query)
    made.lease("c1", step.expert, until=100.0, why=step)
    assert made.state.waiting("c1").until == (100.0,)
    leased = list(made.journal)[-1]
    assert isinstance(leased, Leased)
    assert leased.why is not None
    assert leased.why.reason == "unsure"
    assert [PANEL.experts[expert] for expert, _ in leased.why.gains] == list(step.gains)
    made.tell("c1", step.expert, "normal")
    assert made.state.waiting("c1").until == ()
