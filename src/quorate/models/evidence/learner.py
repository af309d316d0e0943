"""Learning the shared-evidence model: particles behind the Learner seam."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.protocols import Predictor
from quorate.core.settings import EvidenceSettings
from quorate.errors import HealthError
from quorate.models.evidence.cases import Cases
from quorate.models.evidence.health import particle_health
from quorate.models.evidence.particles import Particles, carried, from_nothing, from_prior, moved_all, refreshed
from quorate.models.evidence.predictor import EvidencePredictor

MORE_MOVES = 4
"""Moves of every particle where the gate is not passed at once."""


@dataclass(frozen=True)
class EvidenceLearner:
    """Carries particles of the posterior through a study."""

    settings: EvidenceSettings

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """What the history says: by the particles of `previous` if there are any, else from the prior.

        Particles that fail their gate are moved more, and then given up for others from the prior.
        """
        cases, classes = Cases.of(history.window(self.settings.cases)), len(history.panel.classes)
        if not len(cases):
            return EvidencePredictor(history.panel, from_prior(rng, cases, classes, self.settings), Health())
        before = previous if isinstance(previous, EvidencePredictor) else None
        if before is not None and before.particles.settings != self.settings:
            before = None  # what was learned under other settings is no start
        found = None if before is None else self._carried_on(rng, history, before, cases)
        return found or self._begun(rng, history, before, cases)

    def _carried_on(
        self, rng: np.random.Generator, history: History, before: EvidencePredictor, cases: Cases
    ) -> EvidencePredictor | None:
        """The particles there are, brought up to date; None where they do not pass their gate."""
        try:
            particles = refreshed(rng, carried(rng, before.particles, cases))
        except HealthError:
            return None
        found = _checked(history, particles)
        if not found.health.healthy:
            found = _checked(history, _moved(rng, particles))
        return found if found.health.healthy else None

    def _begun(
        self, rng: np.random.Generator, history: History, before: EvidencePredictor | None, cases: Cases
    ) -> EvidencePredictor:
        """Others from the prior; what was learned before stays in force, marked, if these give nothing usable."""
        try:
            begun = from_nothing(rng, cases, len(history.panel.classes), self.settings)
        except HealthError as error:
            if before is None:
                raise
            return replace(before.grown(history.panel), health=Health((str(error),)))
        return _checked(history, _moved(rng, begun))


def _moved(rng: np.random.Generator, particles: Particles) -> Particles:
    for _ in range(MORE_MOVES):
        particles = moved_all(rng, particles)
    return particles


def _checked(history: History, particles: Particles) -> EvidencePredictor:
    return EvidencePredictor(history.panel, particles, particle_health(particles))
