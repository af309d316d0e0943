"""Forecasts from particles of the shared-evidence model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.models.evidence.cases import read_scores, regime_numbers
from quorate.models.evidence.draws import siding
from quorate.models.evidence.health import particle_health
from quorate.models.evidence.particles import Particles, thicker, widened, with_regime
from quorate.models.evidence.tables import Question, odds_factors, sampled, table
from quorate.models.patterns import TABLE_LIMIT, Patterns, Sample, Table, effective, forecast_from

BATCHES = 16
"""Neighbouring particles form so many batches: copies of one stand together, so that batches are nearly independent."""
MANY = 1e12
"""Nodes are integrated over without noise: as if by so many latents."""
LONG = 500
"""With more cases than this no more particles are made for a single decision: it would take too long."""
KEPT = 2**20
"""Numbers in the tables of recent cases that are kept: forecasts of a case come again with its next vote."""
FACTORS = 2**22
"""Numbers in the odds factors that are kept for further cases; where there would be more, each case has its own."""
FINER = 4
"""How many times as many particles and sampled votes a less noisy forecast has."""


@dataclass(frozen=True)
class EvidencePredictor:
    """The shared-evidence model with its particles, ready to forecast."""

    panel: Panel
    particles: Particles = field(repr=False, compare=False)
    health: Health
    rung: int = 0  # how often it was refined
    _tables: dict[tuple[object, ...], Patterns] = field(default_factory=dict, repr=False, compare=False)
    _factors: dict[int, Floats | None] = field(default_factory=dict, repr=False, compare=False)  # by what is missing
    _finer: list[EvidencePredictor | None] = field(default_factory=list, repr=False, compare=False)

    def refined(self) -> EvidencePredictor | None:
        """The same posterior by more particles, and more sampled votes.

        None after that, where it is not healthy, or where it would take too long.
        """
        if not self._finer:
            made = None
            if self.rung == 0 and self.health.healthy and len(self.particles.cases) <= LONG:
                more = thicker(np.random.default_rng(self.particles.seed), self.particles, FINER)
                made = EvidencePredictor(self.panel, more, particle_health(more), rung=1)
            self._finer.append(made if made is not None and made.health.healthy else None)
        return self._finer[0]

    def grown(self, panel: Panel) -> EvidencePredictor:
        """The same for a panel that has grown: newcomers have the prior that the panel's members set."""
        particles = widened(self.particles, len(panel.classifiers), len(panel.experts))
        return EvidencePredictor(panel, particles, self.health, self.rung)

    def __getstate__(self) -> dict[str, object]:
        """What another process needs: nothing that it can make again."""
        kept = {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}
        return {**kept, "_tables": {}, "_factors": {}, "_finer": []}

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """Forecast of the target given the votes seen: a marginal of the case's vote patterns."""
        found = self.patterns(rng, case)
        return forecast_from(found, case, target, panel=self.panel, fit=self.health, batch=self._batch)

    def siding(self) -> tuple[Floats, Floats]:
        """Weights (P,) of the particles, and who sides with whom under each: (P, H, H)."""
        return self.particles.weight, siding(self.particles)

    def patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
        """The case's vote patterns: one table for all votes that may come, or votes sampled given those seen."""
        classes = len(self.panel.classes)
        if not case.unasked:
            return Table((), classes, self.particles.weight[:, None], MANY)
        everyone = tuple(h for h, there in enumerate(case.available) if there)
        if classes ** len(everyone) <= TABLE_LIMIT:
            memo = (case.key, case.probabilities, case.available)
            if memo not in self._tables:
                if (len(self._tables) + 1) * len(self.particles.theta) * classes ** len(everyone) > KEPT:
                    self._tables.clear()
                self._tables[memo] = self._table(case, everyone)
            return self._tables[memo]
        return self._sample(rng, case)

    def _question(self, case: Case, experts: tuple[int, ...]) -> tuple[Particles, Question, int]:
        scores, missing = read_scores(case.probability_rows(len(self.panel.classes))[None])
        particles = with_regime(self.particles, int(missing[0]))
        row = np.full(len(self.panel.experts), -1, dtype=np.int64)
        row[: len(case.available)] = case.vote_row()
        regime = int(regime_numbers(missing, particles.regimes)[0])
        return particles, Question(scores[0], regime, np.array(experts, dtype=np.int64), row), int(missing[0])

    def _factors_of(self, particles: Particles, regime: int, missing: int) -> Floats | None:
        """Odds factors that cases share which lack the same classifiers; made for the second of them, if at all."""
        theta, model = particles.theta, particles.model
        if len(theta) * model.shape.experts * model.shape.classes * len(model.nodes.weight) > FACTORS:
            return None
        if missing not in self._factors:  # mostly nothing is
            self._factors.clear()
            self._factors[missing] = None
        elif self._factors[missing] is None:
            self._factors[missing] = odds_factors(theta, model, regime)
        return self._factors[missing]

    def _table(self, case: Case, experts: tuple[int, ...]) -> Table:
        particles, question, missing = self._question(case, experts)
        factors = self._factors_of(particles, question.regime, missing)
        mass = table(particles.theta, particles.weight, particles.model, question, factors)
        return Table(experts, len(self.panel.classes), mass, MANY)

    def _sample(self, rng: np.random.Generator, case: Case) -> Sample:
        particles, question, _ = self._question(case, case.unasked)
        repeats = -(-particles.settings.panels * (FINER if self.rung else 1) // len(particles.theta))
        seen, votes = sampled(rng, particles.theta, particles.model, question, repeats)
        weight = np.repeat((particles.weight * seen)[:, None], repeats, axis=1)
        return Sample(len(self.panel.classes), weight, votes, effective(weight))

    @cached_property
    def _batch(self) -> Ints:
        count = len(self.particles.theta)
        return np.arange(count) * BATCHES // count
