"""How a live study changes: under one lock, in one transaction, and then its desks and listeners learn of it."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from quorate.core.decision import Query, Settle
from quorate.errors import QuorateError, StaleJournalError, StorageError
from quorate.service.desk import Desk, Question, Standing
from quorate.storage.records import key_of
from quorate.storage.studies import StoredStudy
from quorate.study.study import Study

LOG = logging.getLogger("quorate.service")
Answer = TypeVar("Answer")
TRIES = 5
"""How often a change is tried again when other programs write to the same study meanwhile."""
ROUNDING = 1e-9
"""What sums of costs may be off by."""


@dataclass(frozen=True)
class Watcher:
    """Who is told of changes: of a study as a whole, and of the experts whose desks changed."""

    changed: Callable[[str, frozenset[str]], None]


Before = tuple[tuple[str, ...], Standing]
"""Who was asked about a case, and what it waited for."""


@dataclass
class Changing:
    """A stored study, its desks, and what was shown of both last; safe for many threads."""

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
    _before: dict[str, Before] = field(default_factory=dict, init=False, repr=False)  # as the change under way found it
    _order: Mapping[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False)  # of desks, as it did
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
            found = self._catch_up()
            if found:
                self._announce(frozenset(self.study.panel.experts))
            elif not self._moved:
                return False
            self._go_on()
        self.wake()
        return found

    def _index(self) -> None:
        """Set up the desks anew; open cases that nobody was asked about wait for somebody."""
        self.desk.sync_all(self.study.state)
        self._resume()
        self._publish(self.study.panel.experts)

    def _publish(self, experts: Iterable[str]) -> None:
        """Show what is stored by now, and the desks of some experts as they are by now."""
        self._shown = copy.copy(self.study)  # all that it holds is replaced, never changed
        self._desks = {**self._desks, **{name: self.desk.questions(name) for name in experts}}

    def _look_again(self) -> None:
        """Look at the cases that everyone has let pass: they wait for nobody, and may settle by now."""
        self._moved.update(key for key in open_keys(self.study) if self.study.state.left_by_all(key))
        self._go_on()

    def _resume(self) -> None:
        for key in open_keys(self.study):
            if not self.desk.asked(key) and not self.study.state.left_by_all(key):
                self.desk.arrive(key, self.study.experts)

    def _to_hand_out(self) -> str | None:
        there = tuple(name for name in self.study.experts if not self._is_away(name))
        key = next(filter(None, map(self.desk.next_for, self.desk.idle(there))), None)
        if key is None and self.study.method.rules.min_votes == 0:  # it may settle although nobody has time
            return self.desk.unseen()
        return key

    def _is_away(self, expert: str) -> bool:
        return self.study.panel.expert(expert) in self.study.state.away

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
        """Run a change in one transaction, then say that it happened; where it fails, nothing has.

        It touches these cases, and those that it notes itself.
        """
        with self._lock:
            answer = self._stored(act, keys)
            try:
                self._go_on()
            except QuorateError as error:  # this change is stored all the same; the clock tries again what can be tried
                LOG.warning("a case could not go on", extra={"fields": {"study": self.name, "why": str(error)}})
            self.more = self._to_hand_out() is not None
        self.wake()
        return answer

    def _stored(self, act: Callable[[Study], Answer], keys: Sequence[str]) -> Answer:
        """Store a change, and show what it left; what follows from what others did meanwhile is noted alone."""
        state = self.study.state
        self._begin(keys)
        try:
            answer, alone = self._tried(act)
        except BaseException:
            self._restand(self._standings())
            raise
        for key in self._before:
            self.desk.sync(self.study.state, key)
        if not alone:
            self._index()
        if self.study.state.promised < state.promised - ROUNDING:  # spent, or left for others
            for key in self.desk.poor():
                self.desk.arrive(key, self.study.experts)
        if self.study.state is not state:
            self._announce(self._touched() if alone else frozenset(self.study.panel.experts))
        return answer

    def _begin(self, keys: Sequence[str]) -> None:
        """Remember how desks and cases stand before a change."""
        self._before, self._order = {}, self.desk.order()
        self._note(keys)

    def _note(self, keys: Sequence[str]) -> None:
        """Remember how cases stand that the change under way touches."""
        for key in keys:
            self._before.setdefault(key, (self.desk.experts_of(key), self.desk.standing(key)))

    def _standings(self) -> dict[str, Standing]:
        return {key: standing for key, (_, standing) in self._before.items()}

    def _restand(self, standings: Mapping[str, Standing]) -> None:
        """Let cases stand as they stood before what failed."""
        for key, standing in standings.items():
            self.desk.sync(self.study.state, key)
            self.desk.stand(key, standing)
        self.desk.arrange(self._order)

    def _catch_up(self) -> bool:
        """Take in what other programs wrote, and remember which cases they touched; says whether there was anything."""
        events = self.stored.take_in()
        if not events:
            return False
        self._moved.update(filter(None, map(key_of, events)))
        self._index()
        return True

    def _go_on(self) -> None:
        """What follows from what others did to cases that somebody is asked about, or that wait for nobody.

        All others wait to be handed out.
        """
        while self._moved:
            key = self._moved.pop()
            if not self.study.state.waiting(key).pending and not self.study.state.left_by_all(key):
                continue
            try:
                self._stored(lambda _, key=key: self._advance(key), [key])  # type: ignore[misc]
            except (StorageError, StaleJournalError):  # not this case's fault: another time
                self._moved.add(key)
                raise

    def _tried(self, act: Callable[[Study], Answer]) -> tuple[Answer, bool]:
        """Run a change, again if another program was first; says whether none was."""
        for attempt in range(TRIES - 1):
            try:
                with self.stored.batch():
                    return act(self.study), attempt == 0
            except StaleJournalError:
                self._restand(self._standings())
                self._catch_up()
                self._begin(tuple(self._before))  # as they stand since others have written
        with self.stored.batch():
            return act(self.study), False

    def _touched(self) -> frozenset[str]:
        """Experts whose desks are not as they were; those whose question stays learn of nothing."""
        before = self._before.items()
        return frozenset(who for key, (asked, _) in before for who in {*asked} ^ {*self.desk.experts_of(key)})

    def _announce(self, experts: frozenset[str]) -> None:
        self._publish(experts)
        self.version += 1
        self.watcher.changed(self.name, experts)


def open_keys(study: Study) -> list[str]:
    """Open cases, in the order they came."""
    return [key for key, place in study.state.places.items() if not isinstance(place, int)]
