"""Forecasts of chains carried through a stream against those of long fits of the same history.

`python -m tests.statistics.carried` compares all of them on the recorded panels; a part of it is in the test suite.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.protocols import Target
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.data.table import Table, read_table
from quorate.models.full import gibbs
from quorate.models.full.learner import FullLearner
from quorate.models.full.population import Cases
from quorate.models.full.predictor import FullPredictor
from quorate.models.health import fit_health

HELD_BACK = range(500, 560)
LONG = Settings(chains=6, warmup=600, draws=5000, extensions=0)
KEPT = 250
"""Draws kept of each of the long fit's chains, evenly spaced."""


@dataclass(frozen=True)
class Limits:
    """How far carried forecasts may be from those of a long fit."""

    mean: float
    largest: float


LIMITS = {
    ("chestxray", 50): Limits(0.01, 0.04),
    ("chestxray", 100): Limits(0.01, 0.04),
    ("chestxray", 250): Limits(0.01, 0.04),
    ("chaoyang", 50): Limits(0.03, 0.12),
    ("chaoyang", 100): Limits(0.015, 0.06),
    ("chaoyang", 250): Limits(0.015, 0.06),
}
STATED = 0.15
"""Largest relative difference of the summed stated errors, from 100 cases on."""


@dataclass(frozen=True)
class Distance:
    """Carried forecasts against those of a long fit: outcome probabilities and the sum of stated errors."""

    mean: float
    largest: float
    stated: float
    stated_long: float

    def within(self, name: str, n: int) -> bool:
        """Whether the distances are within their limits."""
        limits, ratio = LIMITS[name, n], self.stated / self.stated_long
        close = self.mean <= limits.mean and self.largest <= limits.largest
        return close and (n < 100 or abs(ratio - 1) <= STATED)


def history(table: Table, n: int, seed: int = 0) -> History:
    """The first n cases, each vote seen with probability one half, as in a running study."""
    hidden = np.random.default_rng(seed).random(table.votes.shape) < 0.5
    cases = []
    for row in range(n):
        case = table.case(row)
        for expert in np.flatnonzero((table.votes[row] >= 0) & ~hidden[row]):
            case = case.with_vote(int(expert), int(table.votes[row, expert]))
        cases.append(case)
    return History(table.panel, tuple(cases))


def streamed(table: Table, upto: int, at: tuple[int, ...], seed: int = 0) -> dict[int, FullPredictor]:
    """What chains that were carried from case to case have learned at some points."""
    learner, whole = FullLearner(Settings()), history(table, upto)
    found = learner.update(np.random.default_rng([seed, 0]), History(table.panel), None)
    kept: dict[int, FullPredictor] = {}
    for n in range(1, upto + 1):
        found = learner.update(np.random.default_rng([seed, n]), History(table.panel, whole.cases[:n]), found)
        if n in at:
            assert isinstance(found, FullPredictor)
            kept[n] = found
    return kept


def long_fit(table: Table, n: int, settings: Settings = LONG) -> FullPredictor:
    """The same posterior by a long fit from wide starts."""
    past = history(table, n)
    cases = Cases.of(past, settings)
    draws = gibbs.sample(
        np.random.default_rng(99), cases.log_ratios, cases.votes, classes=cases.classes, settings=settings
    )
    health = fit_health(draws, settings)
    assert health.healthy, health.reasons
    thin = draws.last(draws.shape[1], every=max(1, draws.shape[1] // KEPT))
    return FullPredictor(table.panel, replace(settings, latents=64_000), thin, health)


def outcome_probabilities(predictor: FullPredictor, cases: list[Case], target: Target) -> Floats:
    """Outcome probabilities of some cases: (N, J)."""
    return np.array(
        [predictor.forecast(np.random.default_rng(row), case, target).values for row, case in enumerate(cases)]
    )


def distance(carried: FullPredictor, long: FullPredictor, table: Table) -> Distance:
    """Distance over held-back cases with no vote seen, and with one."""
    target, cases = parse_target("consensus", table.panel), []
    for row in HELD_BACK:
        expert = row % len(table.panel.experts)
        case = table.case(row)
        cases += [case, case.with_vote(expert, int(table.votes[row, expert]))]
    a, b = (outcome_probabilities(predictor, cases, target) for predictor in (carried, long))
    gap = np.abs(a - b).max(axis=1)
    stated, stated_long = (float((1 - p.max(axis=1)).sum()) for p in (a, b))
    return Distance(float(gap.mean()), float(gap.max()), stated, stated_long)


def main() -> int:
    """Compare everything, and say what is within its limits."""
    parser = argparse.ArgumentParser(description="Carried forecasts against long fits, on recorded panels.")
    parser.add_argument("folder", help="where chestxray.csv and chaoyang.csv lie")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    good = True
    for name in ("chestxray", "chaoyang"):
        table = read_table(f"{given.folder}/{name}.csv")
        points = tuple(n for other, n in LIMITS if other == name)
        carried = streamed(table, max(points), points, given.seed)
        for n in points:
            found = distance(carried[n], long_fit(table, n), table)
            good = good and found.within(name, n)
            word = "within its limits" if found.within(name, n) else "NOT within its limits"
            sys.stdout.write(f"{name} n={n}: {word}: {found}\n")
            sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
