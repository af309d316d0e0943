"""Whose questions are open, and which cases wait for whom: an index over a study's state, kept up case by case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from quorate.study.state import State


@dataclass(frozen=True)
class Question:
    """A case that an expert was asked about, and when the question lapses, in seconds since 1970."""

    case: str
    expert: str
    until: float | None


class Standing(NamedTuple):
    """What a case waits for: experts, a first look, or money."""

    experts: tuple[str, ...]
    unseen: bool
    poor: bool
    turn: int | None  # where it stands among those that wait; None where it does not


@dataclass
class Queues:
    """Cases that wait, as each expert would take them up: nobody looks through all of them.

    An entry may be of a case that waits no longer, or for others: it is dropped when it would be next.
    """

    _turn: dict[str, int] = field(default_factory=dict)  # by case: when it began to wait
    _begun: int = 0
    _before_all: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))  # heaps by expert
    _at_all: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    def join(self, key: str, experts: tuple[str, ...]) -> None:
        """A case waits for some experts; one that waits already keeps its turn."""
        if key not in self._turn:
            self._begun += 1
            self._turn[key] = self._begun
        entry = (self._turn[key], key)
        heappush(self._before_all[experts[0]], entry)
        for expert in experts:
            heappush(self._at_all[expert], entry)

    def turn(self, key: str) -> int | None:
        """Where a case stands among those that wait."""
        return self._turn.get(key)

    def return_to(self, key: str, turn: int) -> None:
        """Let a case that will wait again have its turn of before."""
        self._turn[key] = turn

    def leave(self, key: str) -> None:
        """A case waits no longer."""
        self._turn.pop(key, None)

    def next_for(self, expert: str, waiting: Mapping[str, tuple[str, ...]]) -> str | None:
        """The first case that waits for an expert before all others, else the first that waits for them at all."""
        for heap, among in ((self._before_all[expert], 1), (self._at_all[expert], None)):
            while heap:
                turn, key = heap[0]
                if self._turn.get(key) == turn and expert in waiting[key][:among]:
                    return key
                heappop(heap)
        return None


@dataclass
class Desk:
    """The questions on every expert's desk, oldest first, and the cases that nobody could be asked about."""

    max_open: int
    _open: dict[str, dict[str, Question]] = field(default_factory=dict)  # by expert, then case
    _asked: dict[str, tuple[str, ...]] = field(default_factory=dict)  # experts by case
    _waiting: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by case: the experts it waits for
    _queues: Queues = field(default_factory=Queues)
    _unseen: dict[str, None] = field(default_factory=dict)  # those of them that were not looked at yet
    _poor: dict[str, None] = field(default_factory=dict)  # cases that wait for money to come back

    def sync(self, state: State, key: str) -> None:
        """Take in what a state says of one case."""
        waiting = state.waiting(key)
        for expert in self._asked.pop(key, ()):
            if expert not in waiting.pending:
                self._open[expert].pop(key, None)
        for expert, until in zip(waiting.pending, waiting.until, strict=True):
            self._open.setdefault(expert, {}).setdefault(key, Question(key, expert, until))
        if waiting.pending:
            self._asked[key] = waiting.pending
        if state.open_case(key) is None:
            self.wait(key, ())

    def sync_all(self, state: State) -> None:
        """Begin anew from a state."""
        self._open, self._asked, self._waiting, self._unseen, self._poor = {}, {}, {}, {}, {}
        self._queues = Queues()
        for key in state.asked:
            self.sync(state, key)

    def questions(self, expert: str) -> tuple[Question, ...]:
        """What an expert was asked and has not answered, oldest first."""
        return tuple(self._open.get(expert, {}).values())

    def order(self) -> dict[str, tuple[str, ...]]:
        """The cases on every desk, oldest first."""
        return {expert: tuple(open_) for expert, open_ in self._open.items()}

    def arrange(self, order: Mapping[str, tuple[str, ...]]) -> None:
        """Put questions that are open again where they were before; those that were not there stay last."""
        for expert, keys in order.items():
            open_ = self._open.get(expert, {})
            again = [key for key in keys if key in open_]
            self._open[expert] = {key: open_[key] for key in (*again, *open_)}

    def holds(self, expert: str, key: str) -> bool:
        """Whether an expert was asked about a case and has not answered."""
        return key in self._open.get(expert, {})

    def load(self, expert: str) -> int:
        """How many questions wait for an expert."""
        return len(self._open.get(expert, {}))

    def full(self) -> tuple[str, ...]:
        """Experts who have as many questions as they may have."""
        return tuple(expert for expert, open_ in self._open.items() if len(open_) >= self.max_open)

    def asked(self, key: str) -> bool:
        """Whether a vote on a case is on its way."""
        return key in self._asked

    def experts_of(self, key: str) -> tuple[str, ...]:
        """Those whose votes on a case are on their way."""
        return self._asked.get(key, ())

    def lapsed(self, now: float) -> list[Question]:
        """Questions whose time is over."""
        return [
            question
            for open_ in self._open.values()
            for question in open_.values()
            if question.until is not None and question.until <= now
        ]

    def wait(self, key: str, experts: tuple[str, ...]) -> None:
        """A case waits until one of some experts can be asked; one that waits already keeps its turn."""
        self._unseen.pop(key, None)
        self._poor.pop(key, None)
        if experts:
            self._waiting[key] = experts
            self._queues.join(key, experts)
        else:
            self._waiting.pop(key, None)
            self._queues.leave(key)

    def arrive(self, key: str, experts: tuple[str, ...]) -> None:
        """A case that was not looked at yet waits for any of some experts, if it needs one at all."""
        self.wait(key, experts)
        self._unseen[key] = None

    def wait_for_money(self, key: str) -> None:
        """A case waits until money that is promised to others is spent, or comes back."""
        self.wait(key, ())
        self._poor[key] = None

    def poor(self) -> tuple[str, ...]:
        """The cases that wait for money: to be looked at again."""
        found, self._poor = tuple(self._poor), {}
        return found

    def unseen(self) -> str | None:
        """The first case that waits to be looked at."""
        return next(iter(self._unseen), None)

    def standing(self, key: str) -> Standing:
        """What a case waits for."""
        return Standing(self._waiting.get(key, ()), key in self._unseen, key in self._poor, self._queues.turn(key))

    def stand(self, key: str, standing: Standing) -> None:
        """Let a case wait for what it waited for before, in its turn."""
        if standing.turn is not None:
            self._queues.return_to(key, standing.turn)
        self.wait(key, standing.experts)
        if standing.unseen:
            self._unseen[key] = None
        if standing.poor:
            self._poor[key] = None

    def waits(self, key: str) -> bool:
        """Whether a case waits for somebody to have time."""
        return key in self._waiting

    @property
    def waiting(self) -> int:
        """How many cases wait for somebody to have time."""
        return len(self._waiting)

    def next_for(self, expert: str) -> str | None:
        """The case that an expert with time to spare should be asked about.

        The first that waits for them before all others, else the first that waits for them at all.
        """
        return self._queues.next_for(expert, self._waiting)

    def idle(self, experts: tuple[str, ...]) -> Iterator[str]:
        """Those of some experts who have room for a question."""
        return (expert for expert in experts if self.load(expert) < self.max_open)
