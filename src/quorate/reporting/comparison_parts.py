"""The tables of a comparison's page, each at one allowed error or over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quorate.assurance.bootstrap import Interval
from quorate.reporting.comparison import Comparison, Curve, Point
from quorate.reporting.comparison_plots import looks
from quorate.reporting.comparison_wording import (
    FLOOR,
    NOTHING,
    allowed,
    ends,
    is_floor,
    number,
    point_at,
    priced,
    share,
    signed,
    signed_number,
    stops_by_error,
    thresholds,
    verdict,
    worst_class,
    wrong_of,
)
from quorate.reporting.page import Markup, Text, paragraph, safe, table, tag
from quorate.reporting.style import LIGHT_AND_DARK
from quorate.reporting.wording import count

THOUSAND = 1000


def with_interval(interval: Interval, say: Callable[[float], str]) -> Markup:
    """A figure with its interval beneath it."""
    return beneath(say(interval.value), ends(interval, say))


def beneath(text: str, note: str) -> Markup:
    """A text with a note beneath it."""
    return Markup(safe(text) + (f"<small>{safe(note)}</small>" if note else ""))


def named(comparison: Comparison, method: str, *, mark: str = "") -> Markup:
    """A method's name beside its colour in the plots; a floor says that it is one."""
    floor = any(curve.method == method and is_floor(curve) for curve in comparison.curves)
    colour = looks(comparison)[method].colour
    variable = next(name for name, (light, _) in LIGHT_AND_DARK.items() if light == colour)
    key = f'<span class="key" style="background:var(--{variable})"></span>'
    extra = f'<small class="best">{safe(mark)}</small>' if mark else f"<small>{safe(FLOOR)}</small>" if floor else ""
    return Markup(f'<span class="method">{key}{safe(method)}</span>{extra}')


def at(comparison: Comparison, max_error: float) -> list[tuple[Curve, Point]]:
    """Every method that finished a run at an allowed error, with what it did there."""
    found = [(curve, point_at(curve, max_error)) for curve in comparison.curves]
    return [(curve, point) for curve, point in found if point is not None]


def recommended(comparison: Comparison, max_error: float) -> str | None:
    """The method that is recommended at an allowed error."""
    return next(found.method for found in comparison.recommendations if found.max_error == max_error)


def best_point(comparison: Comparison, max_error: float) -> Point | None:
    """What the recommended method did at an allowed error; None where no method is recommended."""
    best = recommended(comparison, max_error)
    return next((point for curve, point in at(comparison, max_error) if curve.method == best), None)


def _best(comparison: Comparison, max_error: float) -> list[int]:
    best = recommended(comparison, max_error)
    return [row for row, (curve, _) in enumerate(at(comparison, max_error)) if curve.method == best]


def methods_table(comparison: Comparison, max_error: float) -> Markup:
    """What every method asked, cost, saved and got wrong at an allowed error."""
    costs = priced(comparison)
    best = recommended(comparison, max_error)
    rows: list[Sequence[Text]] = []
    for curve, point in at(comparison, max_error):
        above = not point.kept(max_error) and not is_floor(curve)
        worst = worst_class(point)
        rows.append(
            [
                named(comparison, curve.method, mark="recommended" if curve.method == best else ""),
                with_interval(point.queries, number),
                *([with_interval(point.cost, number)] if costs else []),
                with_interval(point.saved_share, share),
                Markup((f"{tag('above').html} " if above else "") + with_interval(point.error, share).html),
                with_interval(point.stated, share),
                with_interval(point.ece, share),
                wrong_of(point),
                with_interval(point.no_human, share),
                beneath(share(worst[1].value), worst[0] if worst[1].value else "") if worst else NOTHING,
            ]
        )
    headers = [
        *("Method", "Queries", *(["Cost"] if costs else []), "Saved", "Error", "Stated error", "ECE", "Wrong"),
        *("No human", "Worst class"),
    ]
    caption = f"Methods at {allowed(max_error)} error allowed, with 95 % intervals"
    return table(caption, headers, rows, numbers=range(1, len(headers)), best=_best(comparison, max_error))


def savings_table(comparison: Comparison, max_error: float) -> Markup:
    """Votes and, where votes have prices, money: asked and saved in a thousand cases."""
    costs = priced(comparison)

    def thousand(value: float) -> str:
        return count(round(THOUSAND * value)).replace("-", "\N{MINUS SIGN}")

    def saved(spent: Interval, whole: float) -> Interval:
        return Interval(whole - spent.value, whole - spent.high, whole - spent.low)

    rows: list[Sequence[Text]] = [
        [
            named(comparison, curve.method),
            with_interval(point.queries, thousand),
            with_interval(saved(point.queries, comparison.panel_queries), thousand),
            *(
                [
                    with_interval(point.cost, thousand),
                    with_interval(saved(point.cost, comparison.panel_cost), thousand),
                ]
                if costs
                else []
            ),
            with_interval(point.saved_share, share),
        ]
        for curve, point in at(comparison, max_error)
    ]
    money = ["Cost", "Cost saved"] if costs else []
    headers = ["Method", "Votes asked for", "Votes saved", *money, "Share saved"]
    caption = f"Asked and saved in {count(THOUSAND)} cases at {allowed(max_error)} error allowed"
    return table(caption, headers, rows, numbers=range(1, len(headers)), best=_best(comparison, max_error))


def differences_table(comparison: Comparison, max_error: float) -> Markup:
    """Each model against every other method on the same runs: first minus second."""
    costs = priced(comparison)
    found = [one for one in comparison.differences if one.max_error == max_error]
    if not found:
        return paragraph("No model and other method walked the same runs at this allowed error.", "note")
    rows: list[Sequence[Text]] = [
        [
            Markup(f"{safe(one.method)} against {named(comparison, one.other).html}"),
            with_interval(one.queries, signed_number),
            *([with_interval(one.cost, signed_number)] if costs else []),
            with_interval(one.error, signed),
            verdict(one, costs=costs),
        ]
        for one in found
    ]
    headers = ["Pair", "Queries", *(["Cost"] if costs else []), "Error", "What the intervals show"]
    caption = f"Paired differences at {allowed(max_error)} error allowed"
    return table(caption, headers, rows, numbers=range(1, len(headers) - 1))


def classes_table(comparison: Comparison, max_error: float) -> Markup:
    """Error over the cases of each true outcome."""
    rows: list[Sequence[Text]] = [
        [
            named(comparison, curve.method),
            *(with_interval(point.by_class[outcome], share) for outcome in comparison.outcomes),
        ]
        for curve, point in at(comparison, max_error)
    ]
    headers = ["Method", *comparison.outcomes]
    caption = f"Error by the panel's outcome at {allowed(max_error)} error allowed"
    return table(caption, headers, rows, numbers=range(1, len(headers)), best=_best(comparison, max_error))


def edges_table(comparison: Comparison, max_error: float) -> Markup:
    """Queries at the start and at the end of a run, and who was asked."""
    edge = min(50, comparison.run_length)
    rows: list[Sequence[Text]] = [
        [
            named(comparison, curve.method),
            number(point.first_50),
            number(point.last_50),
            *(
                share(point.by_expert.get(expert, 0.0)) if point.queries.value else NOTHING
                for expert in comparison.experts
            ),
        ]
        for curve, point in at(comparison, max_error)
    ]
    headers = ["Method", f"First {edge}", f"Last {edge}", *comparison.experts]
    caption = (
        f"Queries a case in the first and the last {edge} cases of a run, and each expert's share of the queries, at "
        f"{allowed(max_error)} error allowed"
    )
    return table(caption, headers, rows, numbers=range(1, len(headers)), best=_best(comparison, max_error))


def glance_table(comparison: Comparison) -> Markup:
    """What is recommended at each allowed error."""
    rows: list[Sequence[Text]] = []
    for max_error in thresholds(comparison):
        best, point = recommended(comparison, max_error), best_point(comparison, max_error)
        if best is None or point is None:
            rows.append([allowed(max_error), "none: ask everyone", *(NOTHING for _ in range(6))])
            continue
        rows.append(
            [
                allowed(max_error),
                named(comparison, best),
                with_interval(point.queries, number),
                with_interval(point.saved_share, share),
                with_interval(point.error, share),
                with_interval(point.stated, share),
                with_interval(point.overstated, signed),
                wrong_of(point),
            ]
        )
    headers = ("Allowed", "Recommended", "Queries", "Saved", "Error", "Stated error", "Stated minus actual", "Wrong")
    return table("What is recommended at each allowed error", headers, rows, numbers=range(2, len(headers)))


def area_table(comparison: Comparison) -> Markup:
    """Area under each error-cost curve over the costs that all of them reach; smaller is better."""
    found = sorted((curve for curve in comparison.curves if curve.area is not None), key=lambda one: one.area or 0.0)
    if not found:
        return paragraph(
            "No two methods have curves that reach the same costs, so there is no area to compare.", "note"
        )
    rows: list[Sequence[Text]] = [
        [named(comparison, curve.method), f"{100 * (curve.area or 0.0):.3f}"] for curve in found
    ]
    unit = "% times cost" if priced(comparison) else "% times queries"
    return table("Area under the error-cost curve", ("Method", f"Area, {unit}"), rows, numbers=(1,))


def effort_table(comparison: Comparison) -> Markup:
    """What each method was run on, what it took, and whether its fits were healthy."""
    rows: list[Sequence[Text]] = [
        [
            named(comparison, curve.method),
            count(len(curve.points)) if stops_by_error(curve) else "any",
            count(min(point.runs for point in curve.points)),
            count(sum(point.cases for point in curve.points)),
            count(sum(point.unhealthy_fits for point in curve.points)),
            count(sum(point.forced_asks for point in curve.points)),
            f"{sum(point.seconds for point in curve.points):,.1f} s",
        ]
        for curve in comparison.curves
        if curve.points
    ]
    headers = ("Method", "Allowed errors", "Runs at each", "Cases in all", "Unhealthy fits", "Forced asks", "Time")
    return table("Effort and health of each method", headers, rows, numbers=range(1, len(headers)))
