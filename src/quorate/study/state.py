"""The state of a study as a pure fold over its events."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from quorate.core.case import Case
from quorate.core.history import History
from quorate.study.events import Adopted, Amended, Event, Imported, Opened, Settled, Voted, Withdrawn
from quorate.study.layered import Layered


@dataclass(frozen=True)
class State:
    """Open cases, settled cases and what has been learned from them."""

    history: History
    events: int = 0
    places: Layered[Case | int] = field(default_factory=Layered)  # a case while it is open, then its row of the history
    settled: Layered[Settled] = field(default_factory=Layered)
    fits: int = 0
    learned: int = 0  # cases in the history when the fit in force was started
    seen: int = 0  # events by then
    changed: int = 0  # number of the last event that changed or took back a vote the history held

    def known(self, key: str) -> Case:
        """The case of a key that is among the places, open or not."""
        place = self.places[key]
        return self.history.cases[place] if isinstance(place, int) else place

    def open_case(self, key: str) -> Case | None:
        """The case of a key if it is open."""
        place = self.places.get(key)
        return place if isinstance(place, Case) else None

    @property
    def outdated(self) -> bool:
        """Whether the fit in force may rest on a vote that no longer stands; the prior rests on none."""
        return self.fits > 0 and self.changed > self.seen


def fold(state: State, event: Event) -> State:
    """The state after one more event."""
    match event:
        case Opened(case):
            after = replace(state, places=state.places.plus(case.key, case))
        case Voted(key, expert, vote):
            after = _put(state, state.known(key).with_vote(expert, vote))
        case Amended(key, expert, vote):
            after = _revised(state, state.known(key).amended(expert, vote))
        case Withdrawn(key, expert):
            after = _revised(state, state.known(key).without_vote(expert))
        case Settled(key):
            after = replace(_learnable(state, state.known(key)), settled=state.settled.plus(key, event))
        case Imported(case):
            after = _learnable(state, case)
        case Adopted(fit, seen, cases):
            after = replace(state, fits=fit, seen=seen, learned=cases)
    return replace(after, events=state.events + 1)


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
