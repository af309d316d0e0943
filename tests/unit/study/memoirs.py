"""A method that learns nothing but remembers what it was given: cheap, and every difference shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.baselines.simple import VotesSoFar
from quorate.core.case import Case
from quorate.core.decision import Query
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.core.target import parse_target
from quorate.policy.information import PanelOrder
from quorate.policy.schedule import every_schedule
from quorate.policy.stopping import VotesSeen
from quorate.study.journal import Journal, MemoryJournal
from quorate.study.method import Method
from quorate.study.study import Study

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])


@dataclass(frozen=True)
class Memoir:
    """Counts votes, and holds all that its fit was a value of."""

    number: float
    history: History
    previous: Predictor | None

    @property
    def health(self) -> Health:
        return Health()

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        return VotesSoFar(self.history.panel).forecast(rng, case, target)


@dataclass(frozen=True)
class Remembering:
    """Writes memoirs."""

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Memoir:
        return Memoir(float(rng.random()), history, previous)


def remembering(
    schedule: Callable[[int], bool] = every_schedule,
    *,
    votes: int | None = None,
    window: int | None = None,
    journal: Journal | None = None,
) -> Study:
    """A study that settles once so many experts have voted, or the votes decide."""
    method = Method(Remembering(), PanelOrder(), VotesSeen(votes), schedule, window)
    return Study(PANEL, target=parse_target("consensus", PANEL), method=method, name="cxr", journal=journal)


def learn(study: Study) -> None:
    """Run and adopt the fit that is due."""
    job = study.due()
    assert job is not None
    study.adopt(job, job.run())


def every_ten(cases: int) -> bool:
    """A schedule that waits long enough to tell what else makes a fit due."""
    return cases % 10 == 0


def opened(study: Study, key: str, **votes: str) -> Study:
    """The study with one more open case."""
    study.open(key, {"densenet": [0.2, 0.8]})
    for expert, vote in votes.items():
        study.tell(key, expert, vote)
    return study


def imported(study: Study, cases: int) -> Study:
    """The study with some past cases."""
    for n in range(cases):
        study.import_case(f"past-{n}", {"densenet": [0.3, 0.7]}, {"ann": "abnormal", "ben": "normal"})
    return study


def rebuilt(study: Study) -> Study:
    """The study again, from its journal and the panel it started with."""
    again = MemoryJournal(list(study.journal))
    return Study(PANEL, target=study.target, method=study.method, seed=study.seed, name=study.name, journal=again)


def who(study: Study, key: str) -> list[str]:
    """Everyone who may be asked next about a case."""
    step = study.ask(key)
    return [*step.gains] if isinstance(step, Query) else []
