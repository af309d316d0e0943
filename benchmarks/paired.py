"""Runs held against each other in pairs: at the same allowed error, and at equal error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from quorate.core.arrays import Floats

RUNS = 12


@dataclass(frozen=True)
class Sum:
    """One run's figures; cases whose votes tie are left out of errors and of what was stated."""

    panel: str
    variant: str
    max_error: float
    run: str
    decided: int
    queries: float  # mean over all cases, ties included
    rounds: float
    errors: float
    stated: float
    cost: float | None = None  # mean, with one dear expert; None where the panel has other numbers of experts
    missed: float | None = None  # errors on cases of the graver outcome
    grave: int | None = None  # such cases


Figure = Callable[[Sequence[Sum]], float]
"""A figure of some runs."""


def queries(runs: Sequence[Sum]) -> float:
    """Mean queries a case."""
    return float(np.mean([s.queries for s in runs]))


def rounds(runs: Sequence[Sum]) -> float:
    """Mean rounds a case."""
    return float(np.mean([s.rounds for s in runs]))


def cost(runs: Sequence[Sum]) -> float:
    """Mean cost a case, with one dear expert."""
    return float(np.mean([s.cost for s in runs if s.cost is not None]))


def stated(runs: Sequence[Sum]) -> float:
    """Mean stated error."""
    return sum(s.stated for s in runs) / sum(s.decided for s in runs)


def made(runs: Sequence[Sum]) -> float:
    """Error rate."""
    return sum(s.errors for s in runs) / sum(s.decided for s in runs)


def missed(runs: Sequence[Sum]) -> float:
    """Share of the graver cases that were missed."""
    return sum(s.missed or 0.0 for s in runs) / max(sum(s.grave or 0 for s in runs), 1)


Runs = dict[float, list[Sum]]
"""The runs of one variant on one panel by allowed error, in one order of runs."""


def of(found: Iterable[Sum], panel: str, variant: str) -> Runs:
    """The runs of a variant on a panel, at the allowed errors at which all of them are there."""
    groups: Runs = {}
    for one in found:
        if (one.panel, one.variant) == (panel, variant):
            groups.setdefault(one.max_error, []).append(one)
    return {level: sorted(groups[level], key=lambda s: s.run) for level in sorted(groups) if len(groups[level]) == RUNS}


@dataclass(frozen=True)
class Gap:
    """A difference with half the width of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.mean - self.half:+.3f}, {self.mean + self.half:+.3f})"


def jackknife(figure: Callable[[list[int]], float], runs: int) -> Gap:
    """A figure of some runs and its interval from leaving each of them out."""
    everyone = list(range(runs))
    without = np.array([figure([run for run in everyone if run != out]) for out in everyone])
    spread = math.sqrt((runs - 1) / runs * float(((without - without.mean()) ** 2).sum()))
    return Gap(figure(everyone), float(stats.t.ppf(0.975, runs - 1)) * spread)


LEAST = 1e-5
"""Error rates below this are taken for it: the scale is logarithmic."""


def along(one: Runs, other: Runs, runs: list[int], price: Figure, error: Figure) -> float:
    """Mean difference of what one and the other cost at equal error, over the errors that both reach."""
    curves = []
    for own in (one, other):
        own_runs = [[own[level][run] for run in runs] for level in own]
        errors = np.log(np.maximum([error(some) for some in own_runs], LEAST))
        order = np.argsort(errors, kind="stable")
        curves.append((errors[order], np.array([price(some) for some in own_runs])[order]))
    low, high = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    at: Floats = np.linspace(low, high, 50)
    return float(np.mean(np.interp(at, *curves[0]) - np.interp(at, *curves[1])))


def at_equal_error(one: Runs, other: Runs, price: Figure = queries, error: Figure = stated) -> Gap:
    """That with its interval, runs being paired."""
    shared = {level for level in one if level in other}
    one, other = ({level: own[level] for level in own if level in shared} for own in (one, other))
    return jackknife(lambda runs: along(one, other, runs, price, error), RUNS)


def fewer_missed(one: Runs, other: Runs) -> Gap:
    """Mean difference of the share of graver cases missed at equal queries, over the queries that both reach."""

    def figure(runs: list[int]) -> float:
        curves = []
        for own in (one, other):
            points = [[own[level][run] for run in runs] for level in own]
            curves.append(np.array(sorted((queries(some), missed(some)) for some in points)).T)
        at: Floats = np.linspace(max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves), 50)
        return float(np.mean(np.interp(at, *curves[0]) - np.interp(at, *curves[1])))

    return jackknife(figure, RUNS)


def at_same_level(one: Runs, other: Runs, level: float, price: Figure = queries) -> Gap:
    """Paired difference at one allowed error."""
    return jackknife(
        lambda runs: price([one[level][run] for run in runs]) - price([other[level][run] for run in runs]), RUNS
    )


def mean_gap(gaps: Sequence[Gap]) -> Gap:
    """The mean of independent differences."""
    return Gap(float(np.mean([gap.mean for gap in gaps])), math.sqrt(sum(gap.half**2 for gap in gaps)) / len(gaps))
