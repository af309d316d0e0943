"""Preset paper with one thing after another made as the authors' program has it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.protocols import Predictor, Target
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.models.draws import Draws
from quorate.models.full.gibbs import Chain, Chains, advance, start
from quorate.models.full.learner import FullLearner
from quorate.models.full.population import Cases
from quorate.models.full.predictor import FullPredictor
from quorate.models.full.simplex import log_ratios, probabilities, tempered
from quorate.models.full.state import State, make_data, make_prior, make_widths
from quorate.models.health import fit_health
from quorate.models.patterns import Sample, batches, effective, forecast_from

EXACT = "exact"
LEAST_RATIO = math.log(1e-9)
"""Where the authors' program cuts a classifier's log-ratios off, at this side only."""
UNCLIPPED = 300.0
"""Beyond any log-ratio of the panels that are measured."""
LATENTS = 6000
"""Latents behind a forecast of the authors' program: one for each posterior draw."""
CHAINS = 3
SPREAD = 2.0
"""A chain of the authors' program starts anywhere within so much of 0, on the unbounded scale of each parameter."""


@dataclass(frozen=True)
class Variant:
    """Preset paper with some things as the authors' program has them."""

    sweeps: tuple[int, int] | None = None  # three chains anew at each update: sweeps thrown away and kept
    anywhere: bool = False  # such chains start where those of the authors' program do
    draws: int | None = None  # forecasts by so few draws of the chains there are
    gated: bool = True  # False: settle whatever the health and the noise of a forecast
    free_row: bool = False  # the first row of the order is known with all its votes
    one_sided: bool = False  # log-ratios of classifiers are cut off below and not above
    simulated: bool = False  # forecasts by weighted simulated votes, one latent for each of 6,000
    limit: float = math.inf  # such forecasts cut the experts' log-ratios off above


VARIANTS = {
    EXACT: Variant(),
    "no gate": Variant(gated=False),
    "chains 150 + 200": Variant(sweeps=(150, 200), gated=False),
    "chains 15 + 20": Variant(sweeps=(15, 20), gated=False),
    "chains 2 + 5": Variant(sweeps=(2, 5), gated=False),
    "chains 15 + 20, any start": Variant(sweeps=(15, 20), anywhere=True, gated=False),
    "chains 2 + 5, any start": Variant(sweeps=(2, 5), anywhere=True, gated=False),
    "10 draws": Variant(draws=10, gated=False),
    "3 draws": Variant(draws=3, gated=False),
    "1 draw": Variant(draws=1, gated=False),
    "first row free": Variant(free_row=True),
    "clipped on one side": Variant(one_sided=True),
    "simulated votes": Variant(simulated=True, gated=False),
    "simulated votes, cut at +10": Variant(simulated=True, limit=10.0, gated=False),
    "all, chains 15 + 20": Variant(
        (15, 20), anywhere=True, gated=False, free_row=True, one_sided=True, simulated=True, limit=10.0
    ),
    "all, 3 draws": Variant(draws=3, gated=False, free_row=True, one_sided=True, simulated=True, limit=10.0),
}


def floored(table: Table) -> Table:
    """A table whose log-ratios against the last class are no less than those of the authors' program."""
    ratios = log_ratios(table.probabilities, clip=UNCLIPPED)
    return replace(table, probabilities=probabilities(np.maximum(ratios, LEAST_RATIO)))


def start_anywhere(rng: np.random.Generator, cases: Cases, settings: Settings) -> Chains:
    """Chains that start as Stan's do: uniform on the unbounded scale of every parameter and latent."""
    n, first = len(cases), cases.log_ratios.shape[1] * (cases.classes - 1)
    experts = cases.votes.shape[1]
    size = first + experts * (cases.classes - 1)
    chains = []
    for own in rng.spawn(settings.chains):
        z, mu = own.uniform(-SPREAD, SPREAD, (n, size)), own.uniform(-SPREAD, SPREAD, size)
        z[:, :first] = cases.log_ratios.reshape(n, first)
        factor = np.zeros((size, size))
        partial = np.tanh(own.uniform(-SPREAD, SPREAD, (size, size)))
        for i in range(size):
            left = 1.0
            for j in range(i):
                factor[i, j] = partial[i, j] * math.sqrt(left)
                left -= factor[i, j] ** 2
            factor[i, i] = math.sqrt(left)
        factor *= np.exp(own.uniform(-SPREAD, SPREAD, size))[:, None]
        Sigma = factor @ factor.T  # noqa: N806  # the recipe's letter
        tau = np.exp(own.uniform(-SPREAD, SPREAD, 1))
        chains.append(Chain(own, State(z, mu, Sigma, np.linalg.inv(Sigma), tau), make_widths(experts, size)))
    data = make_data(cases.log_ratios, cases.votes, cases.classes)
    return Chains(data, make_prior(settings), settings, tuple(chains))


@dataclass(frozen=True)
class Loose:
    """A predictor that settles whatever its health says, and is never refined."""

    inner: FullPredictor  # what was learned, to go on from
    shown: FullPredictor  # what forecasts
    variant: Variant

    @property
    def health(self) -> Health:
        """What was measured of the fit, without a consequence."""
        return replace(self.inner.health, reasons=())

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The model's forecast, or one by simulated votes, without a reason to doubt it."""
        if not self.variant.simulated or not case.unasked:
            found = self.shown.forecast(rng, case, target)
        else:
            seeds = [*rng.integers(2**32, size=4), *(1 + vote for vote in case.vote_row())]
            drawn = self._simulated(np.random.default_rng(seeds), case)
            found = forecast_from(
                drawn, case, target, panel=self.inner.panel, fit=self.inner.health, batch=self._taken[1]
            )
        return replace(found, health=replace(found.health, reasons=()))

    @cached_property
    def _taken(self) -> tuple[Ints, Ints]:
        """Which draws are simulated from, and their batches: all of them, or so many that are evenly spread."""
        every = self.shown.draws.tau.size
        taken = np.linspace(0, every - 1, min(LATENTS, every)).round().astype(np.int64)
        return taken, batches(taken // self.shown.draws.shape[1])

    @cached_property
    def _given_classifiers(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Means (S, d), slopes (S, dH, dM) and factors (S, dH, dH) of the experts' latents, and temperatures (S,)."""
        draws, taken = self.shown.draws, self._taken[0]
        mu, s, omega = (part.reshape(-1, *part.shape[2:])[taken] for part in (draws.mu, draws.s, draws.omega))
        first = draws.classifiers * (draws.classes - 1)
        sigma = omega * s[:, :, None] * s[:, None, :]
        slopes = np.linalg.solve(sigma[:, :first, :first], sigma[:, :first, first:]).swapaxes(1, 2)
        rest = sigma[:, first:, first:] - slopes @ sigma[:, :first, first:]
        tiny = 1e-12 * np.einsum("sii->si", sigma[:, first:, first:])
        factors: Floats = np.linalg.cholesky(rest + tiny[:, :, None] * np.eye(rest.shape[1])).astype(np.float64)
        return mu, slopes.astype(np.float64), factors, draws.tau.ravel()[taken]

    def _simulated(self, rng: np.random.Generator, case: Case) -> Sample:
        """Votes of everyone unasked under latents given the classifiers, weighted by the votes seen (Algorithm 1)."""
        mu, slopes, factors, tau = self._given_classifiers
        panel, settings = self.inner.panel, self.inner.settings
        classes = len(panel.classes)
        observed = log_ratios(case.probability_rows(classes), clip=settings.clip).ravel()
        first, repeats = len(observed), -(-LATENTS // len(tau))
        mean = mu[:, first:] + np.einsum("sij,sj->si", slopes, observed - mu[:, :first])
        noise = rng.standard_normal((len(tau), mean.shape[1], repeats))
        z = (mean[:, :, None] + factors @ noise).swapaxes(1, 2).reshape(len(tau), repeats, -1, classes - 1)
        chances = tempered(probabilities(np.minimum(z, self.variant.limit)), tau[:, None, None])
        weight = np.ones((len(tau), repeats))
        for expert, vote in case.votes:
            weight *= chances[:, :, expert, vote]
        below = chances[:, :, list(case.unasked)].cumsum(axis=-1)
        votes = (rng.random((*below.shape[:-1], 1)) * below[..., -1:] > below).sum(axis=-1)
        return Sample(classes, weight, votes.astype(np.int64), effective(weight))


@dataclass(frozen=True)
class Altered:
    """The paper's learner with what a variant changes."""

    variant: Variant
    settings: Settings
    free: tuple[Case, ...] = ()  # cases that are known with all their votes before the first one is asked

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """What the history and the free cases say."""
        known = History(history.panel, self.free + history.cases)
        before = previous.inner if isinstance(previous, Loose) else previous
        learner = FullLearner(self.settings)
        found: Predictor
        if self.variant.sweeps is not None and len(known):
            found = self._anew(rng, known, self.variant.sweeps)
        else:
            if before is None and len(known):
                before = learner.update(rng, History(history.panel), None)
            found = learner.update(rng, known, before)
        if self.variant.gated:
            return found
        if not isinstance(found, FullPredictor):
            raise TypeError(f"expected a predictor of the paper's model, got {type(found).__name__}")
        return Loose(found, _thinned(found, self.variant.draws), self.variant)

    def _anew(self, rng: np.random.Generator, known: History, sweeps: tuple[int, int]) -> FullPredictor:
        settings = replace(self.settings, chains=CHAINS)
        cases = Cases.of(known, settings)
        if self.variant.anywhere:
            chains = start_anywhere(rng, cases, settings)
        else:
            chains = start(rng, cases.log_ratios, cases.votes, classes=cases.classes, settings=settings)
        _, draws = advance(chains, warmup=sweeps[0], draws=sweeps[1])
        return FullPredictor(known.panel, settings, draws, _measured(draws, settings))


def _thinned(found: FullPredictor, count: int | None) -> FullPredictor:
    """The same with so few of its draws, evenly spread over the chains."""
    if count is None:
        return found
    draws = found.draws
    taken = np.linspace(0, draws.tau.size - 1, count).round().astype(np.int64)
    mu, s, omega, tau = (
        part.reshape(-1, *part.shape[2:])[taken][None] for part in (draws.mu, draws.s, draws.omega, draws.tau)
    )
    few = Draws(mu, s, omega, tau, draws.classes, draws.classifiers, draws.experts)
    return FullPredictor(found.panel, found.settings, few, found.health)


def _measured(draws: Draws, settings: Settings) -> Health:
    """R-hat and effective sample size where there are draws enough to speak of them."""
    return fit_health(draws, settings) if draws.shape[1] >= 10 else Health()
