"""A study that people vote in: one lock, every change one transaction, and always somebody asked."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from quorate.core.decision import Decision, Query, Settle
from quorate.core.forecast import Forecast
from quorate.core.protocols import Predictor
from quorate.errors import NotFoundError, StaleJournalError, StudyError
from quorate.service.arrivals import Arrival, check_same
from quorate.service.desk import Desk, Question
from quorate.service.importing import PastCase
from quorate.storage.records import key_of
from quorate.storage.studies import StoredStudy
from quorate.study.method import Job
from quorate.study.study import Study

Answer = TypeVar("Answer")
TRIES = 5
"""How often a change is tried again when other programs write to the same study meanwhile."""
ROUNDING = 1e-9
"""What sums of costs may be off by."""
REFILLS = 20
"""Most cases that are handed out in one go, so that nobody waits long for the lock."""


@dataclass(frozen=True)
class Watcher:
    """Who is told of changes: of a study as a whole, and of the experts whose desks changed."""

    changed: Callable[[str, frozenset[str]], None]


@dataclass
class LiveStudy:
    """A stored study that asks people by itself; safe for many threads."""

    stored: StoredStudy
    watcher: Watcher
    clock: Callable[[], float] = time.time
    wake: Callable[[], None] = lambda: None  # called when a fit may be due
    desk: Desk = field(init=False)
    version: int = field(default=0, init=False)  # grows with every change that is seen here
    more: bool = field(default=False, init=False)  # whether the last change has left something to hand out
    _shown: Study = field(init=False, repr=False)  # as it was after the last change that is stored
    _desks: Mapping[str, tuple[Question, ...]] = field(
        default_factory=dict, init=False, repr=False
    )  # as they were then
    _moved: set[str] = field(default_factory=set, init=False, repr=False)  # cases that other programs touched
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.desk = Desk(self.stored.config.service.max_open)
        self.desk.sync_all(self.study.state)
        self._publish(self.study.panel.experts)

    @property
    def name(self) -> str:
        """The study's name."""
        return self.stored.name

    @property
    def study(self) -> Study:
        """The study as it is now."""
        return self.stored.study

    def read(self, look: Callable[[Study], Answer]) -> Answer:
        """What a look at the study finds, with nothing changing meanwhile; it waits for no change to be stored."""
        return look(self._shown)

    def follow(self) -> bool:
        """Take in what other programs wrote to the study; says whether there was anything."""
        with self._lock:
            if not self._catch_up():
                return False
            self._announce(frozenset(self.study.panel.experts))
            self._go_on()
        self.wake()
        return True

    def start(self) -> None:
        """Go on with every open case that nobody was asked about when the service stopped."""
        with self._lock:
            self._resume()
        self.refill()
        self.wake()

    def _index(self) -> None:
        """Set up the desks anew; open cases that nobody was asked about wait for somebody."""
        self.desk.sync_all(self.study.state)
        self._resume()
        self._publish(self.study.panel.experts)

    def _publish(self, experts: Iterable[str]) -> None:
        """Show what is stored by now, and the desks of some experts as they are by now."""
        self._shown = copy.copy(self.study)  # all that it holds is replaced, never changed
        self._desks = {**self._desks, **{name: self.desk.questions(name) for name in experts}}

    def _resume(self) -> None:
        for key in open_keys(self.study):
            if not self.desk.asked(key):
                self.desk.arrive(key, self.study.experts)

    def open(self, arrivals: Sequence[Arrival]) -> list[str]:
        """Cases arrive, all or none, and the first questions are asked; gives the keys that are new.

        The same case twice is one case; another one under the same key is refused.
        """

        def act(study: Study) -> list[str]:
            new: dict[str, Arrival] = {}
            for arrival in arrivals:
                if arrival.key in study.state.places:
                    check_same(self.stored, arrival, new.get(arrival.key))
                    continue
                study.open(
                    arrival.key,
                    arrival.probabilities,
                    available=arrival.available,
                    show=arrival.show,
                )
                new[arrival.key] = arrival
            for key in new:
                self.desk.arrive(key, study.experts)
            return list(new)

        with self._lock:
            new = self._write(act, [one.key for one in arrivals if one.key not in self.study.state.places])
        self.refill()
        return new

    def vote(self, key: str, expert: str, vote: str, *, amend: bool = False, by: str | None = None) -> None:
        """An expert votes; the same vote twice is one vote. What follows from it is kept with it, or neither.

        What follows is what becomes of the case, and which case takes its place on the desk.
        """

        def act(study: Study) -> None:
            if amend:
                study.correct(key, expert, vote, by=by)
            else:
                study.tell(key, expert, vote, by=by)
            for one in keys:
                self._advance(one)
                self.desk.sync(study.state, one)  # so that the next finds the desks as they are by then

        with self._lock:
            following = self.desk.next_for(expert) if self.desk.holds(expert, key) else None
            keys = [key] if following in (None, key) else [key, following]
            self._write(act, keys)

    def withdraw(self, key: str, expert: str, *, again: bool = False, by: str | None = None) -> None:
        """An expert's vote is taken back, with `again` to be asked for at once: a slip of the hand.

        A case that has settled with it is open again, and so it is where such a vote is changed.
        """

        def act(study: Study) -> None:
            self._check_cast(key, expert)
            study.correct(key, expert, None, by=by)
            if again and self._can_be_asked(key, expert):
                study.lease(key, expert, until=self.clock() + self.stored.config.service.lease_seconds)
            self._advance(key)

        self._write(act, [key])

    def _can_be_asked(self, key: str, expert: str) -> bool:
        """Whether an expert who has no vote on a case can be asked for it: present, on its panel, and affordable.

        A desk may hold one question more than it should, that of a slip of the hand, and no further ones.
        """
        study, who = self.study, self.study.panel.expert(expert)
        case = study.state.open_case(key)
        if case is None or not case.available[who] or who in study.state.away:  # who has retired is on no panel
            return False
        if self.desk.load(expert) > self.desk.max_open:
            return False
        return study.panel.costs[who] <= study.method.rules.purse(study.left)

    def _check_cast(self, key: str, expert: str) -> None:
        """Refuse a vote that is not there, in words that tell nobody of other votes, or of cases."""
        state = self.study.state
        if key not in state.places or state.known(key).voted(state.panel.expert(expert)) is None:
            raise NotFoundError(f"no vote of {expert!r} on case {key!r} in study {self.name!r}")

    def abstain(self, key: str, expert: str, *, by: str | None = None) -> None:
        """An expert cannot tell."""

        def act(study: Study) -> None:
            study.abstain(key, expert, by=by)
            self._advance(key)

        self._write(act, [key])

    def expire(self, key: str, expert: str, *, by: str | None = None) -> None:
        """A question is taken off an expert's desk, and the next best is asked."""

        def act(study: Study) -> None:
            study.expire(key, expert, by=by)
            self._advance(key)

        self._write(act, [key])

    def reopen(self, key: str, *, whole: bool, by: str | None = None) -> None:
        """A settled case is asked about again."""

        def act(study: Study) -> None:
            study.reopen(key, whole=whole, by=by)
            self._advance(key)

        self._write(act, [key])

    def set_away(self, expert: str, *, away: bool, by: str | None = None) -> None:
        """An expert leaves for a while, with an empty desk, or comes back."""

        def act(study: Study) -> None:
            if not away:
                study.back(expert)
                return
            if study.panel.expert(expert) in study.state.retired:  # said without naming the others
                raise StudyError(f"expert {expert!r} has retired from study {self.name!r}")
            study.away(expert)
            for question in self.desk.questions(expert):
                study.expire(question.case, expert, by=by)
                self._advance(question.case)

        with self._lock:
            self._write(act, [question.case for question in self.desk.questions(expert)] if away else [])
        self.refill()

    def change_panel(self, change: Callable[[Study], None]) -> None:
        """An expert joins or retires, or a classifier is replaced."""
        with self._lock:
            self._write(change, ())
            self._index()
        self.refill()

    def import_cases(self, cases: Sequence[PastCase]) -> None:
        """Past cases with their votes join the history, all or none."""

        def act(study: Study) -> None:
            for case in cases:
                study.import_case(case.key, case.probabilities, case.votes)

        self._write(act, ())

    def tick(self) -> None:
        """What time brings: questions lapse, cases that wait are handed out, other programs have written."""
        self.follow()
        with self._lock:
            late = self.desk.lapsed(self.clock())
        for question in late:
            try:
                self.expire(question.case, question.expert)
            except StudyError:  # answered in this very moment
                continue
        self.refill()
        self.wake()

    def refill(self) -> None:
        """Hand out cases that wait to experts who have time, a few at a time."""
        for _ in range(REFILLS):
            if not self._hand_out():
                return

    def _hand_out(self) -> bool:
        """Take up one case that waits for somebody who has time; False where there is none."""
        with self._lock:
            key = self._to_hand_out()
            if key is not None:
                self._write(lambda _: self._advance(key), [key])
            return key is not None

    def _to_hand_out(self) -> str | None:
        there = tuple(name for name in self.study.experts if not self._is_away(name))
        key = next(filter(None, map(self.desk.next_for, self.desk.idle(there))), None)
        if key is None and self.study.method.rules.min_votes == 0:  # it may settle although nobody has time
            return self.desk.unseen()
        return key

    def _is_away(self, expert: str) -> bool:
        return self.study.panel.expert(expert) in self.study.state.away

    def adopt(self, job: Job, predictor: Predictor) -> None:
        """Put what was learned in force."""
        self._write(lambda study: study.adopt(job, predictor), ())

    def due(self) -> Job | None:
        """The fit that should run now."""
        with self._lock:
            return self.study.due()

    def outlook(self, key: str) -> tuple[Forecast, Decision | None]:
        """What the panel is expected to decide on a case, and what should happen next to it if it is open."""
        with self._lock:
            is_open = self.study.state.open_case(key) is not None
            return self.study.expected(key), self.study.ask(key) if is_open else None

    def questions(self, expert: str) -> tuple[Question, ...]:
        """What waits on an expert's desk."""
        if expert not in self._shown.panel.experts:
            raise NotFoundError(f"no expert {expert!r} in study {self.name!r}")
        return self._desks.get(expert, ())

    def _advance(self, key: str) -> None:
        """Ask whoever should be asked about a case, or settle it; inside a change."""
        study = self.study
        while study.state.open_case(key) is not None:
            step = study.ask(key, busy=self.desk.full())
            if isinstance(step, Settle):
                study.settle(key)  # one that is audited stays open, and everyone else is asked
                continue
            if isinstance(step, Query):
                until = self.clock() + self.stored.config.service.lease_seconds
                study.lease(key, *step.batch, until=until, why=step)
                self.desk.sync(study.state, key)  # further cases of the same change find these desks fuller
                self.desk.wait(key, ())
            elif step.reason == "budget" and not step.pending:
                self.desk.wait_for_money(key)
            else:
                self.desk.wait(key, step.away)
            return
        for expert in study.pending(key):  # their votes are not needed any more
            study.expire(key, expert)

    def _write(self, act: Callable[[Study], Answer], keys: Sequence[str]) -> Answer:
        """Run a change in one transaction, then say that it happened; where it fails, nothing has."""
        with self._lock:
            promised = self.study.state.promised
            asked = {key: self.desk.experts_of(key) for key in keys}
            standings = {key: self.desk.standing(key) for key in keys}
            try:
                answer, alone = self._tried(act)
            except BaseException:
                for key, standing in standings.items():
                    self.desk.sync(self.study.state, key)
                    self.desk.stand(key, standing)
                raise
            for key in keys:
                self.desk.sync(self.study.state, key)
            if not alone:
                self._index()
            if self.study.state.promised < promised - ROUNDING:  # spent, or left for others
                for key in self.desk.poor():
                    self.desk.arrive(key, self.study.experts)
            self._announce(self._touched(asked) if alone else frozenset(self.study.panel.experts))
            self._go_on()
            self.more = self._to_hand_out() is not None
        self.wake()
        return answer

    def _catch_up(self) -> bool:
        """Take in what other programs wrote, and remember which cases they touched; says whether there was anything."""
        seen = self.stored.journal.seen[0]
        if not self.stored.refresh():
            return False
        self._moved.update(filter(None, (key_of(event) for _, _, event in self.stored.journal.since(seen))))
        self._index()
        return True

    def _go_on(self) -> None:
        """What follows from what others did to cases that somebody is asked about; all others wait to be handed out."""
        while self._moved:
            key = self._moved.pop()
            if self.study.state.waiting(key).pending:
                self._write(lambda _, key=key: self._advance(key), [key])  # type: ignore[misc]

    def _tried(self, act: Callable[[Study], Answer]) -> tuple[Answer, bool]:
        """Run a change, again if another program was first; says whether none was."""
        for attempt in range(TRIES - 1):
            try:
                with self.stored.batch():
                    return act(self.study), attempt == 0
            except StaleJournalError:
                self._catch_up()
        with self.stored.batch():
            return act(self.study), False

    def _touched(self, asked: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        """Experts whose desks are not as they were; those whose question stays learn of nothing."""
        return frozenset(who for key, before in asked.items() for who in {*before} ^ {*self.desk.experts_of(key)})

    def _announce(self, experts: frozenset[str]) -> None:
        self._publish(experts)
        self.version += 1
        self.watcher.changed(self.name, experts)


def open_keys(study: Study) -> list[str]:
    """Open cases, in the order they came."""
    return [key for key, place in study.state.places.items() if not isinstance(place, int)]
