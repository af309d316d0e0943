"""A study: a panel, its settings and its growing history; open, ask, tell, settle, learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.core.case import Case, open_case
from quorate.core.decision import Decision, Query, Settle, decide
from quorate.core.forecast import Forecast
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Growable, Predictor, Refinable, Target
from quorate.errors import PanelError, StudyError
from quorate.study.events import (
    Adopted,
    Amended,
    Event,
    Expired,
    Imported,
    Joined,
    Leased,
    Opened,
    Replaced,
    Restored,
    Retired,
    Returned,
    Settled,
    Voted,
    Withdrawn,
)
from quorate.study.journal import Journal, MemoryJournal
from quorate.study.method import Job, Method
from quorate.study.seeds import generator
from quorate.study.state import State, fold, folded


class Study:
    """The live loop (paper sections 5-7): every write is an event in the journal, the state is their fold.

    A study with a journal is rebuilt from it and from the panel that it started with: each fit is run again, unless
    `learned` is what was in force at its end.
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
    ) -> None:
        self.method = method
        self.seed = seed
        self.name = name
        self.journal: Journal = MemoryJournal() if journal is None else journal
        self._state = State(History(panel))
        self._unscheduled = 0  # from the fit in force up to this number of cases the schedule calls for no other
        self._stand_in: Predictor | None = None  # for cases of those who came after the fit in force was started
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

    def _append(self, event: Event) -> None:
        after = fold(self._state, event)
        target = _grown(self._target, self.panel, after.panel)  # refused before anything is written
        self.journal.append(event)
        if after.panel != self.panel:
            self._stand_in = None
        self._state, self._target = after, target

    def _open_case(self, key: str) -> Case:
        case = self._state.open_case(key)
        if case is None:
            state = "has settled" if key in self._state.places else "was never opened"
            raise StudyError(f"case {key!r} {state}; expected an open case of study {self.name!r}")
        return case

    def _known_case(self, key: str) -> Case:
        if key not in self._state.places:
            raise StudyError(f"case {key!r} was never opened in study {self.name!r}; open it first, or check its key")
        return self._state.known(key)

    @property
    def panel(self) -> Panel:
        """Everyone who ever belonged to the study, in the order they came."""
        return self._state.panel

    @property
    def experts(self) -> tuple[str, ...]:
        """Experts who have not retired: the panel of a new case, unless it is told otherwise."""
        return tuple(self.panel.experts[h] for h in self._state.experts)

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Classifiers whose probabilities new cases come with."""
        return tuple(self.panel.classifiers[m] for m in self._state.classifiers)

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
        self._known_case(key)
        return self._state.waiting(key).pending

    @property
    def contradicted(self) -> tuple[str, ...]:
        """Settled cases whose votes by now, late and amended ones included, force another outcome."""
        found = []
        for key, settled in self._state.settled.items():
            case = self._state.known(key)
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
        """A case arrives with the classifiers' probabilities; `available` names its panel (default: all `experts`)."""
        self._new(key)
        there = self.experts if available is None else available
        case = open_case(self.panel, key, probabilities, there)
        for h in self._state.retired:
            if case.available[h]:
                name = self.panel.experts[h]
                raise StudyError(
                    f"expert {name!r} has retired from study {self.name!r}; expected some of "
                    f"{', '.join(self.experts)}, or let them return by add_expert({name!r}) first"
                )
        for m in self._state.replaced:
            if case.probabilities[m] is not None:
                raise StudyError(
                    f"classifier {self.panel.classifiers[m]!r} was replaced in study {self.name!r}; "
                    f"expected probabilities of {', '.join(self.classifiers)}"
                )
        self._append(Opened(case))

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
        if key in self._state.places:
            raise StudyError(f"case {key!r} exists already in study {self.name!r}; each case needs its own key")

    def add_expert(self, name: str, *, cost: float | None = None) -> None:
        """A new expert joins, whose vote costs 1 unless told, or a retired one returns with what was learned of them.

        They may be asked about cases opened from then on. Cases that are open keep their panel, so that their target
        does not change under them. A new expert has weight 1 in a target of weights.
        """
        if name in self.experts:
            retired = ", ".join(self.panel.experts[h] for h in sorted(self._state.retired)) or "nobody"
            raise StudyError(
                f"expert {name!r} belongs to study {self.name!r} already; expected a new name, or that of a retired "
                f"expert: {retired}"
            )
        if name not in self.panel.experts:
            self._append(Joined(name) if cost is None else Joined(name, cost))
            return
        before = self.panel.costs[self.panel.expert(name)]
        if cost is not None and cost != before:
            raise StudyError(
                f"expert {name!r} returns to study {self.name!r} at the cost of before, {before:g}, not {cost:g}; "
                "leave the cost out"
            )
        self._append(Returned(self.panel.expert(name)))

    def retire_expert(self, name: str) -> None:
        """An expert is not asked any more; votes that they cast stay.

        They leave the panels of open cases that they have not voted on, which aim at the target of those who are left.
        A case that has nobody left passes to everyone who has not retired.
        """
        expert = self.panel.expert(name)
        if expert in self._state.retired:
            raise StudyError(
                f"expert {name!r} has retired from study {self.name!r} already; "
                f"expected one of {', '.join(self.experts)}"
            )
        if self.experts == (name,):
            raise StudyError(f"expert {name!r} is the last of study {self.name!r}; add another one first")
        self._append(Retired(expert))

    def replace_classifier(self, old: str, new: str) -> None:
        """Cases opened from now on come with probabilities of another classifier, open ones stay as they are.

        To what is learned, the old one is missing on later cases and the new one on earlier ones. One that was replaced
        before can come back, with what was learned of it.
        """
        index = self.panel.classifier(old)
        if index in self._state.replaced:
            raise StudyError(
                f"classifier {old!r} was replaced in study {self.name!r} already; "
                f"expected one in use: {', '.join(self.classifiers)}"
            )
        if new in self.classifiers:
            raise StudyError(
                f"classifier {new!r} is in use in study {self.name!r} already and cannot replace {old!r}; "
                "expected a new name, or one that was replaced before"
            )
        known = new in self.panel.classifiers
        self._append(Restored(index, self.panel.classifier(new)) if known else Replaced(index, new))

    def ask(self, key: str) -> Decision:
        """Whom to ask next about an open case, or that it can settle; only reads.

        Where only the health of its forecast keeps a case from settling, a better one is tried before one more vote.
        """
        predictor, case = self._in_force(self._open_case(key))
        while True:
            decision = self._decide(case, predictor)
            better = predictor.refined() if _ill(decision) and isinstance(predictor, Refinable) else None
            if better is None:
                return decision
            predictor = better

    def _decide(self, case: Case, predictor: Predictor) -> Decision:
        return decide(
            generator(self.seed, "choose", case.key, len(case.votes)),
            case,
            panel=self.panel,
            forecast=self._forecast(case, predictor),
            chooser=self.method.chooser,
            stopper=self.method.stopper,
            rules=self.method.rules,
            left=self.left,
            asked=self._state.waiting(case.key),
            in_flight=self.method.in_flight,
            cost_blind=self.method.cost_blind,
        )

    def forecast(self, key: str) -> Forecast:
        """What the panel is expected to decide on an open case, before `ask` may call for less noise; only reads."""
        predictor, case = self._in_force(self._open_case(key))
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
        found = predictor.forecast(generator(self.seed, "forecast", case.key), case, self.target)
        return found if self.method.gravity is None else found.weighing(self.method.gravity)

    def tell(self, key: str, expert: str, vote: str, *, amend: bool = False) -> None:
        """An expert's vote; the same vote twice is one vote, and another replaces it only with `amend`.

        After its case has settled a vote teaches, and never changes the outcome.
        """
        case = self._known_case(key)
        who, what = self.panel.expert(expert), self.panel.class_(vote)
        if not case.available[who]:
            why = f", and has retired from study {self.name!r}" if who in self._state.retired else ""
            raise StudyError(f"expert {expert!r} does not belong to the panel of case {key!r}{why}")
        before = case.voted(who)
        if before is None:
            self._append(Voted(key, who, what))
        elif before != what:
            if not amend:
                cast = self.panel.classes[before]
                raise StudyError(
                    f"expert {expert!r} has voted {cast!r} on case {key!r} already; "
                    f"tell {vote!r} with amend=True to change the vote, or withdraw it"
                )
            self._append(Amended(key, who, what))

    def withdraw(self, key: str, expert: str) -> None:
        """Take an expert's vote back: an open case may ask for it again, a settled one keeps its outcome."""
        case = self._known_case(key)
        who = self.panel.expert(expert)
        if case.voted(who) is None:
            cast = ", ".join(self.panel.experts[other] for other, _ in case.votes) or "nobody"
            raise StudyError(
                f"expert {expert!r} has no vote on case {key!r} to withdraw; expected one who has voted: {cast}"
            )
        self._append(Withdrawn(key, who))

    def lease(self, key: str, *experts: str) -> None:
        """Experts are asked about an open case: until they vote or `expire`, `ask` counts their votes as on their way.

        Nobody needs to be leased: a vote can be told at any time. All of them are, or none.
        """
        case, names = self._open_case(key), self._state.waiting(key)
        who = [self.panel.expert(name) for name in experts]
        for name, expert in zip(experts, who, strict=True):
            if not case.available[expert]:
                raise StudyError(f"expert {name!r} does not belong to the panel of case {key!r} and cannot be asked")
            if case.voted(expert) is not None or name in names or experts.count(name) > 1:
                raise StudyError(f"expert {name!r} was asked about case {key!r} already; nobody is asked twice")
        for expert in who:
            self._append(Leased(key, expert))

    def expire(self, key: str, expert: str) -> None:
        """An expert who was leased did not vote in time: others are asked, and a vote that still comes is welcome."""
        self._known_case(key)
        waiting = self._state.waiting(key).pending
        if expert not in waiting:
            raise StudyError(
                f"no vote of expert {expert!r} on case {key!r} is on its way; expected one of "
                f"{', '.join(waiting) or 'nobody'}"
            )
        self._append(Expired(key, self.panel.expert(expert)))

    def settle(self, key: str) -> Settled:
        """Record that asking about a case stopped; only when `ask` says so."""
        decision = self.ask(key)
        if isinstance(decision, Query):
            raise StudyError(f"case {key!r} cannot settle yet: expert {decision.expert!r} should be asked")
        if not isinstance(decision, Settle):
            raise StudyError(f"case {key!r} cannot settle yet: it waits for {', '.join(decision.pending)}")
        forecast = decision.forecast
        probability = forecast.values[forecast.leader]
        event = Settled(key, decision.outcome, probability, forecast.error, decision.reason, decision.kept)
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
        self._append(Adopted(job.fit, job.seen, job.cases, predictor.health))
        self._predictor, self._stand_in = predictor, None


def _ill(decision: Decision) -> bool:
    """Whether a healthier forecast could settle the case, or settle it within what is allowed."""
    if not isinstance(decision, Settle):
        return decision.reason == "unhealthy"
    return decision.limited and not decision.kept and not decision.forecast.health.healthy


def _grown(target: Target, before: Panel, after: Panel) -> Target:
    return target.grown(after) if after != before and isinstance(target, Growable) else target
