"""A live study under whatever people do, beside a small model of what may come of it."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.errors import NotFoundError, StudyError
from quorate.service.arrivals import Arrival
from quorate.service.changing import Watcher
from quorate.service.live import LiveStudy
from quorate.storage import studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database
from quorate.study.events import Abstained, Away, Back, Expired, Leased, Reopened, Settled, Voted, Withdrawn

EXPERTS = ("ann", "ben", "cho", "dev")
CLASSES = ("no", "yes")
LEASE = 100.0
BORN = datetime(2025, 1, 1, tzinfo=UTC)  # audits are drawn by it
IN_FLIGHT = 2
NUMBER = itertools.count()

experts = st.sampled_from(EXPERTS)
classes = st.sampled_from(CLASSES)
picks = st.integers(0, 999)


@dataclass
class ModelCase:
    """What is known of a case: nothing of whom to ask."""

    panel: set[str] = field(default_factory=lambda: set(EXPERTS))
    votes: dict[str, str] = field(default_factory=dict)
    leased: set[str] = field(default_factory=set)  # asked, and not asked again
    asking: set[str] = field(default_factory=set)  # asked, and expected to vote
    cast: set[str] = field(default_factory=set)  # whose votes stand, by the events so far
    outcome: str | None = None  # once settled
    counted: set[str] = field(default_factory=set)  # whose votes it settled with
    least: int = 0  # votes that it needs since it was opened again
    slips: set[str] = field(default_factory=set)  # asked again at once, beyond what a desk and a case may hold

    def forced(self) -> frozenset[str] | None:
        """Who leads whatever the votes are that are not cast; None where they can change it."""
        open_votes = len(self.panel - self.votes.keys())
        leaders = set()
        for rest in itertools.product(CLASSES, repeat=open_votes):
            counts = Counter([*self.votes.values(), *rest])
            leaders.add(frozenset(name for name in CLASSES if counts[name] == max(counts.values())))
        return leaders.pop() if len(leaders) == 1 else None


class People(RuleBasedStateMachine):
    """Experts who come and go, vote, change their minds, and let questions lapse."""

    db: Database

    @initialize(
        audit=st.sampled_from([0.0, 0.5]),
        least=st.sampled_from([0, 3]),
        max_open=st.sampled_from([1, 3]),
        number=st.integers(3, 6),
    )
    def begin(self, audit: float, least: int, max_open: int, number: int) -> None:
        self.name = f"study-{next(NUMBER)}"
        config = StudyConfig(
            Panel(CLASSES, EXPERTS, ["net"]),
            Options("until-determined", rules=Rules(min_votes=least), in_flight=IN_FLIGHT),
            service=ServiceSettings(lease_seconds=LEASE, max_open=max_open, audit_share=audit),
        )
        self.now = 1000.0
        self.seen = 0
        self.gone: set[str] = set()  # by the events so far
        self.closed: set[str] = set()
        self.cases: dict[str, ModelCase] = {}
        self.away: set[str] = set()
        self.live = self._alive(studies.create(self.db, self.name, config, clock=lambda: BORN))
        self._open(number)

    def _alive(self, stored: studies.StoredStudy) -> LiveStudy:
        live = LiveStudy(stored, Watcher(lambda _study, _experts: None), clock=lambda: self.now)
        live.start()
        return live

    def _key(self, pick: int) -> str:
        return list(self.cases)[pick % len(self.cases)]

    def _cast(self) -> list[tuple[str, str]]:
        return [(key, expert) for key, case in self.cases.items() for expert in sorted(case.votes)]

    def _questions(self) -> list[tuple[str, str]]:
        return [(one.case, name) for name in EXPERTS for one in self.live.questions(name)]

    def _open(self, number: int) -> None:
        keys = [f"c{len(self.cases) + place}" for place in range(number)]
        assert self.live.open([Arrival(key, {"net": (0.5, 0.5)}) for key in keys]) == keys
        self.cases |= {key: ModelCase() for key in keys}

    @rule(number=st.integers(1, 3))
    def open(self, number: int) -> None:
        if len(self.cases) < 8:
            self._open(number)

    @rule(pick=picks)
    def open_again(self, pick: int) -> None:
        assert self.live.open([Arrival(self._key(pick), {"net": (0.5, 0.5)})]) == []

    @precondition(lambda self: self._questions())
    @rule(picks=st.lists(picks, min_size=1, max_size=4), vote=classes)
    def answer(self, picks: list[int], vote: str) -> None:
        for pick in picks:
            found = self._questions()
            key, expert = found[pick % len(found)]
            self.live.vote(key, expert, vote)
            self.cases[key].votes[expert] = vote
            self.holds()
            if not self._questions():
                break

    @precondition(lambda self: self._questions())
    @rule(pick=picks)
    def answer_all_of_a_case(self, pick: int) -> None:
        found = self._questions()
        key, _ = found[pick % len(found)]
        while waiting := self.live.study.pending(key):
            self.live.vote(key, waiting[0], "yes")
            self.cases[key].votes[waiting[0]] = "yes"

    @rule(pick=picks, expert=experts, vote=classes)
    def tell(self, pick: int, expert: str, vote: str) -> None:
        key = self._key(pick)
        case = self.cases[key]
        if expert not in case.panel or case.votes.get(expert, vote) != vote:
            with pytest.raises(StudyError):
                self.live.vote(key, expert, vote)
            return
        self.live.vote(key, expert, vote)
        case.votes[expert] = vote

    @precondition(lambda self: self._cast())
    @rule(pick=picks)
    def withdraw(self, pick: int) -> None:
        cast = self._cast()
        key, expert = cast[pick % len(cast)]
        del self.cases[key].votes[expert]
        self._set_aside(key, expert)
        self.live.withdraw(key, expert)
        with pytest.raises(NotFoundError):
            self.live.withdraw(key, expert)

    @precondition(lambda self: self._cast())
    @rule(pick=picks)
    def take_back_a_slip(self, pick: int) -> None:
        """Whoever takes back a slip of the hand is asked at once, unless the other votes settle the case.

        Their desk may have one question too many for that, and no more.
        """
        cast = self._cast()
        key, expert = cast[pick % len(cast)]
        has_room = sum(expert in self.live.study.pending(one) for one in self.cases) <= self.live.desk.max_open
        case = self.cases[key]
        del case.votes[expert]
        self._set_aside(key, expert)
        self.live.withdraw(key, expert, again=True)
        is_open = self.live.study.state.settling(key) is None
        assert (expert in self.live.study.pending(key)) == (is_open and has_room and expert not in self.away)
        if is_open and expert not in self.away:
            case.slips.add(expert)

    @precondition(lambda self: self._cast())
    @rule(pick=picks)
    def change_a_vote(self, pick: int) -> None:
        cast = self._cast()
        key, expert = cast[pick % len(cast)]
        other = {"yes": "no", "no": "yes"}[self.cases[key].votes[expert]]
        with pytest.raises(StudyError, match="amend"):
            self.live.vote(key, expert, other)
        self._set_aside(key, expert)
        self.live.vote(key, expert, other, amend=True)
        self.cases[key].votes[expert] = other

    def _set_aside(self, key: str, expert: str) -> None:
        """A vote that a case has settled with is changed or taken back: the case is open again."""
        case = self.cases[key]
        if case.outcome is not None and expert in case.counted:
            case.outcome, case.least = None, 0

    @rule(pick=picks, expert=experts)
    def abstain(self, pick: int, expert: str) -> None:
        key = self._key(pick)
        case = self.cases[key]
        if expert in case.votes:
            with pytest.raises(StudyError):
                self.live.abstain(key, expert)
            return
        if case.outcome is None and case.panel != {expert}:
            case.panel.discard(expert)
        self.live.abstain(key, expert)

    @precondition(lambda self: self._questions())
    @rule(pick=picks)
    def expire(self, pick: int) -> None:
        found = self._questions()
        key, expert = found[pick % len(found)]
        self.live.expire(key, expert)
        assert expert not in self.live.study.pending(key)

    @rule(seconds=st.sampled_from([1.0, 40.0, 90.0, 101.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.live.tick()
        left = [one.until for name in EXPERTS for one in self.live.questions(name)]
        assert all(until is not None and until > self.now for until in left)

    @rule(pick=picks, whole=st.booleans())
    def reopen(self, pick: int, whole: bool) -> None:
        key = self._key(pick)
        left = self.live.study.state.left_by_all(key)  # such a case needs a person, who may want more votes on it
        if self.cases[key].outcome is None and not whole and not left:
            with pytest.raises(StudyError):
                self.live.reopen(key, whole=whole)
            return
        self.cases[key].outcome = None
        self.cases[key].least = len(self.cases[key].votes) + 1
        self.live.reopen(key, whole=whole)

    @rule(names=st.lists(experts, min_size=1, max_size=3))
    def leave_or_come_back(self, names: list[str]) -> None:
        for expert in names:
            self.away ^= {expert}
            self.live.set_away(expert, away=expert in self.away)
            self.holds()

    @rule(pick=picks, expert=experts, vote=classes)
    def another_program_votes(self, pick: int, expert: str, vote: str) -> None:
        """Behind our back: the next change here finds the study changed."""
        key = self._key(pick)
        case = self.cases[key]
        if expert in case.panel and expert not in case.votes:
            studies.load(self.db, self.name).study.tell(key, expert, vote)
            case.votes[expert] = vote
        if len(self.cases) < 12:
            self._open(1)

    @precondition(lambda self: self.live.version > 5)
    @rule()
    def start_again(self) -> None:
        self.live = self._alive(studies.load(self.db, self.name))

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "live"):
            return
        self.live.tick()  # what the service does every second
        study, desk = self.live.study, self.live.desk
        self._follow_events()
        load = {name: {one.case for one in self.live.questions(name)} for name in EXPERTS}
        for key, case in self.cases.items():
            case.slips &= set(study.pending(key))
        for name, keys in load.items():
            assert keys == {key for key in self.cases if name in study.pending(key)}
            assert len([key for key in keys if name not in self.cases[key].slips]) <= desk.max_open
            assert not keys or name not in self.away
        for key, case in self.cases.items():
            known = study.state.known(key)
            assert {EXPERTS[who]: CLASSES[vote] for who, vote in known.votes} == case.votes
            assert {name for name, there in zip(EXPERTS, known.available, strict=True) if there} == case.panel
            assert len(set(study.pending(key)) - case.slips) <= IN_FLIGHT
            self._check_state(key, case, load)
            left = case.outcome is None and not study.pending(key) and not desk.waits(key)
            assert study.state.left_by_all(key) == left
            if left:
                assert len(case.votes) < self._least(case), "it needs a person"
                assert not case.panel - case.votes.keys() - case.leased, "and nobody is left"

    def _check_state(self, key: str, case: ModelCase, load: dict[str, set[str]]) -> None:
        study = self.live.study
        settled = study.state.settling(key)
        askable = case.panel - case.votes.keys() - case.leased
        if settled is None:
            assert case.outcome is None, "only reopening opens a case again"
            free = [name for name in askable - self.away if len(load[name]) < self.live.desk.max_open]
            assert study.pending(key) or not free, "somebody has time and is not asked"
            return
        assert study.pending(key) == ()
        if case.outcome is None:  # it has settled in this step
            assert len(case.votes) >= self._least(case), "it settled with too few votes"
            leaders = case.forced()
            assert leaders or not askable, "it settled too early"
            assert leaders is None or settled.outcome in leaders, "it settled as what the votes rule out"
            case.outcome, case.counted = settled.outcome, set(case.votes)
        assert settled.outcome == case.outcome

    def _least(self, case: ModelCase) -> int:
        return min(max(self.live.stored.config.options.rules.min_votes, case.least), len(case.panel))

    def _follow_events(self) -> None:
        for number, _, event in self.live.stored.journal.since(self.seen):
            self.seen = number
            match event:
                case Leased(key, who):
                    case = self.cases[key]
                    assert EXPERTS[who] not in case.leased, "asked twice"
                    case.leased.add(EXPERTS[who])
                    case.asking.add(EXPERTS[who])
                case Withdrawn(key, who):  # the question may be asked again
                    self.cases[key].leased.discard(EXPERTS[who])
                    self.cases[key].cast.discard(EXPERTS[who])
                case Settled(key):
                    self.closed.add(key)
                case Reopened(key, whole, votes):
                    self.closed.discard(key)
                    if whole or votes > len(self.cases[key].cast):  # and those passed
                        self.cases[key].leased &= self.cases[key].cast | self.cases[key].asking
                case Voted(key, who):
                    self.cases[key].asking.discard(EXPERTS[who])
                    self.cases[key].cast.add(EXPERTS[who])
                case Abstained(key, who):
                    self.cases[key].asking.discard(EXPERTS[who])
                    self.cases[key].leased.add(EXPERTS[who])  # who cannot tell is not asked again
                case Away(who):
                    self.gone.add(EXPERTS[who])
                case Back(who):
                    self.gone.discard(EXPERTS[who])
                case Expired(key, who):
                    self.cases[key].asking.discard(EXPERTS[who])
                    if EXPERTS[who] in self.gone or key in self.closed:  # left for others or later, or not needed
                        self.cases[key].leased.discard(EXPERTS[who])

    def teardown(self) -> None:
        if not hasattr(self, "live"):
            return
        assert self.db.verify() == []
        assert studies.load(self.db, self.name).study.state == self.live.study.state


def test_people_and_the_model_agree(database: Database) -> None:
    class Here(People):
        db = database

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=32,
            stateful_step_count=30,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
