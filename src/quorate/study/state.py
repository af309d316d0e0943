"""The state of a study as a pure fold over its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from quorate.core.case import Case
from quorate.core.history import History
from quorate.study.events import Adopted, Event, Imported, Opened, Settled, Voted


@dataclass(frozen=True)
class State:
    """Open cases, settled cases and what has been learned from them."""

    history: History
    events: int = 0
    open: Mapping[str, Case] = field(default_factory=dict)
    settled: Mapping[str, Settled] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)  # where each case stands in the history
    fits: int = 0
    learned: int = 0  # cases in the history when the fit in force was started

    def case(self, key: str) -> Case | None:
        """The case of that key, open or not."""
        if key in self.open:
            return self.open[key]
        return self.history.cases[self.rows[key]] if key in self.rows else None


def fold(state: State, event: Event) -> State:
    """The state after one more event."""
    match event:
        case Opened(case):
            after = replace(state, open={**state.open, case.key: case})
        case Voted(key, expert, vote):
            after = _vote(state, key, expert, vote)
        case Settled(key):
            case = state.open[key]
            left = {name: other for name, other in state.open.items() if name != key}
            after = replace(_learnable(state, case), open=left, settled={**state.settled, key: event})
        case Imported(case):
            after = _learnable(state, case)
        case Adopted(fit, _, cases):
            after = replace(state, fits=fit, learned=cases)
    return replace(after, events=state.events + 1)


def _learnable(state: State, case: Case) -> State:
    rows = {**state.rows, case.key: len(state.history)}
    return replace(state, history=state.history.with_case(case), rows=rows)


def _vote(state: State, key: str, expert: int, vote: int) -> State:
    if key in state.open:
        return replace(state, open={**state.open, key: state.open[key].with_vote(expert, vote)})
    row = state.rows[key]
    cases = state.history.cases
    late = (*cases[:row], cases[row].with_vote(expert, vote), *cases[row + 1 :])
    return replace(state, history=History(state.history.panel, late))
