"""How sure the figures of a comparison are: resampling the rows of the table, which several runs share.

Runs of one table walk the same rows in other orders. Resampling runs would take one row's luck for several; here a row
is drawn with everything that any run did on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.assurance.calibration import BINS, bin_of
from quorate.assurance.runs import TIE, Run
from quorate.core.arrays import Bools, Floats, Ints
from quorate.errors import InputError

RESAMPLES = 1000


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Rows:
    """Random weights (B, R) for the R rows that some runs share; the first line weighs every row alike."""

    ids: Ints  # (R,)
    weights: Floats  # (B + 1, R)

    def totals(self, run: Run, values: Floats) -> Floats:
        """Weighted sum over a run's cases of some values (n,) or (n, ...): shape (B + 1, ...)."""
        by_row = np.zeros((len(self.ids), *values.shape[1:]))
        np.add.at(by_row, np.searchsorted(self.ids, run.rows), values)
        return np.tensordot(self.weights, by_row, axes=1)


def resampled_rows(
    rng: np.random.Generator, runs: Sequence[Run], *, block: int = 1, resamples: int = RESAMPLES
) -> Rows:
    """Rows drawn with replacement, singly or in blocks of neighbours in the table."""
    if not runs:
        raise InputError("there is no run to resample; expected at least one")
    ids = np.unique(np.concatenate([run.rows for run in runs]))
    groups, member = np.unique(ids // block, return_inverse=True)
    drawn = rng.multinomial(len(groups), np.full(len(groups), 1 / len(groups)), size=resamples)
    return Rows(ids, np.concatenate([np.ones((1, len(ids))), drawn[:, member]]))


Figure = Callable[[Rows, Sequence[Run]], Floats]
"""A figure of some runs under each line of weights: shape (B + 1,)."""


def mean_of(values: Callable[[Run], Floats]) -> Figure:
    """The mean over all cases of some value, such as queries, error or stated minus actual error."""

    def figure(rows: Rows, runs: Sequence[Run]) -> Floats:
        total = sum(rows.totals(run, values(run).astype(np.float64)) for run in runs)
        cases = sum(rows.totals(run, np.ones(len(run))) for run in runs)
        return np.asarray(total / cases)

    return figure


def saved_share_of(panel_costs: Floats) -> Figure:
    """Share saved of what asking everyone would have cost, given that cost for each row of the table."""

    def figure(rows: Rows, runs: Sequence[Run]) -> Floats:
        spent = sum(rows.totals(run, run.cost) for run in runs)
        whole = sum(rows.totals(run, panel_costs[run.rows]) for run in runs)
        return np.asarray(1 - spent / whole)

    return figure


mean_queries = mean_of(lambda run: run.queries.astype(np.float64))
mean_cost = mean_of(lambda run: run.cost)
error_rate = mean_of(lambda run: run.error)
stated_error = mean_of(lambda run: run.stated)
overstatement = mean_of(lambda run: run.stated - run.error)
no_human_share = mean_of(lambda run: (run.queries == 0).astype(np.float64))


def error_where(chosen: Callable[[Run], Bools]) -> Figure:
    """Error rate over some of the cases."""

    def figure(rows: Rows, runs: Sequence[Run]) -> Floats:
        wrong = sum(rows.totals(run, run.error * chosen(run)) for run in runs)
        cases: Floats = np.asarray(sum(rows.totals(run, chosen(run).astype(np.float64)) for run in runs))
        rate: Floats = np.divide(wrong, cases, out=np.full_like(cases, np.nan), where=cases > 0)
        return rate

    return figure


def class_error(outcome: int) -> Figure:
    """Error rate over the cases whose truth is one outcome."""
    return error_where(lambda run: run.truth == outcome)


decided_error = error_where(lambda run: run.truth != TIE)


def calibration_error(rows: Rows, runs: Sequence[Run]) -> Floats:
    """Top-label ECE over 15 bins of equal width, all runs pooled."""
    gap: Floats = np.zeros(1)
    cases: Floats = np.zeros(1)
    for run in runs:
        where = np.eye(BINS)[bin_of(run.probability)]
        gap = gap + rows.totals(run, where * (run.probability - (1 - run.error))[:, None])
        cases = cases + rows.totals(run, np.ones(len(run)))
    total: Floats = np.abs(gap).sum(axis=1) / cases
    return total


def interval(figure: Figure, rows: Rows, runs: Sequence[Run]) -> Interval:
    """A figure with its percentile interval."""
    return _percentiles(figure(rows, runs))


def paired_difference(figure: Figure, rows: Rows, runs: Sequence[Run], others: Sequence[Run]) -> Interval:
    """First minus second method on the same rows under the same weights."""
    return _percentiles(figure(rows, runs) - figure(rows, others))


def _percentiles(values: Floats, level: float = 0.95) -> Interval:
    drawn = values[1:][np.isfinite(values[1:])]
    if not len(drawn):
        return Interval(float(values[0]), float("nan"), float("nan"))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values[0]), float(low), float(high))


def saved_interval(rng: np.random.Generator, spent: Floats, whole: Floats) -> Interval:
    """Share saved of what asking everyone would have cost, cases (n,) drawn with replacement.

    >>> found = saved_interval(np.random.default_rng(0), np.array([1.0, 2.0, 0.0, 1.0]), np.full(4, 4.0))
    >>> found.value, found.low < 0.75 < found.high
    (0.75, True)
    """
    cases = len(spent)
    drawn = rng.multinomial(cases, np.full(cases, 1 / cases), size=RESAMPLES)
    weights = np.concatenate([np.ones((1, cases)), drawn])
    paid, everyone = weights @ spent, weights @ whole
    return _percentiles(1 - np.divide(paid, everyone, out=np.ones_like(paid), where=everyone > 0))


def area_under(costs: Sequence[float], errors: Sequence[float], low: float, high: float) -> float:
    """Area under an error-cost curve between two costs, linear between its points and level beyond them.

    >>> area_under([1.0, 2.0], [0.1, 0.0], 0.0, 2.0)
    0.15
    """
    order = np.argsort(costs, kind="stable")
    x, y = np.asarray(costs, dtype=np.float64)[order], np.asarray(errors, dtype=np.float64)[order]
    grid = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    return float(np.round(np.trapezoid(np.interp(grid, x, y), grid), 12))
