"""Figures of a comparison in words: signed shares, intervals, and what a difference shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from quorate.assurance.bootstrap import Interval
from quorate.reporting.comparison import Comparison, Curve, Difference, Point
from quorate.reporting.wording import percent

DEFAULT = 0.01
"""The allowed error that a report opens with, or the nearest to it that was run."""

NOTHING = "\N{EN DASH}"
"""Stands where a figure does not exist, such as the error of a class without a case."""

NOISE = 1e-9

FLOOR = "floor: fitted in hindsight"
"""What stands beside figures that no method can reach by asking: the model knew every vote beforehand."""


def share(value: float) -> str:
    """A share as a percentage that may be negative or missing.

    >>> share(0.0123), share(-0.25), share(float("nan")), share(-1e-17)
    ('1.2 %', '−25 %', '–', '0 %')
    """
    if math.isnan(value):
        return NOTHING
    if abs(value) < NOISE:
        return "0 %"
    return percent(value) if value > 0 else f"\N{MINUS SIGN}{percent(-value)}"


def signed(value: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> signed(0.0123), signed(-0.004), signed(0.0)
    ('+1.2 %', '−0.40 %', '0 %')
    """
    return f"+{share(value)}" if value > NOISE else share(value)


def number(value: float) -> str:
    """A mean number of queries or its cost.

    >>> number(2.314), number(-0.5), number(1250.0)
    ('2.31', '−0.50', '1,250.00')
    """
    return NOTHING if math.isnan(value) else f"{value:,.2f}".replace("-", "\N{MINUS SIGN}")


def signed_number(value: float) -> str:
    """A difference of queries or costs, with its sign.

    >>> signed_number(0.5), signed_number(-1.0)
    ('+0.50', '−1.00')
    """
    return f"+{number(value)}" if value > 0 else number(value)


def ends(interval: Interval, say: Callable[[float], str]) -> str:
    """Both ends of an interval; nothing where it has none, as that of a figure that never varies.

    >>> ends(Interval(2, 1.5, 2.5), number), ends(Interval(2, 2, 2), number)
    ('1.50 to 2.50', '')
    """
    if not interval.high - interval.low > NOISE:  # also where there is no number
        return ""
    return f"{say(interval.low)} to {say(interval.high)}"


def allowed(max_error: float) -> str:
    """An allowed error as it is written on a slider.

    >>> allowed(0.005), allowed(0.0)
    ('0.5 %', '0 %')
    """
    return f"{100 * max_error:g} %"


def thresholds(comparison: Comparison) -> tuple[float, ...]:
    """The allowed errors of a comparison, smallest first."""
    return tuple(sorted(found.max_error for found in comparison.recommendations))


def opening(errors: Sequence[float]) -> int:
    """Which allowed error a report opens with.

    >>> opening([0.0, 0.01, 0.05]), opening([0.02, 0.05])
    (1, 0)
    """
    return min(range(len(errors)), key=lambda at: abs(errors[at] - DEFAULT))


def stops_by_error(curve: Curve) -> bool:
    """Whether a method stops by its stated error, so that the allowed error changes what it does."""
    return any(point.max_error is not None for point in curve.points)


def is_floor(curve: Curve) -> bool:
    """Whether a curve is a floor to hold methods against, and no method."""
    return curve.kind == "floor"


def label(curve: Curve) -> str:
    """What a curve is called in a legend.

    >>> label(Curve("hindsight:paper", "floor", (), None)), label(Curve("all", "simple", (), None))
    ('floor: fitted in hindsight (paper)', 'all')
    """
    preset = curve.method.partition(":")[2]
    return (f"{FLOOR} ({preset})" if preset else FLOOR) if is_floor(curve) else curve.method


def point_at(curve: Curve, max_error: float) -> Point | None:
    """What a method did at an allowed error; None where it did not finish a run there."""
    return next((point for point in curve.points if point.max_error in (max_error, None)), None)


def priced(comparison: Comparison) -> bool:
    """Whether votes cost something else than 1 each, so that cost is not the number of queries."""
    return any(cost != 1 for cost in comparison.costs.values())


def wrong_of(point: Point) -> str:
    """Wrong cases of those that the panel decides.

    >>> from types import SimpleNamespace
    >>> wrong_of(SimpleNamespace(wrong=3, cases=1250, ties=0))
    '3 of 1,250'
    """
    return f"{point.wrong:,} of {point.cases - point.ties:,}"


def worst_class(point: Point) -> tuple[str, Interval] | None:
    """The class with the highest error; None where no class has a case."""
    found = [(name, interval) for name, interval in point.by_class.items() if not math.isnan(interval.value)]
    return max(found, key=lambda pair: pair[1].value, default=None)


def excludes_zero(interval: Interval) -> bool:
    """Whether an interval lies wholly on one side of 0.

    >>> excludes_zero(Interval(-1, -2, -0.5)), excludes_zero(Interval(0.1, -0.1, 0.3))
    (True, False)
    """
    return interval.low > 0 or interval.high < 0


def verdict(difference: Difference, *, costs: bool) -> str:
    """What a difference shows, in words; an interval that holds 0 shows nothing."""
    spent = difference.cost if costs else difference.queries
    words = ("cheaper", "dearer", "cost") if costs else ("fewer queries", "more queries", "queries")
    wrong = ("fewer errors", "more errors", "errors")
    said = [
        (low if interval.high < 0 else high) if excludes_zero(interval) else f"no clear difference in {what}"
        for interval, (low, high, what) in ((spent, words), (difference.error, wrong))
    ]
    return "; ".join(said) if any(map(excludes_zero, (spent, difference.error))) else "no clear difference"
