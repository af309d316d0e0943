"""A study: a panel, its settings and its growing history; open, ask, tell, settle, learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quorate.core.case import Case, Show
from quorate.core.decision import Decision, Query, Settle, decide
from quorate.core.forecast import Forecast
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Growable, Predictor, Refinable, Target
from quorate.errors import PanelError, StudyError
from quorate.study.events import Adopted, Audited, Event, Settled
from quorate.study.journal import Journal, Keeper, MemoryJournal
from quorate.study.method import Job, Method
from quorate.study.seeds import generator
from quorate.study.state import State, fold, folded
from quorate.study.verbs import Probabilities, Verbs, settled


class Study:
    """The live loop (paper sections 5-7): every write is an event in the journal, the state is their fold.

    A study with a journal is rebuilt from it and from the panel that it started with: each fit is run again, unless
    `learned` is what was in force at its end. A `keeper` keeps what is learned. Verbs keep `by`, the user who acts for
    an expert, or on a case or the panel.
    """

    def __init__(
        self,
        panel: Panel,
        *,
        target: Target,
        method: Method,
        seed: int = 0,
        name: str = "study",
        journal: Journal | None = None,
        learned: Predictor | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.method = method
        self._keeper = keeper
        self.seed = seed
        self.name = name
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self._state = State(History(panel))
        self._unscheduled = 0  # from the fit in force up to this number of cases the schedule calls for no other
        self._stand_in: Predictor | None = None  # for cases of those who came after the fit in force was started
        self._last: tuple[tuple[Case, Predictor, Target], Forecast] | None = None  # what was forecast, and how
        try:
            if learned is None:
                self._predictor = Job(0, 0, 0, seed, method.learner, self._state.history, None).run()
                self._rebuild()
            else:
                self._predictor = learned
                self._state = folded(panel, self.journal)
        except PanelError as error:
            raise StudyError(
                f"the journal does not fit the panel: {error}; rebuild study {name!r} with the panel it started with"
            ) from None
        self._target = _grown(target, panel, self._state.panel)

    def _rebuild(self) -> None:
        """Fold the journal; each adopted fit is run again on the history it was made from."""
        events = list(self.journal)
        needed = {event.seen for event in events if isinstance(event, Adopted)}
        kept = {0: self._state}
        for number, event in enumerate(events, start=1):
            if isinstance(event, Adopted):
                self._predictor = self._job(kept.pop(event.seen)).run()
            self._state = fold(self._state, event)
            if number in needed:
                kept[number] = self._state

    def _job(self, state: State) -> Job:
        """The next fit of a state in which the predictor at hand is in force."""
        recent = state.history.window(self.method.window)
        learner, cases = self.method.learner, len(state.history)
        return Job(state.fits + 1, state.events, cases, self.seed, learner, recent, self._predictor)

    def _append(self, event: Event | None) -> None:
        """Keep an event and fold it in; None, where nothing changes, is neither."""
        if event is None:
            return
        after = fold(self._state, event)
        target = _grown(self._target, self.panel, after.panel)  # refused before anything is written
        self.journal.append(event)
        self._take(after, target)

    def _take(self, after: State, target: Target) -> None:
        if after.panel != self.panel:
            self._stand_in = None
        self._state, self._target = after, target

    def follow(self, event: Event, learned: Predictor | None = None) -> None:
        """Fold in an event that another program appended; with a fit comes what it learned."""
        after = fold(self._state, event)
        self._take(after, _grown(self._target, self.panel, after.panel))
        if learned is not None:
            self._predictor, self._stand_in = learned, None

    def refresh(self) -> int:
        """Take in what other programs have written, which they can where a study is in a database; how many events."""
        return 0

    @property
    def state(self) -> State:
        """Everything the journal comes to, as a value."""
        return self._state

    @property
    def _verbs(self) -> Verbs:
        return Verbs(self._state, self.name)

    @property
    def panel(self) -> Panel:
        """Everyone who ever belonged to the study, in the order they came."""
        return self._state.panel

    @property
    def experts(self) -> tuple[str, ...]:
        """Experts who have not retired: the panel of a new case, unless it is told otherwise."""
        return self._verbs.experts

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Classifiers whose probabilities new cases come with."""
        return self._verbs.classifiers

    @property
    def target(self) -> Target:
        """The function of the votes that is wanted, for the panel as it is."""
        return self._target

    @property
    def history(self) -> History:
        """Settled and imported cases with the votes that were cast, late and amended ones included."""
        return self._state.history

    @property
    def predictor(self) -> Predictor:
        """What was learned last; before any fit, the prior."""
        return self._predictor

    @property
    def spent(self) -> float:
        """What all votes told so far cost, imported ones left out; amending or withdrawing one changes nothing."""
        return self._state.spent

    @property
    def left(self) -> float | None:
        """What may still be spent, once the votes that are on their way are paid; None without a budget."""
        return self.method.rules.left(self.spent + self._state.promised)

    def pending(self, key: str) -> tuple[str, ...]:
        """Experts who were asked about a case by `lease`, and whose votes are on their way."""
        self._verbs.known_case(key)
        return self._state.waiting(key).pending

    @property
    def contradicted(self) -> tuple[str, ...]:
        """Settled cases whose votes by now, late and amended ones included, force another outcome."""
        return tuple(key for key in self._state.settled if self.contradicts(key))

    def contradicts(self, key: str) -> bool:
        """Whether a case has settled and its votes by now force another outcome."""
        settled, case = self._state.settling(key), self._verbs.known_case(key)
        if settled is None:
            return False
        forced = self.target.forced(case.vote_row(), case.unasked)
        return forced is not None and bool(forced[self.target.outcomes.index(settled.outcome)] == 0)

    def open(
        self,
        key: str,
        probabilities: Probabilities,
        *,
        available: Sequence[str] | None = None,
        audit: bool = False,
        show: Show | None = None,
    ) -> None:
        """A case arrives with the classifiers' probabilities; `available` names its panel (default: all `experts`).

        One to `audit` goes on to the whole panel once it would have settled; `show` is for those who are asked.
        """
        self._append(self._verbs.open(key, probabilities, available=available, audit=audit, show=show))

    def import_case(self, key: str, probabilities: Probabilities, votes: Mapping[str, str]) -> None:
        """A past case joins the history with its votes, so that the study does not start from nothing."""
        self._append(self._verbs.import_case(key, probabilities, votes))

    def add_expert(self, name: str, *, cost: float | None = None, by: str | None = None) -> None:
        """A new expert joins, whose vote costs 1 unless told, or a retired one returns with what was learned of them.

        They may be asked about cases opened from then on. Cases that are open keep their panel, so that their target
        does not change under them. A new expert has weight 1 in a target of weights.
        """
        self._append(self._verbs.add_expert(name, cost=cost, by=by))

    def retire_expert(self, name: str, *, by: str | None = None) -> None:
        """An expert is not asked any more; votes that they cast stay.

        They leave the panels of open cases that they have not voted on, which aim at the target of those who are left.
        A case that has nobody left passes to everyone who has not retired.
        """
        self._append(self._verbs.retire_expert(name, by=by))

    def replace_classifier(self, old: str, new: str, *, by: str | None = None) -> None:
        """Cases opened from now on come with probabilities of another classifier, open ones stay as they are.

        To what is learned, the old one is missing on later cases and the new one on earlier ones. One that was replaced
        before can come back, with what was learned of it.
        """
        self._append(self._verbs.replace_classifier(old, new, by=by))

    def away(self, name: str, *, by: str | None = None) -> None:
        """An expert cannot be asked for now: others are, and a case that needs this one waits."""
        self._append(self._verbs.away(name, by=by))

    def back(self, name: str, *, by: str | None = None) -> None:
        """An expert who was away can be asked again."""
        self._append(self._verbs.back(name, by=by))

    def ask(self, key: str, *, busy: Sequence[str] = ()) -> Decision:
        """Whom to ask next about an open case, or that it can settle; only reads.

        Where only the health of its forecast keeps a case from settling, a better one is tried before one more vote.
        Experts who are `busy` cannot be asked for now, as if they were away.
        """
        predictor, case = self._in_force(self._verbs.open_case(key))
        while True:
            decision = self._decide(case, predictor, busy)
            better = predictor.refined() if _ill(decision) and isinstance(predictor, Refinable) else None
            if better is None:
                return decision
            predictor = better

    def _decide(self, case: Case, predictor: Predictor, busy: Sequence[str]) -> Decision:
        state = self._state
        rules = self.method.rules.at_least(state.again.get(case.key, 0))
        away = (*(self.panel.experts[h] for h in sorted(state.away)), *busy)
        return decide(
            generator(self.seed, "choose", case.key, len(case.votes)),
            case,
            panel=self.panel,
            forecast=self._forecast(case, predictor),
            chooser=self.method.chooser,
            stopper=self.method.stopper,
            rules=rules.whole() if case.key in state.whole else rules,
            left=self.left,
            promised=state.promised,
            asked=replace(state.waiting(case.key), away=away),
            in_flight=self.method.in_flight,
            cost_blind=self.method.cost_blind,
            floor=rules.least(self.panel, case),
        )

    def forecast(self, key: str) -> Forecast:
        """What the panel is expected to decide on an open case, before `ask` may call for less noise; only reads."""
        predictor, case = self._in_force(self._verbs.open_case(key))
        return self._forecast(case, predictor)

    def expected(self, key: str) -> Forecast:
        """What is expected of a case by what is known now, open or not; only reads."""
        predictor, case = self._in_force(self._verbs.known_case(key))
        return self._forecast(case, predictor)

    def _in_force(self, case: Case) -> tuple[Predictor, Case]:
        """What forecasts a case, and the case as that knows it.

        Until a fit knows the whole panel, cases of newcomers are forecast by what was learned if it can grow, else by
        the prior; all others as before.
        """
        learned, panel = self._state.learned_panel, self.panel
        if learned == panel:
            return self._predictor, case
        before = case.within(learned)
        if before is not None:
            return self._predictor, before
        if self._stand_in is None:
            if isinstance(self._predictor, Growable):
                self._stand_in = self._predictor.grown(panel)
            else:
                rng = generator(self.seed, "grown", len(panel.experts), len(panel.classifiers))
                self._stand_in = self.method.learner.update(rng, History(panel), None)
        return self._stand_in, case

    def _forecast(self, case: Case, predictor: Predictor) -> Forecast:
        """A forecast whose generator does not depend on the votes: all of a case are marginals of one table."""
        of = (case, predictor, self.target)
        if self._last is None or any(a is not b for a, b in zip(self._last[0], of, strict=True)):
            found = predictor.forecast(generator(self.seed, "forecast", case.key), case, self.target)
            self._last = of, found if self.method.gravity is None else found.weighing(self.method.gravity)
        return self._last[1]

    def tell(self, key: str, expert: str, vote: str, *, amend: bool = False, by: str | None = None) -> None:
        """An expert's vote; the same vote twice is one vote, and another replaces it only with `amend`.

        After its case has settled a vote teaches, and never changes the outcome.
        """
        self._append(self._verbs.tell(key, expert, vote, amend=amend, by=by))

    def withdraw(self, key: str, expert: str, *, by: str | None = None) -> None:
        """Take an expert's vote back: an open case may ask for it again, a settled one keeps its outcome."""
        self._append(self._verbs.withdraw(key, expert, by=by))

    def abstain(self, key: str, expert: str, *, by: str | None = None) -> None:
        """An expert cannot tell: the case is decided by the others, and its target is theirs alone."""
        self._append(self._verbs.abstain(key, expert, by=by))

    def lease(self, key: str, *experts: str, until: float | None = None, why: Query | None = None) -> None:
        """Experts are asked about an open case: until they vote or `expire`, `ask` counts their votes as on their way.

        Nobody needs to be leased: a vote can be told at any time. All of them are, or none. `until` is kept for whoever
        watches the clock, nothing expires by itself; the query that says `why` is kept for whoever asks later.
        """
        for event in self._verbs.lease(key, experts, until=until, why=why):
            self._append(event)

    def expire(self, key: str, expert: str, *, by: str | None = None) -> None:
        """An expert who was leased did not vote in time: others are asked, and a vote that still comes is welcome."""
        self._append(self._verbs.expire(key, expert, by=by))

    def reopen(self, key: str, *, whole: bool = False, more: int = 1, by: str | None = None) -> None:
        """Ask about a settled case again, for so many `more` votes, or with `whole` until everyone has voted.

        It teaches nothing meanwhile, and whoever let the question pass may be asked again. An open case can be asked of
        everyone in the same way.
        """
        self._append(self._verbs.reopen(key, whole=whole, more=more, by=by))

    def correct(self, key: str, expert: str, vote: str | None, *, by: str | None = None) -> None:
        """Change a vote, or take it back; a case that has settled with it is open again."""
        decided, before = self._verbs.decided_by(key, expert), self._state
        if vote is None:
            self.withdraw(key, expert, by=by)
        else:
            self.tell(key, expert, vote, amend=True, by=by)
        if decided and self._state is not before:
            self.reopen(key, more=0, by=by)

    def settle(self, key: str) -> Settled | Audited:
        """Record that asking about a case stopped; only when `ask` says so.

        A case that is audited is not settled by that: what it would have settled as is recorded, and everyone else is
        asked before it is.
        """
        decision = self.ask(key)
        if isinstance(decision, Query):
            raise StudyError(f"case {key!r} cannot settle yet: expert {decision.expert!r} should be asked")
        if not isinstance(decision, Settle):
            nobody = "money" if decision.reason == "budget" else "somebody who votes; reopen it to ask again"
            awaited = ", ".join((*decision.pending, *decision.away)) or nobody
            raise StudyError(f"case {key!r} cannot settle yet: it waits for {awaited}")
        event = settled(decision, audit=self._state.audit_due(key))
        self._append(event)
        return event

    def due(self) -> Job | None:
        """The fit that should be run now, if any; only reads.

        One is due when the schedule says so, and at once after a vote of the history was amended or withdrawn, or an
        expert or a classifier came that nothing is known of.
        """
        return self._job(self._state) if self._state.outdated or self._scheduled() else None

    def _scheduled(self) -> bool:
        """Whether the schedule has called for a fit since the one in force was started; looks at each number once."""
        state = self._state
        for cases in range(max(state.learned, self._unscheduled) + 1, len(state.history) + 1):
            if self.method.schedule(cases):
                return True
            self._unscheduled = cases
        return False

    def adopt(self, job: Job, predictor: Predictor) -> None:
        """Put what a job has learned in force."""
        if job.fit != self._state.fits + 1:
            raise StudyError(f"fit {job.fit} comes out of turn: fit {self._state.fits} is in force")
        digest = "" if self._keeper is None else self._keeper.keep(predictor)
        self._append(Adopted(job.fit, job.seen, job.cases, predictor.health, digest))
        self._predictor, self._stand_in = predictor, None


def _ill(decision: Decision) -> bool:
    """Whether a healthier forecast could settle the case, or settle it within what is allowed."""
    if not isinstance(decision, Settle):
        return decision.reason == "unhealthy"
    return decision.limited and not decision.kept and not decision.forecast.health.healthy


def _grown(target: Target, before: Panel, after: Panel) -> Target:
    return target.grown(after) if after != before and isinstance(target, Growable) else target
