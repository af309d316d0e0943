"""What the results of the paper are made from: numbers of ours beside the paper's, and what is drawn of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["queries", "percent", "calibration"]

CONSTRUCTED = "none by construction"
"""Said of an error of 0 where no error is allowed, of a method that then never stops before the votes decide."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval and its standard error, NaN where there is none."""

    value: float
    low: float
    high: float
    error: float


@dataclass(frozen=True)
class Claim:
    """What the paper says of a figure: a number, a number that it lies below, or words."""

    value: float | None = None
    below: bool = False
    words: str = ""


@dataclass(frozen=True)
class Number:
    """One figure of ours, and the paper's own where it states one."""

    row: str
    column: str
    method: str
    ours: Estimate | None  # None: not measured, or never reached
    unit: Unit
    claim: Claim | None = None
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's; 0 where the paper says "less than" and it is less.

        >>> close = Estimate(0.0004, 0.0, 0.001, 0.0002)
        >>> Number("a", "b", "", close, "calibration", Claim(0.001, below=True)).difference
        0.0
        """
        if self.ours is None or self.claim is None or self.claim.value is None or math.isnan(self.ours.value):
            return None
        gap = self.ours.value - self.claim.value
        return max(gap, 0.0) if self.claim.below else gap


@dataclass(frozen=True)
class Point:
    """A method at one allowed error, over all runs."""

    max_error: float
    runs: int
    cases: int  # over all runs
    wrong: int  # of those that the panel decides
    queries: Estimate
    error: Estimate  # over the cases that the panel decides
    at_least: float  # the error is not below this: one-sided 95 % bound
    stated: float  # mean stated error
    ece: Estimate  # all runs together
    ece_by_run: float  # mean of that of each run
    unhealthy_fits: int
    forced_asks: int


@dataclass(frozen=True)
class Curve:
    """A method, or a target of one, at every allowed error that is finished, smallest first."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Field:
    """One part of a drawing with its curves."""

    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Stream:
    """Mean queries of the case at each place of a stream, over all runs."""

    name: str
    queries: tuple[float, ...]
    runs: int


@dataclass(frozen=True)
class ErrorCost:
    """Error over queries, smoothed as the paper smooths it."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Thresholds:
    """Error over the error that is allowed."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class OverTime:
    """Queries along streams that shift after so many cases."""

    streams: tuple[Stream, ...]
    shift: int


@dataclass(frozen=True)
class Dots:
    """The numbers themselves, each beside the paper's."""

    what: str  # the axis
    only: str = ""  # rows that end so, where not all are of one kind


Drawing = ErrorCost | Thresholds | OverTime | Dots


@dataclass(frozen=True)
class Output:
    """One table or figure."""

    name: str  # as the paper numbers it, such as fig2
    slug: str
    title: str
    about: str  # how to read it
    numbers: tuple[Number, ...]
    drawing: Drawing
    notes: tuple[str, ...] = ()  # what must be known with it
    missing: int = 0  # runs that are not finished; what they belong to is left out

    @property
    def stem(self) -> str:
        """What its files are called, without their endings.

        >>> Output("fig2", "error-cost", "", "", (), Dots("")).stem
        'fig2-error-cost'
        """
        return self.name if self.name == self.slug else f"{self.name}-{self.slug}"


@dataclass(frozen=True)
class Promise:
    """Whether the error stayed under what was allowed, for one method on one data set at one allowed error."""

    panel: str
    method: str
    max_error: float
    error: float
    at_least: float
    kept: bool


@dataclass(frozen=True)
class Results:
    """Every table and figure that was asked for."""

    outputs: tuple[Output, ...]
    promises: tuple[Promise, ...]
    runs: int
    quick: bool
    left_out: tuple[str, ...] = ()  # outputs that need a table which is not there, and why
    failures: tuple[str, ...] = ()
    tables: tuple[tuple[str, int, str], ...] = ()  # name, cases and digest of each table
    seconds: float = 0.0  # of all finished runs together
