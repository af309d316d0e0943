"""What a method is made of, and a fit as a value that can be run anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quorate.core.history import History
from quorate.core.protocols import Chooser, Learner, Predictor, Stopper
from quorate.core.rules import NO_RULES, Rules
from quorate.study.seeds import generator


@dataclass(frozen=True)
class Method:
    """A way to run a study: how to learn and when, whom to ask, when to stop, and what to keep to whatever is known."""

    learner: Learner
    chooser: Chooser
    stopper: Stopper
    schedule: Callable[[int], bool]  # whether a fit is due once so many cases have settled
    window: int | None = None  # learn from so many recent cases only
    rules: Rules = NO_RULES
    gravity: tuple[float, ...] | None = None  # (J,) how grave it is to miss each outcome; None where all are alike
    in_flight: int = 1  # experts asked about a case at a time
    cost_blind: bool = False  # choose as if every expert cost the same


@dataclass(frozen=True)
class Job:
    """A fit that is due: a value of (seed, history, previous) that shares nothing with its study."""

    fit: int
    seen: int  # events in the journal when it was made
    cases: int  # in the history by then, those outside the window included
    seed: int
    learner: Learner
    history: History
    previous: Predictor | None

    def run(self) -> Predictor:
        """Learn; may take long, and may run in another process."""
        return self.learner.update(generator(self.seed, "fit", self.fit), self.history, self.previous)
