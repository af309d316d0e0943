"""Chains that live through a study: each new case joins them, and a few sweeps bring them up to date."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.history import History
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.full.arrivals import arrive
from quorate.models.full.gibbs import Chain, Chains, advance
from quorate.models.full.normal import prior_draws
from quorate.models.full.simplex import log_ratios
from quorate.models.full.state import State, Widths, copied_state, copied_widths, make_data, make_prior, make_widths
from quorate.models.full.sweep import finite

POOLED = 15
"""Draws of each chain behind forecasts: of the latest update, and of earlier ones that are not too stale."""
STALE = 20
"""An update is pooled while fewer than one case in so many has come or gone since."""
SWEEPS = 300
"""Sweeps of each chain for a new case are so many divided by the cases, within bounds: early cases say most."""
FEWEST, MOST = 3, 15
CORRECTED = 10
"""New cases that a vote which no longer stands counts as."""
ADAPTED, ADAPTING = 10, 3
"""At every so many cases, and at the first few, so many sweeps are thrown away in which the slice widths adapt."""
REPLACED = 0.25
"""Largest share of chains that may be replaced in one update."""


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases that chains hold latents for: a key, log-ratios and votes each."""

    keys: tuple[str, ...]
    log_ratios: Floats  # (n, M, K-1), NaN where a classifier is missing
    votes: Ints  # (n, H), -1 where there is none
    classes: int

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, history: History, settings: Settings) -> Cases:
        """The cases of a history, as the sampler reads them."""
        ratios = log_ratios(history.probabilities(), clip=settings.clip)
        return cls(tuple(case.key for case in history), ratios, history.votes(), len(history.panel.classes))


@dataclass(frozen=True, eq=False)
class Update:
    """What the chains drew in one update, and how many cases have come or gone since."""

    draws: Draws
    behind: int = 0
    refused: float = 0.0  # share of its sweeps that were undone because the covariance became singular


@dataclass(frozen=True, eq=False)
class Population:
    """Independent chains over one history, and the draws of their latest updates."""

    cases: Cases
    chains: Chains
    recent: tuple[Update, ...]  # those that forecasts pool, the latest last
    changed: int = 0  # cases that have come, gone or changed since the chains were swept

    @property
    def draws(self) -> Draws:
        """The draws that forecasts pool: (chains, sweeps of all those updates)."""
        return reduce(Draws.then, (update.draws for update in self.recent))


def from_prior(rng: np.random.Generator, cases: Cases, settings: Settings) -> Population:
    """Chains that start as independent draws from the prior, before there is any case."""
    experts = cases.votes.shape[1]
    prior = prior_draws(
        rng,
        classes=cases.classes,
        classifiers=cases.log_ratios.shape[1],
        experts=experts,
        settings=settings,
        chains=settings.population,
        count=4 * POOLED,  # they cost next to nothing
    )
    chains = []
    for c, own in enumerate(rng.spawn(settings.population)):
        Sigma = prior.omega[c, 0] * np.outer(prior.s[c, 0], prior.s[c, 0])
        latents = np.empty((0, prior.size))
        state = State(latents, prior.mu[c, 0].copy(), Sigma, np.linalg.inv(Sigma), prior.tau[c, :1].copy())
        chains.append(Chain(own, state, make_widths(experts, prior.size)))
    data = make_data(cases.log_ratios, cases.votes, cases.classes)
    return Population(cases, Chains(data, make_prior(settings), settings, tuple(chains)), (Update(prior),))


def from_fit(rng: np.random.Generator, cases: Cases, moments: Sequence[Chains], draws: Draws) -> Population:
    """Chains that go on from moments of a long fit, those of one of its chains together."""
    chains = [moment.chains[c] for c in range(len(moments[-1].chains)) for moment in moments]
    # Each gets a generator of its own: those of two moments of one chain of the fit would give the same numbers.
    own = [Chain(mine, chain.state, chain.widths) for mine, chain in zip(rng.spawn(len(chains)), chains, strict=True)]
    pieces = draws.pieces(len(moments))
    thinned = pieces.last(pieces.shape[1], every=max(1, pieces.shape[1] // POOLED))
    return Population(cases, replace(moments[-1], chains=tuple(own)), (Update(thinned),))


def carried(rng: np.random.Generator, before: Population, cases: Cases) -> Population:
    """The same chains over other cases, not yet swept: cases that stayed keep their latents, others get fresh ones.

    Draws that are too stale, or that saw a vote which no longer stands, are not pooled any more.
    """
    source, unsaid = _sources(before.cases, cases)
    stayed, new = np.flatnonzero(source >= 0), np.flatnonzero(source < 0)
    data = make_data(cases.log_ratios, cases.votes, cases.classes)
    widths, first = _mean_widths(before.chains.chains), data.M * (data.K - 1)
    fresh: list[Chain] = []
    sound: list[bool] = []
    for chain, own in zip(before.chains.chains, rng.spawn(len(before.chains.chains)), strict=True):
        old = chain.state
        z = np.empty((len(cases), len(old.mu)))
        z[stayed] = old.z[source[stayed]]
        z[new, :first] = cases.log_ratios[new].reshape(len(new), first)
        state = State(z, old.mu.copy(), old.Sigma.copy(), old.Q.copy(), old.tau.copy())
        fresh.append(Chain(own, state, copied_widths(widths)))
        arrived = finite(old) and all(arrive(own, data, before.chains.prior, state, int(i)) for i in new)
        sound.append(arrived and finite(state))
    behind = len(new) + len(set(before.cases.keys) - set(cases.keys))
    older = [replace(update, behind=update.behind + behind) for update in before.recent]
    kept = tuple(update for update in older if not unsaid and update.behind * STALE < len(cases))
    chains = replace(before.chains, data=data, chains=_repaired(fresh, sound))
    return Population(cases, chains, kept, max(behind, CORRECTED if unsaid else 0))


def _sources(before: Cases, after: Cases) -> tuple[Ints, bool]:
    """Where each case stood before, -1 for new and changed ones (n,), and whether a vote was taken back or changed."""
    at = {key: row for row, key in enumerate(before.keys)}
    source = np.array([at.get(key, -1) for key in after.keys], dtype=np.int64)
    if not len(before):
        return source, False
    known, old = source >= 0, np.maximum(source, 0)
    cast, ratios = before.votes[old], before.log_ratios[old]
    unsaid = known & ((cast >= 0) & (cast != after.votes)).any(axis=1)
    same = (ratios == after.log_ratios) | (np.isnan(ratios) & np.isnan(after.log_ratios))
    source[~(same.all(axis=(1, 2)) & (cast == after.votes).all(axis=1))] = -1
    return source, bool(unsaid.any())


def _mean_widths(chains: Sequence[Chain]) -> Widths:
    """Slice widths averaged over all sound chains, so that none hangs on its own chain's state."""
    sound = [chain.widths for chain in chains if finite(chain.state)]
    if not sound:
        raise HealthError("no chain is finite")
    return Widths(*(np.mean(parts, axis=0) for parts in zip(*sound, strict=True)))


def _repaired(chains: Sequence[Chain], sound: Sequence[bool]) -> tuple[Chain, ...]:
    """The chains, broken ones as copies of the next sound one: they might never leave a loop, or never move."""
    broken = len(chains) - sum(sound)
    if broken > REPLACED * len(chains):
        raise HealthError(f"{broken} of {len(chains)} chains are not finite or have a singular covariance")
    result: list[Chain] = []
    for c, chain in enumerate(chains):
        twin = next(k % len(chains) for k in range(c, 2 * len(chains)) if sound[k % len(chains)])
        result.append(chain if twin == c else Chain(chain.rng, copied_state(chains[twin].state), chain.widths))
    return tuple(result)


def swept(population: Population) -> Population:
    """The chains brought up to date with their cases, and what they drew on the way."""
    usual = min(max(SWEEPS // max(len(population.cases), 1), FEWEST), MOST)
    burn = usual * math.isqrt(max(population.changed - 1, 0))
    if len(population.cases) <= MOST or len(population.cases) % ADAPTED == 0:
        burn = max(burn, ADAPTING)
    recent = _latest(population.recent, POOLED - usual)
    draws = POOLED - sum(update.draws.shape[1] for update in recent)
    chains, latest = advance(population.chains, warmup=burn, draws=draws)
    return Population(population.cases, chains, (*recent, _update(population.chains, chains, latest, burn)))


def _update(before: Chains, after: Chains, draws: Draws, burn: int) -> Update:
    sweeps = len(after.chains) * (burn + draws.shape[1])
    return Update(draws, refused=(after.refused - before.refused) / sweeps)


def _latest(recent: Sequence[Update], count: int) -> tuple[Update, ...]:
    """The last so many draws of each chain, by the updates they come from."""
    kept: list[Update] = []
    for update in reversed(recent):
        here = min(count, update.draws.shape[1])
        if here:
            kept.insert(0, replace(update, draws=update.draws.last(here)))
        count -= here
    return tuple(kept)


def longer(population: Population, sweeps: int) -> Population:
    """The same chains so many sweeps further, with as many draws of each as forecasts pool from the last of them."""
    chains, draws = advance(population.chains, warmup=sweeps, draws=POOLED)
    return Population(population.cases, chains, (_update(population.chains, chains, draws, sweeps),))
