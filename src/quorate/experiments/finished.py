"""Figures of the series that are finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from quorate.assurance import bootstrap
from quorate.assurance.runs import TIE, Run
from quorate.experiments.estimates import Estimator
from quorate.experiments.series import Series, Work
from quorate.reporting.paper import Curve, Estimate, Point


@dataclass(frozen=True)
class Finished:
    """Finished work, and an estimator for each of its tables."""

    work: Work
    estimators: dict[str, Estimator]
    points: dict[Series, Point | None] = field(default_factory=dict)  # several outputs show the same

    @staticmethod
    def of(work: Work, wanted: Sequence[Series]) -> Finished:
        """For every table that has a finished series among those wanted."""
        runs: dict[str, list[Run]] = {}
        for series in dict.fromkeys(wanted):
            runs.setdefault(series.table, []).extend(work.runs_of(series))
        return Finished(work, {name: Estimator.over(own) for name, own in runs.items() if own})

    def point(self, series: Series) -> Point | None:
        """What a method did at its allowed error; None while runs are missing."""
        if series not in self.points:
            self.points[series] = self._point(series)
        return self.points[series]

    def _point(self, series: Series) -> Point | None:
        runs = self.work.runs_of(series)
        if not runs:
            return None
        lines, estimate = self.work.found(series), self.estimators[series.table]
        wrong = sum(int(((run.error > 0) & (run.truth != TIE)).sum()) for run in runs)
        return Point(
            max_error=series.options.max_error,
            runs=len(runs),
            cases=sum(map(len, runs)),
            wrong=wrong,
            queries=estimate(bootstrap.mean_queries, runs),
            error=estimate.decided_error(runs),
            at_least=estimate.at_least(bootstrap.decided_error, runs) if wrong else 0.0,
            stated=estimate(bootstrap.stated_error, runs).value,
            ece=estimate(bootstrap.calibration_error, runs),
            ece_by_run=float(np.mean([estimate(bootstrap.calibration_error, [run]).value for run in runs])),
            unhealthy_fits=sum(line.figures["unhealthy_fits"] for line in lines),
            forced_asks=sum(line.figures["forced_asks"] for line in lines),
        )

    def cheapest(
        self, table: str, method: str, most: float, target: str = "consensus", more: Sequence[float] = ()
    ) -> Estimate | None:
        """The fewest mean queries with no more error than that, at any allowed error; None where none is finished."""
        levels = [self.work.runs_of(Series.of(table, method, e, target)) for e in self._max_errors(more)]
        finished = [runs for runs in levels if runs]
        return self.estimators[table].cheapest(finished, most) if finished else None

    def curve(
        self, table: str, method: str, target: str = "consensus", name: str = "", more: Sequence[float] = ()
    ) -> Curve:
        """A method at every allowed error that is finished; `more` are some beyond the grid."""
        found = [self.point(Series.of(table, method, e, target)) for e in self._max_errors(more)]
        return Curve(name or method, tuple(point for point in found if point is not None))

    def _max_errors(self, more: Sequence[float]) -> list[float]:
        return sorted({*self.work.max_errors, *more})
