"""Learning the paper's model: a posterior sampler behind the Learner seam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.protocols import Predictor
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.full import gibbs
from quorate.models.full.population import Cases, Population, carried, from_fit, from_prior, longer, swept
from quorate.models.full.predictor import FullPredictor
from quorate.models.health import carried_health, fit_health

Engine = Literal["gibbs", "nuts"]

LONGER = (30, 60, 120)
"""Sweeps of each further try with chains that fail their gate, before they are given up for a long fit."""
FEW = 20
"""So many new cases are always taken in by the chains there are; more than that and half of all cases start afresh."""


@dataclass(frozen=True)
class FullLearner:
    """Samples the posterior of the means, scales, correlations and temperature of the paper's section 4."""

    settings: Settings
    engine: Engine = "gibbs"

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """What the history says: by the chains of `previous` where they can be carried on, else by a long fit.

        Chains that fail their gate are swept longer, and then given up for a long fit. If that gives nothing usable,
        what was learned before stays in force, marked as unhealthy. Of a smaller panel nothing can be carried on:
        the prior of some correlations changes when others join them.
        """
        before = previous if isinstance(previous, FullPredictor) else None
        if before is not None and before.panel != history.panel:
            before = self._prior(rng, history)
        try:
            if self.engine == "nuts":
                return self._by_nuts(rng, history)
            return self._carry_on(rng, history, before) or self._start_afresh(rng, history)
        except HealthError as error:
            if before is None:
                raise
            return FullPredictor(before.panel, before.settings, before.draws, Health((str(error),)), before.population)

    def _carry_on(
        self, rng: np.random.Generator, history: History, before: FullPredictor | None
    ) -> FullPredictor | None:
        """The chains there are, brought up to date; None where there are none, or they do not pass their gate."""
        cases = Cases.of(history, self.settings)
        if not len(cases):
            return self._prior(rng, history)
        if before is None or before.population is None:
            return None
        try:
            chains = carried(rng, before.population, cases)
        except HealthError:
            return None
        if chains.changed > max(FEW, len(cases) // 2):
            return None
        chains = swept(chains)
        health = _checked(chains)
        for sweeps in LONGER:
            if health.healthy:
                break
            chains = longer(chains, sweeps)
            health = _checked(chains)
        return FullPredictor(history.panel, self.settings, chains.draws, health, chains) if health.healthy else None

    def _prior(self, rng: np.random.Generator, history: History) -> FullPredictor:
        chains = from_prior(rng, Cases.of(History(history.panel), self.settings), self.settings)
        return FullPredictor(history.panel, self.settings, chains.draws, Health(), chains)

    def _start_afresh(self, rng: np.random.Generator, history: History) -> FullPredictor:
        cases = Cases.of(history, self.settings)
        found = gibbs.fit(rng, cases.log_ratios, cases.votes, classes=cases.classes, settings=self.settings)
        if not found.health.healthy:  # chains that never agreed must not be carried on as if they had
            return FullPredictor(history.panel, self.settings, found.draws, found.health)
        chains = from_fit(rng, cases, found.moments, found.draws)
        return FullPredictor(history.panel, self.settings, found.draws, found.health, chains)

    def _by_nuts(self, rng: np.random.Generator, history: History) -> FullPredictor:
        from quorate.models.full import nuts  # needs an extra, and is slow to import

        cases = Cases.of(history, self.settings)
        draws, divergences = nuts.sample(
            rng, cases.log_ratios, cases.votes, classes=cases.classes, settings=self.settings
        )
        health = fit_health(draws, self.settings, divergences=divergences)
        if health.rhat is None:  # nothing was measured: not finite, or a chain that never moved
            raise HealthError(f"the sampler gave nothing that may be used: {'; '.join(health.reasons)}")
        return FullPredictor(history.panel, self.settings, draws, health)


def _checked(chains: Population) -> Health:
    latest = chains.recent[-1]
    return carried_health(chains.draws, latest.draws, chains.chains.settings, refused=latest.refused)
