"""Random votes, changes of mind and fits: what must be true of a study after any of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quorate.core.decision import Query
from quorate.errors import StudyError
from quorate.policy.schedule import every_schedule, never_schedule
from quorate.study.events import Settled
from quorate.study.method import Job
from tests.unit.study.memoirs import PANEL, every_ten, opened, rebuilt, remembering

KEYS = st.sampled_from(["c1", "c2", "c3", "c4"])
EXPERTS = st.sampled_from(PANEL.experts)
VOTES = st.sampled_from(PANEL.classes)


class ChangedVotesMachine(RuleBasedStateMachine):
    """Random operations on a study beside plain dictionaries of what should be true."""

    def __init__(self) -> None:
        super().__init__()
        self.votes: dict[str, dict[str, str]] = {}  # in the order they came
        self.past: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.fits = 0
        self.learned = 0  # cases behind the fit in force
        self.unlearned = False  # whether a vote of the history changed since that fit was made
        self.pending: Job | None = None
        self.since = False  # whether one changed since the pending job was made

    @initialize(
        schedule=st.sampled_from([every_schedule, never_schedule, every_ten, lambda cases: cases == 3]),
        votes=st.lists(st.tuples(VOTES, VOTES, VOTES), min_size=2, max_size=3),
    )
    def start(self, schedule: Callable[[int], bool], votes: list[tuple[str, str, str]]) -> None:
        self.schedule = schedule
        self.study = remembering(schedule, votes=2, window=3)
        for n, row in enumerate(votes):
            self.import_case(f"past-{n}", list(PANEL.experts), list(row))

    @rule(key=KEYS)
    def open(self, key: str) -> None:
        if key not in self.votes:
            opened(self.study, key)
            self.votes[key] = {}

    @rule(key=KEYS, order=st.permutations(PANEL.experts), votes=st.lists(VOTES, min_size=3, max_size=3))
    def import_case(self, key: str, order: list[str], votes: list[str]) -> None:
        if key not in self.votes:
            self.votes[key] = dict(zip(order, votes, strict=True))
            self.study.import_case(key, {}, self.votes[key])
            self.past.append(key)

    @precondition(lambda self: self.votes)
    @rule(data=st.data(), expert=EXPERTS, vote=VOTES, amend=st.booleans())
    def tell(self, data: st.DataObject, expert: str, vote: str, amend: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.votes)))
        before = self.votes[key].get(expert)
        if before in (None, vote) or amend:
            self.study.tell(key, expert, vote, amend=amend)
            self.votes[key][expert] = vote
            self.changed(key, truly=before not in (None, vote))
        else:
            with pytest.raises(StudyError, match="amend=True"):
                self.study.tell(key, expert, vote)

    @precondition(lambda self: self.votes)
    @rule(data=st.data(), expert=EXPERTS)
    def withdraw(self, data: st.DataObject, expert: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.votes)))
        if expert in self.votes[key]:
            self.study.withdraw(key, expert)
            del self.votes[key][expert]
            self.changed(key, truly=True)
        else:
            with pytest.raises(StudyError, match="no vote"):
                self.study.withdraw(key, expert)

    def changed(self, key: str, *, truly: bool) -> None:
        if truly and key in self.past:
            self.unlearned = self.since = True

    @precondition(lambda self: self.votes)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.votes)))
        if key not in self.past and len(self.votes[key]) >= 2:
            self.outcomes[key] = self.study.settle(key).outcome
            self.past.append(key)

    @precondition(lambda self: self.pending is None)
    @rule()
    def make(self) -> None:
        self.pending = self.study.due()
        self.since = False

    @precondition(lambda self: self.pending is not None)
    @rule()
    def adopt(self) -> None:
        assert self.pending is not None
        self.study.adopt(self.pending, self.pending.run())
        self.fits, self.learned, self.unlearned = self.fits + 1, self.pending.cases, self.since
        self.pending = None

    @invariant()
    def the_history_holds_the_votes_that_stand(self) -> None:
        assert [case.key for case in self.study.history] == self.past
        for case in self.study.history:
            named = [(PANEL.experts[expert], PANEL.classes[vote]) for expert, vote in case.votes]
            assert named == list(self.votes[case.key].items())  # each expert once, in the order the votes came

    @invariant()
    def settled_outcomes_stay(self) -> None:
        settled = {event.key: event.outcome for event in self.study.journal if isinstance(event, Settled)}
        assert settled == self.outcomes
        for key in self.study.contradicted:
            assert list(self.votes[key].values()).count(self.outcomes[key]) < 2

    @invariant()
    def nobody_is_asked_who_has_voted(self) -> None:
        for key in self.votes.keys() - set(self.past):
            step = self.study.ask(key)
            assert not (isinstance(step, Query) and step.expert in self.votes[key])

    @invariant()
    def a_fit_is_due_by_the_schedule_or_to_unlearn(self) -> None:
        scheduled = any(self.schedule(cases) for cases in range(self.learned + 1, len(self.past) + 1))
        unlearn = self.fits > 0 and self.unlearned
        job = self.study.due()
        assert (job is not None) == (scheduled or unlearn)
        if job is not None:
            assert job.history == self.study.history.window(3)
            assert job.previous is self.study.predictor

    @invariant()
    def the_journal_rebuilds_the_study(self) -> None:
        again = rebuilt(self.study)
        assert again.history == self.study.history
        assert again.predictor == self.study.predictor
        assert again.due() == self.study.due()
        assert again.contradicted == self.study.contradicted


TestChangedVotesMachine = ChangedVotesMachine.TestCase
TestChangedVotesMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
