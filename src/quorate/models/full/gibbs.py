"""The exact data-augmentation Gibbs sampler of the paper's posterior: chains that start, go on and give draws."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.health import Health
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.full.normal import prior_draws
from quorate.models.full.state import (
    Data,
    Prior,
    State,
    Widths,
    check_data,
    copied_state,
    copied_widths,
    make_data,
    make_prior,
    make_widths,
)
from quorate.models.full.sweep import Record, run
from quorate.models.health import fit_health
from quorate.models.parts import THREADS

START_TAU = (0.02, 0.05, 0.15, 0.4)
"""Temperatures that chains start from, far apart so that agreement between them means something."""


@dataclass(frozen=True, eq=False)
class Chain:
    """One chain between two runs; a run works on a copy."""

    rng: np.random.Generator
    state: State
    widths: Widths


@dataclass(frozen=True, eq=False)
class Chains:
    """Chains over one history, ready to go on."""

    data: Data
    prior: Prior
    settings: Settings
    chains: tuple[Chain, ...]
    refused: int = 0  # sweeps undone because Sigma became singular


def _start_latents(rng: np.random.Generator, votes: Ints, scale: Floats, classes: int) -> Floats:
    """Latents (n, H, K-1) in which each vote has the largest probability."""
    utilities = rng.standard_normal((*votes.shape, classes))
    cases, experts = np.nonzero(votes >= 0)
    winner, vote = utilities[cases, experts].argmax(-1), votes[cases, experts]
    best = utilities[cases, experts, winner].copy()
    utilities[cases, experts, winner] = utilities[cases, experts, vote]
    utilities[cases, experts, vote] = best
    latents: Floats = scale * (utilities[..., :-1] - utilities[..., -1:]) / np.sqrt(2.0)
    return latents


def _start_chain(
    rng: np.random.Generator, log_ratios: Floats, votes: Ints, *, classes: int, settings: Settings, tau: float
) -> Chain:
    """A chain at a random, wide start that agrees with the data."""
    n, classifiers, block = log_ratios.shape
    experts = votes.shape[1]
    size = block * (classifiers + experts)
    seen = np.where(np.isfinite(log_ratios), log_ratios, 0.0)
    counts = np.maximum(np.isfinite(log_ratios).sum(axis=0), 1)
    spread = np.sqrt((seen**2).sum(axis=0) / counts)  # (M, K-1) about 0, where the prior has the means
    scale = np.exp(rng.normal(-0.7, 0.5, (classifiers + experts, block)))
    scale[:classifiers] = np.maximum(spread, 0.3) * np.exp(rng.normal(0.0, 0.1, spread.shape))
    imputed = scale[:classifiers] * rng.standard_normal(log_ratios.shape)
    z = np.concatenate(
        [
            np.where(np.isfinite(log_ratios), log_ratios, imputed),
            _start_latents(rng, votes, scale[classifiers:], classes),
        ],
        axis=1,
    ).reshape(n, size)
    s = scale.reshape(size)
    omega = np.eye(size)
    if settings.correlations:
        A = rng.normal(0.0, 0.3, (size, size))
        omega = A @ A.T + np.eye(size)
        omega /= np.sqrt(np.outer(np.diag(omega), np.diag(omega)))
    Sigma = omega * np.outer(s, s)
    mu = 0.5 * settings.sigma_mu * rng.standard_normal(size)
    start = np.array([tau if settings.temperature else 1.0])
    return Chain(rng, State(z, mu, Sigma, np.linalg.inv(Sigma), start), make_widths(experts, size))


def start(rng: np.random.Generator, log_ratios: Floats, votes: Ints, *, classes: int, settings: Settings) -> Chains:
    """Chains at wide starts over log-ratios (n, M, K-1), NaN where missing, and votes (n, H), -1 where none."""
    check_data(log_ratios, votes, classes)
    chains = tuple(
        _start_chain(own, log_ratios, votes, classes=classes, settings=settings, tau=START_TAU[number % len(START_TAU)])
        for number, own in enumerate(rng.spawn(settings.chains))
    )
    return Chains(make_data(log_ratios, votes, classes), make_prior(settings), settings, chains)


def _advance_chain(data: Data, prior: Prior, chain: Chain, warmup: int, draws: int) -> tuple[Chain, Record, int]:
    """One chain some sweeps further; the chain given is left as it was."""
    own = Chain(copy.deepcopy(chain.rng), copied_state(chain.state), copied_widths(chain.widths))
    size = own.state.mu.shape[0]
    record = Record(np.empty((draws, size)), np.empty((draws, size)), np.empty((draws, size, size)), np.empty(draws))
    refused = run(own.rng, data, prior, own.state, copied_state(own.state), own.widths, warmup, record)
    return own, record, refused


def advance(chains: Chains, *, warmup: int, draws: int, threads: int = THREADS) -> tuple[Chains, Draws]:
    """All chains `warmup` sweeps further, slice widths adapting, and then `draws` kept sweeps.

    The number of threads changes nothing but the time: each chain has a generator of its own.
    """
    if len(chains.data.votes) == 0:
        return _advance_prior(chains, draws)
    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(_advance_chain, chains.data, chains.prior, chain, warmup, draws) for chain in chains.chains]
        done = [job.result() for job in jobs]
    refused = chains.refused + sum(count for _, _, count in done)
    later = Chains(chains.data, chains.prior, chains.settings, tuple(chain for chain, _, _ in done), refused)
    return later, _gather([record for _, record, _ in done], chains.data)


def _gather(records: Sequence[Record], data: Data) -> Draws:
    return Draws(
        mu=np.stack([record.mu for record in records]),
        s=np.stack([record.s for record in records]),
        omega=np.stack([record.omega for record in records]),
        tau=np.stack([record.tau for record in records]),
        classes=data.K,
        classifiers=data.M,
        experts=data.votes.shape[1],
    )


def _advance_prior(chains: Chains, draws: int) -> tuple[Chains, Draws]:
    """Without cases the posterior is the prior, which is drawn from directly."""
    own = copy.deepcopy(chains)
    drawn = [
        prior_draws(
            chain.rng,
            classes=own.data.K,
            classifiers=own.data.M,
            experts=own.data.votes.shape[1],
            settings=own.settings,
            chains=1,
            count=draws,
        )
        for chain in own.chains
    ]
    records = [Record(one.mu[0], one.s[0], one.omega[0], one.tau[0]) for one in drawn]
    return own, _gather(records, own.data)


def sample(rng: np.random.Generator, log_ratios: Floats, votes: Ints, *, classes: int, settings: Settings) -> Draws:
    """Draws from the posterior of log-ratios (n, M, K-1) and votes (n, H), as many as the settings say."""
    begun = start(rng, log_ratios, votes, classes=classes, settings=settings)
    return advance(begun, warmup=settings.warmup, draws=settings.draws)[1]


@dataclass(frozen=True, eq=False)
class Fit:
    """A long fit: its draws, whether they pass the gate, and its chains at evenly spaced moments of the last run."""

    draws: Draws
    health: Health
    moments: tuple[Chains, ...]


def fit(rng: np.random.Generator, log_ratios: Floats, votes: Ints, *, classes: int, settings: Settings) -> Fit:
    """Draws and whether they pass the gate; chains that fail it go on for as many sweeps again, a few times.

    After an extension the same share of all sweeps is thrown away as warm-up and the rest thinned to as many draws as
    before, so that a forecast costs the same after a hard fit as after an easy one.
    """
    chains = start(rng, log_ratios, votes, classes=classes, settings=settings)
    moments, everything = _advance_in_parts(chains, warmup=settings.warmup, draws=settings.draws)
    draws, health = everything, fit_health(everything, settings)
    for extension in range(settings.extensions):
        if health.healthy:
            break
        times = extension + 2
        moments, more = _advance_in_parts(moments[-1], warmup=0, draws=settings.warmup + settings.draws)
        everything = everything.then(more).last(times * settings.draws)
        draws = everything.last(times * settings.draws, every=times)
        health = fit_health(draws, settings)
    if not all(np.isfinite(part).all() for part in (draws.mu, draws.s, draws.omega, draws.tau)):
        raise HealthError(f"the sampler gave nothing that may be used: {'; '.join(health.reasons)}")
    return Fit(draws, health, moments)


def _advance_in_parts(chains: Chains, *, warmup: int, draws: int) -> tuple[tuple[Chains, ...], Draws]:
    """All chains further as by `advance`, and how they stood after each part of the draws."""
    parts = min(-(-chains.settings.population // len(chains.chains)), draws)
    moments: list[Chains] = []
    kept: list[Draws] = []
    for part in range(parts):
        count = draws * (part + 1) // parts - draws * part // parts
        chains, more = advance(chains, warmup=warmup if part == 0 else 0, draws=count)
        moments.append(chains)
        kept.append(more)
    return tuple(moments), reduce(Draws.then, kept)
