"""A decision that only noise stands against tries a less noisy forecast first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.core.case import Case
from quorate.core.decision import Query, Settle
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.core.rules import NO_RULES, Rules
from quorate.core.target import parse_target
from quorate.policy.information import PanelOrder
from quorate.policy.schedule import never_schedule
from quorate.policy.stopping import ErrorBelow
from quorate.study.method import Method
from quorate.study.study import Study

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"])


@dataclass(frozen=True)
class Noisy:
    """States the same error with ever less noise, so many times over."""

    noise: float
    left: int

    @property
    def health(self) -> Health:
        return Health()

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        del rng
        joint = {PANEL.experts[expert]: np.full((2, 2), 0.25) for expert in case.unasked}
        return Forecast(
            outcomes=target.outcomes,
            classes=PANEL.classes,
            values=(0.992, 0.008),
            joint=joint,
            candidates=tuple(joint),
            health=Health(monte_carlo_error=self.noise),
        )

    def refined(self) -> Predictor | None:
        return Noisy(self.noise / 2, self.left - 1) if self.left else None


@dataclass(frozen=True)
class Given:
    """Learns what it was given."""

    predictor: Noisy

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        del rng, history, previous
        return self.predictor


def study(noise: float, left: int, rules: Rules = NO_RULES) -> Study:
    method = Method(Given(Noisy(noise, left)), PanelOrder(), ErrorBelow(0.01), never_schedule, rules=rules)
    made = Study(PANEL, target=parse_target("consensus", PANEL), method=method)
    made.open("case", {})
    return made


def test_noise_is_halved_until_the_case_can_settle() -> None:
    step = study(0.008, 2).ask("case")
    assert isinstance(step, Settle)
    assert step.forecast.health.monte_carlo_error == 0.002
    assert study(0.008, 2).settle("case").stated_error == 0.008


def test_what_stays_noisy_asks_one_more_expert_and_says_why() -> None:
    step = study(0.008, 1).ask("case")
    assert isinstance(step, Query)
    assert (step.expert, step.reason) == ("ann", "unhealthy")
    assert step.forecast.health.reasons[0].startswith("the Monte Carlo error 0.004")


def test_at_a_limit_less_noise_is_tried_before_a_case_settles_unsure() -> None:
    limit = Rules(max_votes=0)
    step = study(0.008, 2, limit).ask("case")
    assert isinstance(step, Settle)
    assert (step.reason, step.kept) == ("sure", True)
    step = study(0.008, 1, limit).ask("case")
    assert isinstance(step, Settle)
    assert (step.reason, step.kept) == ("limit", False)
    assert step.forecast.health.reasons[0].startswith("the Monte Carlo error 0.004")
