"""Forecasts from posterior draws of the paper's model (paper section 5, Algorithm 1)."""

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
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.full.normal import factor
from quorate.models.full.population import Population
from quorate.models.full.simplex import log_ratios, probabilities, tempered
from quorate.models.patterns import Patterns, forecast_from, vote_patterns

FORECAST_DRAWS = 512
"""Posterior draws behind a forecast, taken evenly from all chains."""


@dataclass(frozen=True)
class FullPredictor:
    """The paper's model with its posterior draws, ready to forecast."""

    panel: Panel
    settings: Settings
    draws: Draws
    health: Health
    population: Population | None = field(default=None, repr=False, compare=False)  # chains that can be carried on
    _tables: dict[tuple[object, ...], Patterns] = field(default_factory=dict, repr=False, compare=False)

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """Forecast of the target given the votes seen: a marginal of one table for each case."""
        return forecast_from(self._patterns(rng, case), case, target, panel=self.panel, fit=self.health)

    def _patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
        """The case's patterns; the last is kept, since only the votes change between questions about a case."""
        key = (case.probabilities, case.available, str(rng.bit_generator.state))
        if key not in self._tables:
            experts = tuple(h for h, there in enumerate(case.available) if there)
            chance = self.vote_chance(rng, case.probability_rows(len(self.panel.classes)))
            self._tables.clear()
            self._tables[key] = vote_patterns(rng, chance, experts)
        return self._tables[key]

    def vote_chance(self, rng: np.random.Generator, rows: Floats) -> Floats:
        """Vote probabilities of every expert under latent draws given the classifiers (M, K): (S, R, H, K)."""
        mean, root = self._latent_normal(log_ratios(rows, clip=self.settings.clip).reshape(-1))
        draws = len(root)
        repeats = max(1, self.settings.latents // draws)
        # Antithetic pairs halve the noise of everything that is monotone in a latent.
        half = rng.standard_normal((draws, (repeats + 1) // 2, root.shape[2]))
        normals = np.concatenate([half, -half], axis=1)[:, :repeats]
        z = mean[:, None, :] + normals @ root.transpose(0, 2, 1)  # (S, R, H (K-1))
        theta = probabilities(z.reshape(draws, repeats, -1, len(self.panel.classes) - 1))
        if not self.settings.temperature:
            return theta
        tau = self.draws.tau.reshape(-1)[self._taken]
        return tempered(theta, tau[:, None, None])

    @cached_property
    def _taken(self) -> Ints:
        """Which draws forecasts use: evenly spaced, chain after chain, so that neighbours share a chain."""
        every = self.draws.tau.size
        return np.linspace(0, every - 1, min(FORECAST_DRAWS, every)).round().astype(np.int64)

    def _latent_normal(self, observed: Floats) -> tuple[Floats, Floats]:
        """Experts' log-ratios given the classifiers' that are there: mean (S, E) and a factor (S, E, L)."""
        mu, s, omega = self._flat
        seen = np.flatnonzero(~np.isnan(observed))
        first_expert = len(observed)
        order = np.concatenate([seen, np.setdiff1d(np.arange(mu.shape[1]), seen)])  # classifiers that are there first
        root = self._root if len(seen) == first_expert else factor(omega[:, order][:, :, order])
        root = root * s[:, order, None]
        known = len(seen)
        residual = (observed[seen] - mu[:, seen])[:, :, None]
        noise = np.linalg.solve(root[:, :known, :known], residual)  # (S, known, 1)
        experts = slice(first_expert, None)  # they stay last in any order
        mean = mu[:, experts] + (root[:, experts, :known] @ noise)[:, :, 0]
        return mean, root[:, experts, known:]

    @cached_property
    def _flat(self) -> tuple[Floats, Floats, Floats]:
        d, taken = self.draws.size, self._taken
        mu, s = self.draws.mu.reshape(-1, d)[taken], self.draws.s.reshape(-1, d)[taken]
        return mu, s, self.draws.omega.reshape(-1, d, d)[taken]

    @cached_property
    def _root(self) -> Floats:
        return factor(self._flat[2])
