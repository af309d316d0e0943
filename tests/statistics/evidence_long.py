"""Particles carried through a stream against long independent chains over the same cases.

`python -m tests.statistics.evidence_long` compares them on the recorded panels; a part of it is in the test suite.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.settings import EvidenceSettings
from quorate.core.target import parse_target
from quorate.data.table import Table, read_table
from quorate.models.evidence.cases import Cases, read_scores, regime_numbers
from quorate.models.evidence.layout import residuals_at
from quorate.models.evidence.moves import moved
from quorate.models.evidence.particles import Particles, carried, from_prior, refreshed, thicker
from quorate.models.evidence.predictor import FINER
from quorate.models.evidence.tables import Question, table

HELD_BACK = range(500, 560)
CHAINS = 32
GROUPS = 32
SETTINGS = EvidenceSettings()


@dataclass(frozen=True)
class Agreement:
    """How far particles are from long chains: means in standard errors, forecasts as probabilities."""

    parameters: float
    mean: float
    largest: float
    effective: float  # smallest effective sample size of the chains


def masked(votes: Table, n: int, seed: int = 0) -> Cases:
    """The first n cases of a table with half of the votes seen, as in a running study."""
    scores, missing = read_scores(votes.probabilities[:n])
    seen = votes.votes[:n].copy()
    seen[np.random.default_rng(seed).random(seen.shape) < 0.5] = -1
    return Cases(votes.keys[:n], scores, missing, seen)


def stream(cases: Cases, classes: int, seed: int) -> Particles:
    """Particles carried case by case."""
    rng = np.random.default_rng(seed)
    found = from_prior(rng, cases, classes, SETTINGS)
    for n in range(1, len(cases) + 1):
        found = refreshed(rng, carried(rng, found, cases.some(np.arange(n))))
    return found


def long_chains(cases: Cases, classes: int, *, warmup: int, draws: int, every: int = 10) -> Floats:
    """Draws (C, S, D) of chains that start at the prior and never look at each other once their steps are fixed."""
    rng = np.random.default_rng(99)
    begun = replace(from_prior(rng, cases, classes, SETTINGS), cases=cases)
    theta, data, model, step = begun.theta[:CHAINS], begun.data(cases), begun.model, 0.05
    root = np.eye(theta.shape[1])
    recent: list[Floats] = []
    for sweep in range(warmup):
        theta, accepted = moved(rng, theta, model, data, root=root, step=step)
        step *= float(np.exp(0.5 * (accepted.mean() - 0.8)))
        recent.append(theta)
        if sweep in (warmup // 4, warmup // 2, 3 * warmup // 4):
            flat = np.concatenate(recent[len(recent) // 2 :])
            flat = np.where(np.arange(len(flat))[:, None] % 2 == 0, flat, _turned(flat, begun))  # no side is taken
            spread = np.cov(flat.T) + 1e-3 * np.eye(flat.shape[1])
            root, step, recent = np.ascontiguousarray(np.linalg.cholesky(spread)), 0.4, []
    kept = []
    for sweep in range(draws):
        theta, _ = moved(rng, theta, model, data, root=root, step=step)
        if sweep % every == 0:
            kept.append(theta)
    return np.stack(kept, axis=1)


def _turned(theta: Floats, particles: Particles) -> Floats:
    """The same with the sign of the residuals turned, which the model leaves open."""
    result = theta.copy()
    result[:, residuals_at(particles.shape)] *= -1.0
    return result


def forecasts(theta: Floats, weight: Floats, particles: Particles, votes: Table) -> Floats:
    """Probabilities of the consensus of held-back cases with no vote and with one: (cases, 2, J)."""
    target, classes, experts = parse_target("consensus", votes.panel), particles.classes, particles.shape.experts
    rows = np.stack(np.meshgrid(*[np.arange(classes)] * experts, indexing="ij"), axis=-1).reshape(-1, experts)
    shares, result = target.weights(rows), []
    for row in HELD_BACK:
        scores, missing = read_scores(votes.probabilities[row : row + 1])
        regime = int(regime_numbers(missing, particles.regimes)[0])
        question = Question(scores[0], regime, np.arange(experts), np.full(experts, -1, dtype=np.int64))
        mass = table(theta, weight, particles.model, question).sum(axis=0)
        seen = mass * (rows[:, 0] == votes.votes[row, 0])
        result.append([mass @ shares / mass.sum(), seen @ shares / seen.sum()])
    return np.array(result)


def agreement(
    votes: Table, n: int, *, seed: int = 0, times: int = FINER, warmup: int = 400, draws: int = 1000
) -> Agreement:
    """Particles of one stream, by default as many as decide near the threshold, against long chains."""
    cases, classes = masked(votes, n), len(votes.panel.classes)
    particles = stream(cases, classes, seed)
    if times > 1:
        particles = thicker(np.random.default_rng(particles.seed), particles, times)
    chains = long_chains(cases, classes, warmup=warmup, draws=draws)
    flat = chains.reshape(-1, chains.shape[2])
    even, theta = np.full(len(flat), 1 / len(flat)), particles.theta
    spread, between = flat.std(axis=0), chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(CHAINS)
    keep = np.setdiff1d(np.arange(flat.shape[1]), residuals_at(particles.shape))
    own = standard_error(particles)
    gap = np.abs(flat.mean(axis=0) - particles.weight @ theta) / np.sqrt(between**2 + own**2)
    far = np.abs(forecasts(theta, particles.weight, particles, votes) - forecasts(flat, even, particles, votes)).max(
        axis=2
    )
    smallest = float(((spread / between) ** 2)[keep].min())
    return Agreement(float(gap[keep].max()), float(far.mean()), float(far.max()), smallest)


def standard_error(particles: Particles) -> Floats:
    """How far the particles' means can be off, from groups of neighbours: copies of one stand together."""
    group = np.arange(len(particles.theta)) * GROUPS // len(particles.theta)
    share = np.bincount(group, particles.weight)
    sums = np.stack([np.bincount(group, particles.weight * column) for column in particles.theta.T])
    spread = (sums - share * (particles.weight @ particles.theta)[:, None]) ** 2
    error: Floats = np.sqrt(spread.sum(axis=1) * GROUPS / (GROUPS - 1))
    return error


def main() -> None:
    """Compare on the panels of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--panels", nargs="+", default=["chestxray", "chaoyang"])
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--times", type=int, default=FINER, help="1 takes the particles as they are carried")
    given = parser.parse_args()
    for name in given.panels:
        votes = read_table(f"{given.folder}/{name}.csv")
        for seed in range(given.seeds):
            found = agreement(votes, given.n, seed=seed, times=given.times)
            sys.stdout.write(f"{name} n={given.n} seed {seed}: {found}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
