"""A study: a panel, its settings and its growing history; open, ask, tell, settle, learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.core.case import Case, open_case
from quorate.core.decision import Decision, Query, decide
from quorate.core.forecast import Forecast
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.errors import StudyError
from quorate.study.events import Adopted, Event, Imported, Opened, Settled, Voted
from quorate.study.journal import Journal, MemoryJournal
from quorate.study.method import Job, Method
from quorate.study.seeds import generator
from quorate.study.state import State, fold


class Study:
    """The live loop (paper sections 5-7): every write is an event in the journal, the state is their fold."""

    def __init__(
        self,
        panel: Panel,
        *,
        target: Target,
        method: Method,
        seed: int = 0,
        name: str = "study",
        journal: Journal | None = None,
    ) -> None:
        self.panel = panel
        self.target = target
        self.method = method
        self.seed = seed
        self.name = name
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self._state = State(History(panel))
        self._predictor = self._job(0, 0, self._state.history, None).run()
        self._rebuild()

    def _rebuild(self) -> None:
        """Fold the journal; each adopted fit is run again on the history it was made from."""
        events = list(self.journal)
        needed = {event.seen for event in events if isinstance(event, Adopted)}
        kept = {0: self._state.history}
        for number, event in enumerate(events, start=1):
            if isinstance(event, Adopted):
                self._predictor = self._job(event.fit, event.seen, kept[event.seen], self._predictor).run()
            self._state = fold(self._state, event)
            if number in needed:
                kept[number] = self._state.history

    def _job(self, fit: int, seen: int, history: History, previous: Predictor | None) -> Job:
        recent = history.window(self.method.window)
        return Job(fit, seen, len(history), self.seed, self.method.learner, recent, previous)

    def _append(self, event: Event) -> None:
        self.journal.append(event)
        self._state = fold(self._state, event)

    def _open_case(self, key: str) -> Case:
        if key not in self._state.open:
            state = "has settled" if key in self._state.rows else "was never opened"
            raise StudyError(f"case {key!r} {state}; expected an open case of study {self.name!r}")
        return self._state.open[key]

    @property
    def history(self) -> History:
        """Settled and imported cases with the votes that were cast, late ones included."""
        return self._state.history

    @property
    def predictor(self) -> Predictor:
        """What was learned last; before any fit, the prior."""
        return self._predictor

    @property
    def contradicted(self) -> tuple[str, ...]:
        """Settled cases whose votes by now, late ones included, force another outcome."""
        found = []
        for key, settled in self._state.settled.items():
            case = self._state.history.cases[self._state.rows[key]]
            forced = self.target.forced(case.vote_row(), case.unasked)
            if forced is not None and forced[self.target.outcomes.index(settled.outcome)] == 0:
                found.append(key)
        return tuple(found)

    def open(
        self,
        key: str,
        probabilities: Mapping[str, Sequence[float] | None],
        *,
        available: Sequence[str] | None = None,
    ) -> None:
        """A case arrives with the classifiers' probabilities; `available` names its panel (default: everyone)."""
        self._new(key)
        self._append(Opened(open_case(self.panel, key, probabilities, available)))

    def import_case(
        self, key: str, probabilities: Mapping[str, Sequence[float] | None], votes: Mapping[str, str]
    ) -> None:
        """A past case joins the history with its votes, so that the study does not start from nothing."""
        self._new(key)
        case = open_case(self.panel, key, probabilities, list(votes))
        for expert, vote in votes.items():
            case = case.with_vote(self.panel.expert(expert), self.panel.class_(vote))
        self._append(Imported(case))

    def _new(self, key: str) -> None:
        if self._state.case(key) is not None:
            raise StudyError(f"case {key!r} exists already in study {self.name!r}; each case needs its own key")

    def ask(self, key: str) -> Decision:
        """Whom to ask next about an open case, or that it can settle; only reads."""
        case = self._open_case(key)
        return decide(
            generator(self.seed, "choose", key, len(case.votes)),
            case,
            panel=self.panel,
            forecast=self.forecast(key),
            chooser=self.method.chooser,
            stopper=self.method.stopper,
        )

    def forecast(self, key: str) -> Forecast:
        """What the panel is expected to decide on an open case; only reads.

        The generator does not depend on the votes, so that all forecasts of a case are marginals of one table.
        """
        return self.predictor.forecast(generator(self.seed, "forecast", key), self._open_case(key), self.target)

    def tell(self, key: str, expert: str, vote: str) -> None:
        """An expert's vote; the same vote twice is one vote, and one after settling teaches the next fit."""
        case = self._state.case(key)
        if case is None:
            raise StudyError(f"case {key!r} was never opened in study {self.name!r}")
        who, what = self.panel.expert(expert), self.panel.class_(vote)
        if not case.available[who]:
            raise StudyError(f"expert {expert!r} does not belong to the panel of case {key!r}")
        before = case.voted(who)
        if before == what:
            return
        if before is not None:
            raise StudyError(f"expert {expert!r} has voted {self.panel.classes[before]!r} on case {key!r} already")
        self._append(Voted(key, who, what))

    def settle(self, key: str) -> Settled:
        """Record that asking about a case stopped; only when `ask` says so."""
        decision = self.ask(key)
        if isinstance(decision, Query):
            raise StudyError(f"case {key!r} cannot settle yet: expert {decision.expert!r} should be asked")
        forecast = decision.forecast
        event = Settled(key, decision.outcome, forecast.values[forecast.leader], forecast.error, decision.reason)
        self._append(event)
        return event

    def due(self) -> Job | None:
        """The fit that should be run now, if any; only reads."""
        state = self._state
        if any(self.method.schedule(cases) for cases in range(state.learned + 1, len(state.history) + 1)):
            return self._job(state.fits + 1, state.events, state.history, self._predictor)
        return None

    def adopt(self, job: Job, predictor: Predictor) -> None:
        """Put what a job has learned in force."""
        if job.fit != self._state.fits + 1:
            raise StudyError(f"fit {job.fit} comes out of turn: fit {self._state.fits} is in force")
        self._predictor = predictor
        self._append(Adopted(job.fit, job.seen, job.cases))
