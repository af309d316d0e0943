"""Forecasts from posterior draws of the paper's model (paper section 5, Algorithm 1)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.full.gibbs import advance, fit
from quorate.models.full.population import Population
from quorate.models.full.siding import siding
from quorate.models.full.simplex import log_ratios
from quorate.models.full.tables import Answer, Posterior, answer
from quorate.models.full.walk import Question
from quorate.models.health import carried_health
from quorate.models.patterns import TABLE_LIMIT, Patterns, Sample, Table, batches, effective, forecast_from

LATENTS_A_DRAW = 31
"""Latents of each posterior draw behind a forecast, where there are draws enough: they are taken evenly."""

MORE_DRAWS = 45
"""Sweeps that chains go on for where a forecast is too noisy."""

FINER = 4
"""How many times as many latents, or draws of a long fit, a less noisy forecast has."""

LONG_FIT_CASES = 500
"""With more cases than this no long fit is made for a single decision: it would take too long."""

SURPRISING = 0.25
"""Votes less probable than this leave a table too few latents, and others are proposed with the votes in mind.

If these too have an effective number below this share of all, more of them are proposed.
"""

MOST_TIMES = 4
"""How many times as many latents are proposed at most."""

Votes = tuple[tuple[int, int], ...]
"""Experts and the classes they voted for, in order."""


@dataclass(frozen=True)
class _Memo:
    """What was found about one case: a table for no votes, and patterns for the votes that were asked about last."""

    seed: int
    found: dict[Votes, Patterns] = field(default_factory=dict)


@dataclass(frozen=True)
class FullPredictor:
    """The paper's model with its posterior draws, ready to forecast."""

    panel: Panel
    settings: Settings
    draws: Draws
    health: Health
    population: Population | None = field(default=None, repr=False, compare=False)  # chains that can be carried on
    rung: int = 0  # how often it was refined
    _tables: dict[tuple[object, ...], _Memo] = field(default_factory=dict, repr=False, compare=False)
    _finer: list[FullPredictor | None] = field(default_factory=list, repr=False, compare=False)

    def refined(self) -> FullPredictor | None:
        """The same posterior with less noise: by more sweeps of the carried chains, then by a long fit afresh.

        None after that, or where the fit itself is not healthy: then nothing is won by more of it. It is made once.
        """
        if not self._finer:
            made = None
            if self.population is not None and self.health.healthy:
                made = self._swept_on(self.population) if self.rung == 0 else None
                if made is None and len(self.population.cases) <= LONG_FIT_CASES:
                    made = self._fitted_afresh(self.population)
            self._finer.append(made)
        return self._finer[0]

    def _swept_on(self, chains: Population) -> FullPredictor | None:
        """The chains there are, for more sweeps; None where these fail their gate."""
        later, more = advance(chains.chains, warmup=0, draws=MORE_DRAWS)
        pooled, refused = chains.draws.then(more), (later.refused - chains.chains.refused) / more.tau.size
        health = carried_health(pooled, more, self.settings, refused=refused)
        finer = self.settings.times(FINER, "latents")
        return FullPredictor(self.panel, finer, pooled, health, chains, rung=1) if health.healthy else None

    def _fitted_afresh(self, chains: Population) -> FullPredictor | None:
        """A long fit; None where it gives nothing usable."""
        seeds = copy.deepcopy(chains.chains.chains[0].rng).integers(2**63, size=4)
        longer = replace(self.settings.times(FINER, "draws"), extensions=0)
        ratios, votes, classes = chains.cases.log_ratios, chains.cases.votes, chains.cases.classes
        try:
            found = fit(np.random.default_rng(seeds), ratios, votes, classes=classes, settings=longer)
        except HealthError:
            return None
        return FullPredictor(self.panel, longer, found.draws, found.health, rung=2)

    def __getstate__(self) -> dict[str, object]:
        """What another process needs: nothing that it can make again."""
        kept = {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}
        return {**kept, "_tables": {}, "_finer": []}

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """Forecast of the target given the votes seen: a marginal of the case's vote patterns."""
        health = self.health
        try:
            found = self.patterns(rng, case)
        except HealthError as error:
            found, health = self._anything(case), health.because(str(error))
        return forecast_from(found, case, target, panel=self.panel, fit=health, batch=self._batch)

    def siding(self) -> tuple[Floats, Floats]:
        """Weights (S,) of some draws, and who sides with whom under each: (S, H, H)."""
        values = siding(self.draws)
        return np.full(len(values), 1.0 / len(values)), values

    def _anything(self, case: Case) -> Patterns:
        """Votes without a meaning, for a forecast that says itself that it is not healthy."""
        classes, draws = len(self.panel.classes), np.arange(len(self._batch))
        votes = (draws[:, None, None] + np.arange(len(case.unasked))) % classes
        return Sample(classes, np.ones((len(draws), 1)), votes, 0.0)

    def patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
        """The case's vote patterns: one table for all votes that are not surprising, else made for the votes seen.

        Those of the last case are kept, since only the votes change between questions about a case.
        """
        key = (case.probabilities, case.available, str(rng.bit_generator.state))
        memo = self._tables.get(key)
        if memo is None:
            memo = _Memo(int(rng.integers(2**63)))
            self._tables.clear()
            self._tables[key] = memo
        votes = case.votes
        if len(self.panel.classes) ** sum(case.available) <= TABLE_LIMIT:
            table = self._found(memo, case, ())
            if not votes or (isinstance(table, Table) and table.share(case.vote_row()) >= SURPRISING):
                return table
        return self._found(memo, case, votes)

    def _found(self, memo: _Memo, case: Case, votes: Votes) -> Patterns:
        found = memo.found.get(votes)
        if found is None:
            found = self._ask(memo.seed, case, votes)
            for stale in set(memo.found) - {()}:
                memo.found.pop(stale, None)
            memo.found[votes] = found
        return found

    def _ask(self, seed: int, case: Case, votes: Votes) -> Patterns:
        """Patterns of everyone who has not voted, given the votes; more latents where the votes leave few."""
        voters = [expert for expert, _ in votes]
        unasked = tuple(h for h, there in enumerate(case.available) if there and h not in voters)
        if not unasked:
            return Table((), len(self.panel.classes), np.ones((len(self._batch), 1)), math.inf)
        question = self._question(case, votes, unasked)
        repeats = max(1, self.settings.latents // len(self._batch))
        wanted = SURPRISING * repeats * len(self._batch)
        found = answer(np.random.default_rng(seed), question, self._posterior, repeats=repeats)
        if (left := effective(found.weight)) < wanted:
            times = min(MOST_TIMES, math.ceil(wanted / left))
            found = answer(np.random.default_rng(seed), question, self._posterior, repeats=times * repeats)
        return _as_patterns(question, found, unasked)

    def _question(self, case: Case, votes: Votes, unasked: tuple[int, ...]) -> Question:
        classes = len(self.panel.classes)
        block = classes - 1
        observed = log_ratios(case.probability_rows(classes), clip=self.settings.clip).reshape(-1)
        there = np.flatnonzero(~np.isnan(observed))
        experts = np.array([expert for expert, _ in votes] + list(unasked))
        blocks = len(observed) + (experts[:, None] * block + np.arange(block)).reshape(-1)
        return Question(
            order=np.concatenate([there, blocks]),
            observed=observed[there],
            votes=np.array([vote for _, vote in votes], dtype=np.int64),
            unasked=len(unasked),
            classes=classes,
            tempered=self.settings.temperature,
            tabled=classes ** len(unasked) <= TABLE_LIMIT,
        )

    @cached_property
    def _taken(self) -> Ints:
        """Which draws forecasts use: evenly spaced, chain after chain."""
        every = self.draws.tau.size
        return (
            np.linspace(0, every - 1, min(max(1, self.settings.latents // LATENTS_A_DRAW), every))
            .round()
            .astype(np.int64)
        )

    @cached_property
    def _batch(self) -> Ints:
        return batches(self._taken // self.draws.shape[1])

    @cached_property
    def _posterior(self) -> Posterior:
        draws, taken = self.draws, self._taken
        flat = (part.reshape(-1, *part.shape[2:])[taken] for part in (draws.mu, draws.s, draws.omega, draws.tau))
        return Posterior(*map(np.ascontiguousarray, flat))  # kernels are compiled for one layout


def _as_patterns(question: Question, found: Answer, unasked: tuple[int, ...]) -> Patterns:
    left = effective(found.weight)
    if question.tabled:
        return Table(unasked, question.classes, found.mass, left)
    return Sample(question.classes, found.weight, found.votes, left)
