"""A study that people vote in: what can be done to it, and always somebody asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from quorate.core.decision import Decision
from quorate.core.forecast import Forecast
from quorate.core.protocols import Predictor
from quorate.errors import NotFoundError, StaleJournalError, StorageError, StudyError
from quorate.service.arrivals import Arrival, check_same
from quorate.service.changing import Changing
from quorate.service.desk import Question
from quorate.service.importing import PastCase
from quorate.study.method import Job
from quorate.study.study import Study

REFILLS = 20
"""Most cases that are handed out in one go, so that nobody waits long for the lock."""


class Ballot(NamedTuple):
    """A vote that comes in."""

    case: str
    expert: str
    vote: str
    amend: bool = False
    by: str | None = None


class LiveStudy(Changing):
    """A stored study that asks people by itself; safe for many threads."""

    def start(self) -> None:
        """Go on with every open case that nobody was asked about when the service stopped."""
        with self._lock:
            self._resume()
            self._look_again()
        self.refill()
        self.wake()

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
        (failed,) = self.cast([Ballot(key, expert, vote, amend, by)])
        if failed is not None:
            raise failed

    def cast(self, ballots: Sequence[Ballot]) -> list[Exception | None]:
        """Several votes in one transaction, each as if it came alone; says why some were refused.

        Where they cannot be stored, one of our errors is raised, and none has happened.
        """
        return self._write(lambda _: [self._cast(ballot) for ballot in ballots], ()) if ballots else []

    def _cast(self, ballot: Ballot) -> Exception | None:
        """Take one vote inside a change, or leave everything as it was."""
        key, expert = ballot.case, ballot.expert
        following = self.desk.next_for(expert) if self.desk.holds(expert, key) else None
        keys = [key] if following in (None, key) else [key, following]
        self._note(keys)
        standings = {key: self.desk.standing(key) for key in keys}
        try:
            with self.stored.part() as study:
                if ballot.amend:
                    study.correct(key, expert, ballot.vote, by=ballot.by)
                else:
                    study.tell(key, expert, ballot.vote, by=ballot.by)
                for one in keys:
                    self._advance(one)
                    self.desk.sync(study.state, one)  # so that the next finds the desks as they are by then
        except (StorageError, StaleJournalError, RuntimeError):  # not this vote's fault, or more than itself is written
            raise
        except Exception as error:  # noqa: BLE001  # whatever a vote meets is the trouble of none that come with it
            self._restand(standings)
            return error
        return None

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
                study.back(expert, by=by)
                return
            if study.panel.expert(expert) in study.state.retired:  # said without naming the others
                raise StudyError(f"expert {expert!r} has retired from study {self.name!r}")
            study.away(expert, by=by)
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
            self._look_again()
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
