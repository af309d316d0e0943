"""Comparisons to test with: made figures that are easy to recognise."""

from __future__ import annotations

import math
from dataclasses import replace

from quorate.assurance.bootstrap import Interval
from quorate.assurance.calibration import Bin
from quorate.reporting.comparison import Comparison, Curve, Difference, Point, Recommendation

ERRORS = (0.0, 0.01, 0.05)
EXPERTS = ("ann", "ben", "cho")
OUTCOMES = ("normal", "abnormal", "rare")


def around(value: float, half: float = 0.1) -> Interval:
    return Interval(value, value - half, value + half)


def point(
    max_error: float | None,
    queries: float,
    error: float,
    *,
    wrong: int = 0,
    price: float = 1.0,
    outcomes: tuple[str, ...] = OUTCOMES,
    experts: tuple[str, ...] = EXPERTS,
) -> Point:
    nothing = Interval(math.nan, math.nan, math.nan)
    by_class = dict.fromkeys(outcomes, Interval(error, 0.0, 2 * error))
    by_class[outcomes[-1]] = nothing
    return Point(
        max_error=max_error,
        runs=3,
        cases=60,
        wrong=wrong,
        ties=2,
        queries=around(queries),
        cost=around(queries * price),
        saved_share=around(1 - queries / 3, 0.02),
        error=Interval(error, 0.5 * error, 2 * error),
        decided_error=Interval(error, 0.5 * error, 2 * error),
        overstated=Interval(-0.2 * error, -0.3 * error, 0.1 * error),
        stated=Interval(0.8 * error, 0.7 * error, 0.9 * error),
        ece=Interval(0.2 * error, 0.1 * error, 0.3 * error),
        no_human=Interval(0.1, 0.05, 0.15),
        by_class=by_class,
        first_50=queries + 0.2,
        last_50=queries - 0.2,
        queries_by_place=tuple(queries + 0.01 * t for t in range(20)),
        by_expert=dict(zip(experts, (0.5, 0.3, 0.2), strict=True)),
        reliability=(Bin(0.9, 1.0, 60, 0.95, 0.9),),
        unhealthy_fits=1,
        forced_asks=2,
        seconds=1.5,
    )


def with_floor(comparison: Comparison, method: str = "hindsight") -> Comparison:
    """The same with a floor below every method."""
    points = tuple(
        point(e, q, 0.001, outcomes=comparison.outcomes, experts=comparison.experts)
        for e, q in zip(ERRORS, (2.0, 1.5, 1.0), strict=True)
    )
    return replace(comparison, curves=(*comparison.curves, Curve(method, "floor", points, None)))


def small_comparison(
    *,
    price: float = 1.0,
    outcomes: tuple[str, ...] = OUTCOMES,
    experts: tuple[str, ...] = EXPERTS,
    table: str = "folder/small.csv",
    failures: tuple[str, ...] = (),
) -> Comparison:
    """A model and a rival at three allowed errors beside four simple methods; nothing keeps within 0."""

    def made(max_error: float | None, queries: float, error: float, wrong: int = 0) -> Point:
        return point(max_error, queries, error, wrong=wrong, price=price, outcomes=outcomes, experts=experts)

    def difference(max_error: float, other: str, queries: Interval, error: Interval) -> Difference:
        return Difference(max_error, "bayes", other, queries, queries, error)

    worse = zip(ERRORS, (2.5, 1.75, 1.25), (0.002, 0.008, 0.03), strict=True)
    curves = (
        Curve("bayes", "model", tuple(made(e, q, r, 1) for e, q, r in worse), 0.0123),
        Curve("infexp", "rival", tuple(made(e, 2.8 - 10 * e, 0.02, 2) for e in ERRORS), 0.0456),
        Curve("majority:1", "simple", (made(None, 1.0, 0.2, 12),), None),
        Curve("until-determined", "simple", (made(None, 2.6, 0.001),), None),
        Curve("all", "simple", (made(None, 3.0, 0.001),), None),
        Curve("classifier", "simple", (made(None, 0.0, 0.3, 18),), None),
    )
    return Comparison(
        table=table,
        cases=100,
        run_length=20,
        runs=3,
        target="consensus",
        experts=experts,
        outcomes=outcomes,
        costs=dict.fromkeys(experts, price),
        panel_cost=3.0 * price,
        panel_queries=3.0,
        curves=curves,
        differences=tuple(
            found
            for e in ERRORS
            for found in (
                difference(e, "infexp", Interval(-0.5, -0.7, -0.3), Interval(-0.01, -0.03, 0.01)),
                difference(e, "all", Interval(-1.0, -1.2, -0.8), Interval(0.004, 0.001, 0.008)),
                difference(e, "classifier", Interval(0.0, -0.1, 0.1), Interval(0.0, 0.0, 0.0)),
            )
        ),
        recommendations=(
            Recommendation(0.0, None, "At 0 nothing kept its promise: ask everyone."),
            Recommendation(0.01, "bayes", "At 1 take bayes."),
            Recommendation(0.05, "bayes", "At 5 take bayes, too."),
        ),
        failures=failures,
        data_sha256="cd" * 32,
        seed=4,
    )
