"""What a report of a comparison is made from: methods, their error-cost curves and what they differ by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quorate.assurance.bootstrap import Interval
from quorate.assurance.calibration import Bin

ROUNDING = 1e-12


@dataclass(frozen=True)
class Point:
    """One method at one allowed error, over all runs; every interval is over resampled rows."""

    max_error: float | None  # None for a method that does not stop by its stated error
    runs: int
    cases: int  # over all runs
    wrong: int  # of them, ties left out
    ties: int
    queries: Interval
    cost: Interval  # of a case
    saved_share: Interval  # of what the whole panel costs
    error: Interval  # a tie counts as the share that is wrong
    decided_error: Interval  # over the cases that the panel decides: no method can avoid the error of a tie
    stated: Interval
    overstated: Interval  # mean stated minus actual error: above 0 is cautious, below 0 claims too much
    ece: Interval
    no_human: Interval  # share of cases
    by_class: dict[str, Interval]  # error over the cases whose truth is that outcome; NaN where there are none
    first_50: float
    last_50: float
    queries_by_place: tuple[float, ...]  # mean over runs of the queries on the 1st, 2nd, ... case
    by_expert: dict[str, float]  # share of the queries
    reliability: tuple[Bin, ...]
    unhealthy_fits: int
    forced_asks: int
    seconds: float  # of all runs together

    def kept(self, max_error: float) -> bool:
        """Whether the cases that the panel decides were wrong no more often than is allowed."""
        return self.decided_error.value <= max_error + ROUNDING


@dataclass(frozen=True)
class Curve:
    """One method at every allowed error that it was run with, smallest first."""

    method: str
    kind: Literal[
        "model", "rival", "simple", "floor"
    ]  # a floor is not a method: nobody sees votes before they are cast
    points: tuple[Point, ...]
    area: float | None  # under its error-cost curve over the range that all curves share; None for a single point


@dataclass(frozen=True)
class Difference:
    """A method against another at the same allowed error on the same runs: first minus second."""

    max_error: float
    method: str
    other: str
    queries: Interval
    cost: Interval
    error: Interval


@dataclass(frozen=True)
class Recommendation:
    """In plain words, what to do at one allowed error."""

    max_error: float
    method: str | None  # None where no method kept the promise
    text: str


@dataclass(frozen=True)
class Comparison:
    """Methods compared on one table."""

    table: str
    cases: int  # in the table
    run_length: int
    runs: int
    target: str
    experts: tuple[str, ...]
    outcomes: tuple[str, ...]
    costs: dict[str, float]  # of one vote of each expert
    panel_cost: float  # of asking everyone about a case, on average
    panel_queries: float
    curves: tuple[Curve, ...]
    differences: tuple[Difference, ...]
    recommendations: tuple[Recommendation, ...]
    failures: tuple[str, ...]
    data_sha256: str
    seed: int
    chooser: str | None = None  # of the models, where another than the preset's was named
    cost_blind: bool = False  # costs price what was asked, and steered nothing
