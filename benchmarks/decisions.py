"""Milliseconds of a decision: the first question about a case, and the next ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure, timed
from quorate.core.case import open_case
from quorate.core.decision import Decision, decide
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.full.normal import prior_draws
from quorate.models.full.predictor import FullPredictor
from quorate.policy.information import InformationGain
from quorate.policy.stopping import ErrorBelow

SHAPES = ((5, 2), (3, 4), (5, 5), (10, 4), (15, 2))
TIMES = 15


def decisions() -> Iterator[Figure]:
    """Whom to ask, with a forecast and every candidate's gain: before a vote, and after one."""
    for experts, classes in SHAPES:
        asked = Asked(experts, classes)
        asked.decide(0, votes=0)
        asked.decide(0, votes=1)
        first = [timed(asked.decide, seed, votes=0)[0] for seed in range(1, TIMES + 1)]
        after = []
        for seed in range(1, TIMES + 1):
            asked.decide(seed, votes=0)  # what the first question about a case has left is there for the next
            after.append(timed(asked.decide, seed, votes=1)[0])
        for what, seconds in (("first decision of a case", first), ("decision after a vote", after)):
            yield Figure("decisions", what, f"H={experts} K={classes}", 1000 * float(np.median(seconds)), "ms")


class Asked:
    """A case of a panel of some shape, with draws that are ready."""

    def __init__(self, experts: int, classes: int) -> None:
        self.panel = Panel([f"c{k}" for k in range(classes)], [f"e{h}" for h in range(experts)], ["m"])
        draws = prior_draws(
            np.random.default_rng(0),
            classes=classes,
            classifiers=1,
            experts=experts,
            settings=Settings(),
            chains=32,
            count=15,
        )
        self.predictor = FullPredictor(self.panel, Settings(), draws, Health())
        self.target = parse_target("consensus", self.panel)
        self.case = open_case(self.panel, "case", {"m": [1 / classes] * classes})

    def decide(self, seed: int, *, votes: int) -> Decision:
        """The decision after so many votes."""
        case = self.case
        for expert in range(votes):
            case = case.with_vote(expert, 0)
        return decide(
            np.random.default_rng(seed),
            case,
            panel=self.panel,
            forecast=self.predictor.forecast(np.random.default_rng(seed), case, self.target),
            chooser=InformationGain(),
            stopper=ErrorBelow(0.01),
        )
