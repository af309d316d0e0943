"""Learning the paper's model: a posterior sampler behind the Learner seam."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.protocols import Predictor
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.full import gibbs
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.simplex import log_ratios
from quorate.models.health import fit_health

Engine = Literal["gibbs", "nuts"]


@dataclass(frozen=True)
class FullLearner:
    """Samples the posterior of the means, scales, correlations and temperature of the paper's section 4."""

    settings: Settings
    engine: Engine = "gibbs"

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """A cold fit of the history; what was learned before serves only where the sampler gives nothing usable."""
        try:
            draws, health = self._sample(rng, history)
        except HealthError as error:
            if not isinstance(previous, FullPredictor):
                raise
            return replace(previous, health=Health(reasons=(str(error),)), _tables={})
        return FullPredictor(history.panel, self.settings, draws, health)

    def _sample(self, rng: np.random.Generator, history: History) -> tuple[Draws, Health]:
        ratios, votes = log_ratios(history.probabilities(), clip=self.settings.clip), history.votes()
        classes = len(history.panel.classes)
        if self.engine == "nuts":
            from quorate.models.full import nuts  # needs an extra, and is slow to import

            draws, divergences = nuts.sample(rng, ratios, votes, classes=classes, settings=self.settings)
            health = fit_health(draws, self.settings, divergences=divergences)
            if health.rhat is None:  # nothing was measured: not finite, or a chain that never moved
                raise HealthError(f"the sampler gave nothing that may be used: {'; '.join(health.reasons)}")
            return draws, health
        return gibbs.fit(rng, ratios, votes, classes=classes, settings=self.settings)
