"""Random cases, votes, fits and changes of the panel: what must be true of a study after any of them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quorate.assembly import Options, create_study
from quorate.core.decision import Query
from quorate.study.journal import MemoryJournal
from quorate.study.method import Job
from quorate.study.state import folded
from quorate.study.study import Study
from tests.unit.study.memoirs import PANEL, rebuilt, remembering

KEYS = [f"c{n}" for n in range(6)]
NAMES = [*PANEL.experts, "dee", "eve", "fay"]
NETS = ["densenet", "vit", "swin"]
VOTES = st.sampled_from(PANEL.classes)


class ChangingPanelMachine(RuleBasedStateMachine):
    """Random operations on a study beside plain dictionaries of what should be true."""

    def __init__(self) -> None:
        super().__init__()
        self.study = self.made()
        self.came = list(PANEL.experts)
        self.active = set(PANEL.experts)
        self.nets, self.net = ["densenet"], "densenet"
        self.seen_by: dict[str, str] = {}  # the classifier that each case came with
        self.members: dict[str, set[str]] = {}  # who belongs to each case
        self.votes: dict[str, dict[str, str]] = {}
        self.settled: list[str] = []
        self.pending: Job | None = None

    def made(self) -> Study:
        return remembering()

    def again(self) -> Study:
        return rebuilt(self.study)

    @initialize()
    def start(self) -> None:
        self.open("c0")

    @rule(key=st.sampled_from(KEYS))
    def open(self, key: str) -> None:
        if key not in self.members:
            self.study.open(key, {self.net: [0.3, 0.7]})
            self.members[key], self.votes[key], self.seen_by[key] = set(self.active), {}, self.net

    @rule(key=st.sampled_from(KEYS), data=st.data())
    def open_for_some(self, key: str, data: st.DataObject) -> None:
        if key not in self.members:
            some = data.draw(st.sets(st.sampled_from(sorted(self.active)), min_size=1))
            self.study.open(key, {self.net: [0.3, 0.7]}, available=sorted(some))
            self.members[key], self.votes[key], self.seen_by[key] = some, {}, self.net

    @rule(vote=VOTES, data=st.data())
    def ask_and_tell(self, vote: str, data: st.DataObject) -> None:
        if unsettled := sorted(self.members.keys() - set(self.settled)):
            key = data.draw(st.sampled_from(unsettled))
            step = self.study.ask(key)
            if isinstance(step, Query):
                self.study.tell(key, step.expert, vote)
                self.votes[key][step.expert] = vote
            else:
                self.study.settle(key)
                self.settled.append(key)

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        if cast := sorted((key, expert) for key, votes in self.votes.items() for expert in votes):
            key, expert = data.draw(st.sampled_from(cast))
            self.study.withdraw(key, expert)
            del self.votes[key][expert]
            self.leave(key)

    @rule(name=st.sampled_from(NAMES))
    def join_or_return(self, name: str) -> None:
        if name not in self.active:
            self.study.add_expert(name)
            self.active.add(name)
            if name not in self.came:
                self.came.append(name)

    @precondition(lambda self: len(self.active) > 1)
    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.active)))
        self.study.retire_expert(name)
        self.active.remove(name)
        for key in self.members:
            self.leave(key)

    def leave(self, key: str) -> None:
        if key not in self.settled:
            stay = {name for name in self.members[key] if name in self.active or name in self.votes[key]}
            self.members[key] = stay or set(self.active)

    @rule(new=st.sampled_from(NETS))
    def replace_classifier(self, new: str) -> None:
        if new != self.net:
            self.study.replace_classifier(self.net, new)
            self.net = new
            if new not in self.nets:
                self.nets.append(new)

    @precondition(lambda self: self.pending is None)
    @rule()
    def make(self) -> None:
        self.pending = self.study.due()

    @precondition(lambda self: self.pending is not None)
    @rule()
    def adopt(self) -> None:
        assert self.pending is not None
        self.study.adopt(self.pending, self.pending.run())
        self.pending = None

    @invariant()
    def the_panel_is_everyone_who_came(self) -> None:
        panel = self.study.panel
        assert panel.experts == tuple(self.came)
        assert panel.classifiers == tuple(self.nets)
        assert self.study.experts == tuple(name for name in self.came if name in self.active)
        assert self.study.classifiers == (self.net,)

    @invariant()
    def the_history_is_rectangular_and_says_who_voted_what(self) -> None:
        history, panel = self.study.history, self.study.panel
        assert history.panel == panel
        assert history.votes().shape == (len(self.settled), len(self.came))
        assert history.probabilities().shape == (len(self.settled), len(self.nets), 2)
        assert [case.key for case in history] == self.settled
        for case in history:
            assert {panel.experts[h]: panel.classes[k] for h, k in case.votes} == self.votes[case.key]
            assert {panel.experts[h] for h, there in enumerate(case.available) if there} == self.members[case.key]
            came_with = [panel.classifiers[m] for m, row in enumerate(case.probabilities) if row is not None]
            assert came_with == [self.seen_by[case.key]]

    @invariant()
    def only_members_who_have_neither_voted_nor_retired_are_asked(self) -> None:
        for key in self.members.keys() - set(self.settled):
            step = self.study.ask(key)
            if isinstance(step, Query):
                assert set(step.gains) == (self.members[key] & self.active) - self.votes[key].keys()
            else:
                assert self.votes[key]  # a case is never left to nobody

    @invariant()
    def the_journal_rebuilds_the_study(self) -> None:
        again = self.again()
        assert (again.history, again.experts, again.classifiers) == (
            self.study.history,
            self.study.experts,
            self.study.classifiers,
        )
        assert again.predictor == self.study.predictor
        assert again.due() == self.study.due()
        assert folded(PANEL, self.study.journal).panel == self.study.panel
        for key in self.members.keys() - set(self.settled):
            assert again.ask(key) == self.study.ask(key)


class RivalMachine(ChangingPanelMachine):
    """The same with a rival that learns numbers by expert."""

    def made(self) -> Study:
        return create_study(PANEL, options=Options(method="infexp:exact", schedule="every"), max_error=0.0)

    def again(self) -> Study:
        journal = MemoryJournal(list(self.study.journal))
        options = Options(method="infexp:exact", schedule="every")
        return create_study(PANEL, options=options, max_error=0.0, journal=journal)


TestChangingPanelMachine = ChangingPanelMachine.TestCase
TestChangingPanelMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestRivalMachine = RivalMachine.TestCase
TestRivalMachine.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
