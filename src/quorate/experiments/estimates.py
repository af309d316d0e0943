"""Figures of several runs with their uncertainty: over rows of the table, and over runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.assurance import bootstrap
from quorate.assurance.bootstrap import Figure, Rows, resampled_rows
from quorate.assurance.runs import TIE, Run
from quorate.assurance.summary import exact_interval
from quorate.core.arrays import Floats
from quorate.reporting.paper import Estimate
from quorate.study.seeds import generator

Z = 1.959964
"""Standard errors to either end of a 95 % interval."""
ROUNDING = 1e-12
"""What sums of shares may be off by."""


def joined(runs: Sequence[Run]) -> Run:
    """Several runs as one: what is summed over cases is the same."""
    return Run(*(np.concatenate([getattr(run, name) for run in runs]) for name in Run.__dataclass_fields__))


def part(run: Run, start: int | None, stop: int | None) -> Run:
    """Some of a run's cases, from a place on and up to another."""
    return Run(*(getattr(run, name)[start:stop] for name in Run.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Estimator:
    """Random weights for the rows of one table, shared by all figures, so that they can be subtracted."""

    rows: Rows

    @staticmethod
    def over(runs: Sequence[Run]) -> Estimator:
        """For runs of one table."""
        return Estimator(resampled_rows(generator(0, "bootstrap"), runs))

    def __call__(self, figure: Figure, runs: Sequence[Run]) -> Estimate:
        """A figure of some runs that cannot be negative."""
        found = _estimate(self._drawn(figure, runs), [self._plain(figure, run) for run in runs])
        return Estimate(found.value, max(found.low, 0.0), found.high, found.error)

    def difference(self, figure: Figure, runs: Sequence[Run], others: Sequence[Run]) -> Estimate:
        """First minus second on the same cases of the same runs."""
        drawn = self._drawn(figure, runs) - self._drawn(figure, others)
        pairs = zip(runs, others, strict=True)
        return _estimate(drawn, [self._plain(figure, one) - self._plain(figure, other) for one, other in pairs])

    def at_least(self, figure: Figure, runs: Sequence[Run]) -> float:
        """One-sided 95 % lower bound."""
        return float(np.nanquantile(self._drawn(figure, runs)[1:], 0.05))

    def cheapest(self, levels: Sequence[Sequence[Run]], most: float) -> Estimate:
        """The fewest mean queries of several levels that make no more error than that.

        Every resampled table chooses its own level: one row can decide which. NaN where no level is good enough.
        """
        queries = np.stack([self._drawn(bootstrap.mean_queries, runs) for runs in levels])
        errors = np.stack([self._drawn(bootstrap.decided_error, runs) for runs in levels])
        least = np.where(errors <= most + ROUNDING, queries, math.inf).min(axis=0)
        reached = least[1:][np.isfinite(least[1:])]
        if not math.isfinite(least[0]):
            return Estimate(math.nan, math.nan, math.nan, math.nan)
        low, high = np.quantile(reached, [0.025, 0.975])
        return Estimate(float(least[0]), float(low), float(high), float(reached.std()))

    def decided_error(self, runs: Sequence[Run]) -> Estimate:
        """Error over the cases that the panel decides; where there is none, what may have stayed unseen."""
        found = self(bootstrap.decided_error, runs)
        if found.value > 0:
            return found
        distinct = np.unique(np.concatenate([run.rows[run.truth != TIE] for run in runs]))
        return Estimate(found.value, *exact_interval(0, len(distinct)), math.nan)

    def _drawn(self, figure: Figure, runs: Sequence[Run]) -> Floats:
        """The figure under every line of weights; NaN where none of its few cases was drawn."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return figure(self.rows, [joined(runs)])

    def _plain(self, figure: Figure, run: Run) -> float:
        return float(figure(Rows(self.rows.ids, self.rows.weights[:1]), [run])[0])


def _estimate(drawn: Floats, by_run: Sequence[float]) -> Estimate:
    """The value with the larger of its standard errors over resampled rows and over runs.

    Runs share rows, so that runs alone would take one row's luck for that of several; but every run is a path of
    learning of its own, of which rows alone know nothing.

    >>> found = _estimate(np.array([2.0, 1.9, 2.1]), [1.0, 3.0])
    >>> found.value, round(found.error, 3)
    (2.0, 1.0)
    """
    resampled = drawn[1:][np.isfinite(drawn[1:])]
    errors = [float(resampled.std())] if len(resampled) else []
    if len(by_run) > 1:
        errors.append(float(np.std(by_run, ddof=1)) / math.sqrt(len(by_run)))
    value, error = float(drawn[0]), max(errors, default=math.nan)
    return Estimate(value, value - Z * error, value + Z * error, error)
