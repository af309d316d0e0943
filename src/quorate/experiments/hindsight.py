"""A floor, not a method: the model as it would be had it seen every vote of the table before the first case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from quorate.assembly import PRESETS, Options, Plan, plan, read_target
from quorate.core.history import History
from quorate.core.protocols import Predictor, Target
from quorate.data.cells import ABSENT
from quorate.data.table import Table
from quorate.errors import SettingsError
from quorate.policy.schedule import never_schedule
from quorate.study.seeds import generator

NAME = "hindsight"


def in_hindsight(method: str) -> bool:
    """Whether a name is that of the floor, by itself or with a preset.

    >>> in_hindsight("hindsight"), in_hindsight("hindsight:paper"), in_hindsight("bayes")
    (True, True, False)
    """
    return method.partition(":")[0] == NAME


def as_method(options: Options) -> Options:
    """The options of the method that is fitted in hindsight; those of any other method as they are.

    >>> as_method(Options("hindsight:paper")).method
    'bayes:paper'
    """
    if not in_hindsight(options.method):
        return options
    if options.method.endswith(":"):
        named = " or ".join(f"{NAME}:{preset}" for preset in PRESETS)
        raise SettingsError(f"unknown method {options.method!r}; expected {NAME} or {named}")
    for option, value in {"schedule": options.schedule, "window": options.window}.items():
        if value is not None:
            raise SettingsError(
                f"option {option} does not apply to {options.method!r}, which learns once, from every vote of the table"
            )
    return replace(options, method="bayes" + options.method.removeprefix(NAME))


@dataclass(frozen=True)
class Known:
    """A learner that has nothing left to learn."""

    predictor: Predictor

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """What was learned in hindsight."""
        del rng, history, previous  # it has seen everything
        return self.predictor


def fitted(table: Table, options: Options, target: Target, *, seed: int) -> Plan:
    """The method that options name, its model fitted once on all rows with all their votes; it never learns again."""
    named = as_method(options)
    chosen = plan(table.panel, named, target)
    plain = Options()  # what does not bear on the fit
    fitting = replace(
        named, max_error=plain.max_error, chooser=None, cost_blind=False, rules=plain.rules, loss=None, in_flight=1
    )
    predictor = _fit(table, fitting, seed)
    method = replace(chosen.method, learner=Known(predictor), schedule=never_schedule)
    return replace(chosen, method=method, name=options.method, schedule=None)


def everything(table: Table) -> History:
    """All rows of a table as settled cases, every recorded vote cast."""
    votes = [tuple((h, int(vote)) for h, vote in enumerate(row) if vote != ABSENT) for row in table.votes]
    return History(table.panel, tuple(replace(table.case(row), votes=cast) for row, cast in enumerate(votes)))


@lru_cache(maxsize=1)
def _fit(table: Table, options: Options, seed: int) -> Predictor:
    """A fit takes long, and replays of one table at several allowed errors share it."""
    learner = plan(table.panel, options, read_target("consensus", table.panel)).method.learner
    return learner.update(generator(seed, NAME), everything(table), None)
