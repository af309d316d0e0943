"""The state of a study as a pure fold over its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce

from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.rules import NOBODY, Asked
from quorate.study.events import (
    Abstained,
    Adopted,
    Amended,
    Audited,
    Away,
    Back,
    Event,
    Expired,
    Imported,
    Joined,
    Leased,
    OfCase,
    OfPanel,
    Opened,
    Reopened,
    Replaced,
    Restored,
    Retired,
    Returned,
    Settled,
    Voted,
    Withdrawn,
)
from quorate.study.layered import Layered


@dataclass(frozen=True)
class State:
    """The panel, open cases, settled cases and what has been learned from them."""

    history: History
    events: int = 0
    places: Layered[Case | int] = field(default_factory=Layered)  # a case while it is open, then its row of the history
    settled: Layered[Settled | None] = field(default_factory=Layered)  # by case; None once it is open again
    audits: Layered[Audited | None] = field(default_factory=Layered)  # by case; None until it would have settled
    whole: frozenset[str] = frozenset()  # open cases that everyone is asked about
    again: Layered[int] = field(default_factory=Layered)  # by case that was opened again: the fewest votes it needs
    away: frozenset[int] = frozenset()  # experts who cannot be asked for now
    fits: int = 0
    learned: int = 0  # cases in the history when the fit in force was started
    seen: int = 0  # events by then
    changed: int = 0  # number of the last event that changed or took back a vote the history held
    retired: frozenset[int] = frozenset()  # experts who are not asked any more
    replaced: frozenset[int] = frozenset()  # classifiers that gave way to others
    smaller: tuple[tuple[int, Panel], ...] = ()  # events that made the panel grow since `seen`, and it before each
    asked: Layered[Asked] = field(default_factory=Layered)  # by case, once anyone was asked who has not voted
    promised: float = 0.0  # what the votes cost that are on their way
    spent: float = 0.0  # on every vote told; one that is amended or withdrawn was paid for all the same

    @property
    def panel(self) -> Panel:
        """Everyone who ever belonged to the study."""
        return self.history.panel

    @property
    def learned_panel(self) -> Panel:
        """The panel when the fit in force was started."""
        return self.smaller[0][1] if self.smaller else self.panel

    @property
    def experts(self) -> tuple[int, ...]:
        """Experts who have not retired."""
        return tuple(h for h in range(len(self.panel.experts)) if h not in self.retired)

    @property
    def classifiers(self) -> tuple[int, ...]:
        """Classifiers that were not replaced."""
        return tuple(m for m in range(len(self.panel.classifiers)) if m not in self.replaced)

    def known(self, key: str) -> Case:
        """The case of a key that is among the places, open or not."""
        place = self.places[key]
        return self.history.cases[place] if isinstance(place, int) else place

    def open_case(self, key: str) -> Case | None:
        """The case of a key if it is open."""
        place = self.places.get(key)
        return place if isinstance(place, Case) else None

    def waiting(self, key: str) -> Asked:
        """Who was asked about a case and has not voted, by name."""
        return self.asked.get(key, NOBODY)

    def left_by_all(self, key: str) -> bool:
        """Whether a case is open, and everyone who has not voted on it has let it pass."""
        case, passed = self.open_case(key), self.waiting(key).passed
        return case is not None and all(self.panel.experts[h] in passed for h in case.unasked)

    def settling(self, key: str) -> Settled | None:
        """How a case settled, if it has."""
        return self.settled.get(key)

    def audit_due(self, key: str) -> bool:
        """Whether a case is audited and what it would have settled as is not known yet.

        It never is of one that everyone was asked about before: nobody would have stopped there.
        """
        return key in self.audits and self.audits[key] is None and key not in self.whole

    @property
    def outdated(self) -> bool:
        """Whether the fit in force rests on a vote that may no longer stand, or knows less than the whole panel.

        The prior rests on no vote, and is as good for a larger panel.
        """
        return self.fits > 0 and (self.changed > self.seen or bool(self.smaller))


def folded(panel: Panel, events: Iterable[Event]) -> State:
    """The state after some events of a study that started with a panel.

    >>> folded(Panel(["no", "yes"], ["ann"]), [Joined("ben")]).panel.experts
    ('ann', 'ben')
    """
    return reduce(fold, events, State(History(panel)))


def fold(state: State, event: Event) -> State:
    """The state after one more event."""
    after = _with_panel(state, event) if isinstance(event, OfPanel) else _with_case(state, event)
    return replace(after, events=state.events + 1)


def _with_case(state: State, event: OfCase) -> State:
    """The state after something happened to one case."""
    match event:
        case Opened(case, audit):
            audits = state.audits.plus(case.key, None) if audit else state.audits
            return replace(state, places=state.places.plus(case.key, case), audits=audits)
        case Imported(case):
            return _learnable(state, case)
        case Voted(key, expert, vote):
            spent = state.spent + state.panel.costs[expert]
            return replace(_put(_answered(state, key, expert), state.known(key).with_vote(expert, vote)), spent=spent)
        case Amended(key, expert, vote):
            return _revised(state, state.known(key).amended(expert, vote))
        case Withdrawn(key, expert):
            return _staffed(_revised(state, state.known(key).without_vote(expert)), [key])
        case Leased() | Expired():
            return _awaiting(state, event)
        case Abstained(key, expert):
            return _abstained(state, key, expert)
        case Audited(key):
            return replace(state, audits=state.audits.plus(key, event), whole=state.whole | {key})
        case Settled(key):
            learnable = _learnable(state, state.known(key))
            return replace(learnable, settled=state.settled.plus(key, event), whole=state.whole - {key})
        case Reopened():
            return _reopened(state, event)


def _with_panel(state: State, event: OfPanel) -> State:
    """The state after something happened to the panel, or was learned about it."""
    match event:
        case Adopted(fit, seen, cases):
            later = tuple((number, panel) for number, panel in state.smaller if number > seen)
            return replace(state, fits=fit, seen=seen, learned=cases, smaller=later)
        case Joined(name, cost):
            return _grown(state, state.panel.with_expert(name, cost))
        case Retired(expert):
            return _retired(state, expert)
        case Returned(expert):
            return replace(state, retired=state.retired - {expert})
        case Away(expert):
            return replace(state, away=state.away | {expert})
        case Back(expert):
            return replace(state, away=state.away - {expert})
        case Replaced(old, name):
            return replace(_grown(state, state.panel.with_classifier(name)), replaced=state.replaced | {old})
        case Restored(old, new):
            return replace(state, replaced=(state.replaced | {old}) - {new})


def _awaiting(state: State, event: Leased | Expired) -> State:
    """The state after an expert was asked, or let it pass.

    Whoever is away only leaves it, for others or later, and a vote that a settled case no longer needs was let pass by
    nobody.
    """
    name = state.panel.experts[event.expert]
    if isinstance(event, Leased):
        before = state.waiting(event.key)
        after = replace(before, pending=(*before.pending, name), until=(*before.until, event.until))
        promised = state.promised + state.panel.costs[event.expert]
        return replace(state, asked=state.asked.plus(event.key, after), promised=promised)
    state = _answered(state, event.key, event.expert)
    if event.expert in state.away or state.open_case(event.key) is None:
        return state
    before = state.waiting(event.key)
    return replace(state, asked=state.asked.plus(event.key, replace(before, passed=(*before.passed, name))))


def _retired(state: State, expert: int) -> State:
    """The state in which an expert is not asked, and nothing is awaited of them."""
    for key in state.asked:
        state = _answered(state, key, expert)
    return _staffed(replace(state, retired=state.retired | {expert}), state.places)


def _answered(state: State, key: str, expert: int) -> State:
    """The state in which nothing is awaited of an expert on a case any more."""
    name, asked = state.panel.experts[expert], state.waiting(key)
    if name not in asked:
        return state
    left = [(other, until) for other, until in zip(asked.pending, asked.until, strict=True) if other != name]
    after = Asked(
        pending=tuple(other for other, _ in left),
        passed=tuple(other for other in asked.passed if other != name),
        until=tuple(until for _, until in left),
    )
    promised = state.promised - (state.panel.costs[expert] if name in asked.pending else 0.0)
    return replace(state, asked=state.asked.plus(key, after), promised=promised)


def _abstained(state: State, key: str, expert: int) -> State:
    """The state in which an open case's panel is without an expert.

    The last of a panel lets the question pass instead, and so does anyone once the case has settled.
    """
    state, case = _answered(state, key, expert), state.open_case(key)
    without = None if case is None else case.without_expert(expert)
    if without is not None and any(without.available):
        return _put(state, without)
    before = state.waiting(key)
    passed = replace(before, passed=(*before.passed, state.panel.experts[expert]))
    return replace(state, asked=state.asked.plus(key, passed))


def _reopened(state: State, event: Reopened) -> State:
    """The state in which a settled case is open: it teaches nothing until it settles again."""
    key, row = event.key, state.places[event.key]
    whole = state.whole | {key} if event.whole else state.whole
    state = replace(state, whole=whole, again=state.again.plus(key, event.votes))
    if event.whole or event.votes > len(state.known(key).votes):  # more votes are wanted, whoever let it pass
        state = replace(state, asked=state.asked.plus(key, replace(state.waiting(key), passed=())))
    if not isinstance(row, int):  # it is open, and now everyone is asked
        return state
    case, later = state.history.cases[row], state.history.cases[row + 1 :]
    moved = {one.key: row + place for place, one in enumerate(later)}
    after = replace(
        state,
        history=state.history.without(row),
        places=Layered({**dict(state.places), **moved, key: case}),
        settled=state.settled.plus(key, None),
        changed=state.events + 1,
    )
    return _staffed(after, [key])


def _learnable(state: State, case: Case) -> State:
    places = state.places.plus(case.key, len(state.history))
    return replace(state, history=state.history.with_case(case), places=places)


def _put(state: State, case: Case) -> State:
    place = state.places[case.key]
    if isinstance(place, int):
        return replace(state, history=state.history.replaced(place, case))
    return replace(state, places=state.places.plus(case.key, case))


def _revised(state: State, case: Case) -> State:
    """A vote that no longer stands leaves something to unlearn, unless its case is open and has taught nothing."""
    changed = state.events + 1 if state.open_case(case.key) is None else state.changed
    return replace(_put(state, case), changed=changed)


def _grown(state: State, panel: Panel) -> State:
    """Everything that is held by index, made as wide as a larger panel."""
    places = {key: place.grown(panel) if isinstance(place, Case) else place for key, place in state.places.items()}
    smaller = (*state.smaller, (state.events + 1, state.panel))
    return replace(state, history=state.history.grown(panel), places=Layered(places), smaller=smaller)


def _staffed(state: State, keys: Iterable[str]) -> State:
    """Some cases, if open, without retired experts who have no vote; one that has nobody else is everyone's."""
    for case in filter(None, map(state.open_case, list(keys))):
        active = tuple(h not in state.retired for h in range(len(case.available)))
        stays = tuple(there and (active[h] or case.voted(h) is not None) for h, there in enumerate(case.available))
        if stays != case.available:
            state = _put(state, replace(case, available=stays if any(stays) else active))
    return state
