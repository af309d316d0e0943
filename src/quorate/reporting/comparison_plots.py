"""The plots of a comparison: each a function from values to a matplotlib Figure.

What belongs to one allowed error is drawn in a group named `at-N-...`, N its place among them, so that a page can show
one of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.assurance.bootstrap import Interval
from quorate.assurance.summary import WINDOW, running_mean
from quorate.reporting.comparison import Comparison, Curve, Point
from quorate.reporting.comparison_wording import (
    allowed,
    is_floor,
    label,
    point_at,
    priced,
    stops_by_error,
    thresholds,
)
from quorate.reporting.style import (
    INK,
    METHODS,
    MUTED,
    SMALL,
    SOFT,
    blank,
    grid,
    legend,
    name_ticks,
    percent_ticks,
    titled,
)
from quorate.reporting.wording import decimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = ("o", "s", "D", "^", "v")
SIMPLE_MARKS = {"until-determined": "P", "all": "*", "classifier": "X"}
DASHED = (0, (4, 2))
"""The line of a floor."""
TICKS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1)
"""Errors that an axis on a root scale names."""


@dataclass(frozen=True)
class Look:
    """How a method is drawn everywhere: its colour, its mark, and a text within the mark."""

    colour: str
    mark: str
    text: str = ""


def looks(comparison: Comparison) -> dict[str, Look]:
    """A colour for each method that stops by its stated error; the others are grey and told apart by their marks.

    A floor is black and dashed.
    """
    found: dict[str, Look] = {}
    for curve in comparison.curves:
        name, _, rest = curve.method.partition(":")
        if is_floor(curve):
            found[curve.method] = Look(INK, ".")
        elif stops_by_error(curve):
            number = sum(look.colour in METHODS for look in found.values())
            found[curve.method] = Look(METHODS[number % len(METHODS)], MARKS[number % len(MARKS)])
        elif name == "majority":
            found[curve.method] = Look(MUTED, "o", rest)
        else:
            found[curve.method] = Look(MUTED, SIMPLE_MARKS.get(curve.method, "h"))
    return found


def _draw(axes: Axes, x: Sequence[float], y: Sequence[float], mark: str = "", *, gid: str = "", **look: Any) -> None:
    """Marks or a line that may reach over the edge; what has a `gid` can be found again in the drawing."""
    (line,) = axes.plot(x, y, *filter(None, [mark]), **{"clip_on": False, **look})
    if gid:
        line.set_gid(gid)


def _entry(axes: Axes, label: str, mark: str = "", **look: Any) -> None:
    """An entry of the legend alone."""
    axes.plot([], [], *filter(None, [mark]), label=label, **look)


def error_cost(comparison: Comparison) -> Figure:
    """Error of each method over what it costs a case, with intervals; the chosen allowed error is set off."""
    figure, axes = blank(height=4.3)
    style, limits, costs = looks(comparison), thresholds(comparison), priced(comparison)
    for curve in comparison.curves:
        _curve(axes, curve, style[curve.method], costs=costs)
    if any(look.text for look in style.values()):
        _entry(axes, "majority of N", "o", markersize=7, markerfacecolor="none", color=MUTED)
    if "all" not in style:
        _draw(axes, [comparison.panel_cost], [_floor(comparison)], "*", color=MUTED, markersize=10, zorder=3)
        _entry(axes, "whole panel", "*", color=MUTED, markersize=10)
    for t, max_error in enumerate(limits):
        _chosen(axes, comparison, t, max_error)
    points = [point for curve in comparison.curves for point in curve.points]
    root_axis(axes, "y", max([*limits, *(float(np.nan_to_num(point.error.high)) for point in points)]))
    axes.set_xlim(0, 1.03 * max([comparison.panel_cost, *(_spent(point, costs=costs).value for point in points)]))
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", pad=10)  # marks at 0 stand on the axis
    axes.tick_params(axis="y", pad=11)
    grid(axes, "y")
    titled(axes, x="cost of a case" if costs else "queries a case", y="error, on a root scale")
    legend(axes, columns=_columns(comparison))
    return figure


def _columns(comparison: Comparison) -> int:
    """Entries of a legend side by side; the name of a floor is long."""
    return 2 if any(map(is_floor, comparison.curves)) else 4


def _spent(point: Point, *, costs: bool) -> Interval:
    return point.cost if costs else point.queries


def _floor(comparison: Comparison) -> float:
    """The error of asking everyone: none, but for the share that ties of the panel itself count as wrong."""
    exact = (curve.points[0].error.value for curve in comparison.curves if curve.method == "until-determined")
    return next(exact, 0.0)


def _curve(axes: Axes, curve: Curve, look: Look, *, costs: bool) -> None:
    spent = [_spent(point, costs=costs) for point in curve.points]
    for cost, point in zip(spent, curve.points, strict=True):
        _cross(axes, cost, point.error, color=look.colour, alpha=0.3, linewidth=1.3)
    x, y = [cost.value for cost in spent], [point.error.value for point in curve.points]
    if look.text:
        _draw(axes, x, y, "o", markersize=11, markerfacecolor="none", color=look.colour, zorder=3)
        centre: dict[str, Any] = {"ha": "center", "va": "center_baseline", "annotation_clip": False}
        for place in zip(x, y, strict=True):
            axes.annotate(look.text, place, fontsize=SMALL - 1.5, color=look.colour, **centre)
        return
    size = 10 if look.mark == "*" else 6
    plain: dict[str, Any] = {"color": look.colour, "marker": look.mark, "markersize": size, "markeredgewidth": 0}
    line: dict[str, Any] = {"linewidth": 1.5, "linestyle": DASHED} if is_floor(curve) else {"linewidth": 2}
    _draw(axes, x, y, **line, **plain)
    name = "whole panel" if curve.method == "all" else label(curve)
    _entry(axes, name, **(line if len(x) > 1 or is_floor(curve) else {"linewidth": 0}), **plain)


def _cross(axes: Axes, x: Interval, y: Interval, *, gid: str = "", **look: Any) -> None:
    """Both intervals of a point."""
    ends = {"across": ([x.low, x.high], [y.value] * 2), "up": ([x.value] * 2, [y.low, y.high])}
    for name, (across, up) in ends.items():
        if np.isfinite([*across, *up]).all():
            part = f"{gid}-{name}" if gid else ""
            _draw(axes, across, up, gid=part, solid_capstyle="round", zorder=2.5, **look)


def _chosen(axes: Axes, comparison: Comparison, t: int, max_error: float) -> None:
    """What stands out at one allowed error: the limit, every method's point and a ring around the recommended one."""
    style, costs = looks(comparison), priced(comparison)
    axes.axhline(max_error, color=INK, linewidth=1, linestyle=(0, (4, 3)), alpha=0.7, zorder=1.5, gid=f"at-{t}-limit")
    best = next(found.method for found in comparison.recommendations if found.max_error == max_error)
    for n, curve in enumerate(comparison.curves):
        point = point_at(curve, max_error)
        if point is None:
            continue
        colour, x, y = style[curve.method].colour, _spent(point, costs=costs), point.error
        at = [x.value], [y.value]
        if stops_by_error(curve):
            _cross(axes, x, y, gid=f"at-{t}-{n}", color=colour, linewidth=1.2 if is_floor(curve) else 2.4)
            big: dict[str, Any] = {"markersize": 9.5, "markeredgewidth": 0, "zorder": 3.5}
            _draw(axes, *at, style[curve.method].mark, gid=f"at-{t}-{n}-mark", color=colour, **big)
        if curve.method == best:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 18, "markeredgewidth": 1.7, "zorder": 4}
            _draw(axes, *at, "o", gid=f"at-{t}-best", color=INK, **ring)


def promise(comparison: Comparison) -> Figure:
    """Realised and stated error at each allowed error, of the methods that stop by their stated error."""
    figure, axes = blank(height=4.3)
    style, limits = looks(comparison), thresholds(comparison)
    for t, max_error in enumerate(limits):
        axes.axvspan(t - 0.46, t + 0.46, color=SOFT, alpha=0.55, linewidth=0, zorder=0, gid=f"at-{t}-chosen")
        _draw(axes, [t - 0.46, t + 0.46], [max_error] * 2, color=INK, linewidth=1.6)
    swept = [curve for curve in comparison.curves if stops_by_error(curve) and not is_floor(curve)]
    hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.5, "markersize": 8}
    highest = max(limits)
    for n, curve in enumerate(swept):
        look = style[curve.method]
        aside = 0.0 if len(swept) == 1 else 0.5 * (n / (len(swept) - 1) - 0.5)
        for place, point in _by_threshold(comparison, curve):
            x, error = [(place or 0) + aside], point.error
            if not math.isnan(error.low):
                ends = [error.low, error.high]
                _draw(axes, x * 2, ends, color=look.colour, alpha=0.4, linewidth=3, solid_capstyle="round")
                highest = max(highest, error.high)
            _draw(axes, x, [point.stated.value], look.mark, color=look.colour, zorder=3, **hollow)
            _draw(axes, x, [error.value], look.mark, color=look.colour, markersize=5.5, zorder=3)
            highest = max(highest, point.stated.value, error.value)
        _entry(axes, curve.method, look.mark, color=look.colour, markersize=5.5)
    _entry(axes, "allowed", color=INK, linewidth=1.6)
    _entry(axes, "realised, with interval", "o", color=MUTED, markersize=5.5)
    _entry(axes, "stated", "o", color=MUTED, **hollow)
    axes.set_xlim(-0.5, len(limits) - 0.5)
    name_ticks(axes.xaxis, range(len(limits)), [allowed(limit) for limit in limits])
    root_axis(axes, "y", highest)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", pad=10)
    grid(axes, "y")
    titled(axes, x="error allowed", y="error, on a root scale")
    legend(axes, columns=3)
    return figure


def over_time(comparison: Comparison) -> Figure:
    """Mean queries of the case at each place of the stream at the chosen allowed error, running mean."""
    figure, axes = blank(height=3.6)
    style = looks(comparison)
    highest, longest = comparison.panel_queries, 2
    floors = [curve for curve in comparison.curves if is_floor(curve)]
    for n, curve in enumerate([*shown(comparison), *floors]):
        dash: Any = DASHED if is_floor(curve) else "-" if stops_by_error(curve) else (0, (1, 1.2 + 0.5 * n))
        width = 1.5 if is_floor(curve) else 2
        look: dict[str, Any] = {"color": style[curve.method].colour, "linewidth": width, "linestyle": dash}
        for t, point in _by_threshold(comparison, curve):
            line = running_mean(point.queries_by_place)
            gid = "" if t is None else f"at-{t}-{n}"
            _draw(axes, range(1, len(line) + 1), line, gid=gid, **look)
            highest, longest = max(highest, *line, 0.0), max(longest, len(line))
        _entry(axes, label(curve), **look)
    full = comparison.panel_queries
    axes.axhline(full, color=MUTED, linewidth=1.2, linestyle=(0, (5, 3)), label=f"whole panel ({decimal(full)})")
    axes.set_xlim(1, longest)
    axes.set_ylim(0, highest * 1.04)
    grid(axes, "y")
    titled(axes, x="case, in the order of the stream", y=f"queries a case, mean of the last {WINDOW}")
    legend(axes, columns=_columns(comparison))
    return figure


def by_class(comparison: Comparison) -> Figure:
    """Error over the cases of each true outcome at the chosen allowed error, with intervals."""
    # asking until the votes decide makes no error of its own
    methods = [curve for curve in shown(comparison) if curve.method != "until-determined"]
    style, outcomes = looks(comparison), comparison.outcomes
    figure, axes = blank(height=max(3.6, 1.5 + len(outcomes) * 0.17 * (len(methods) + 1)))
    highest = 0.05
    for n, curve in enumerate(methods):
        colour, mark = style[curve.method].colour, style[curve.method].mark
        for t, point in _by_threshold(comparison, curve):
            for row, outcome in enumerate(outcomes):
                found = point.by_class[outcome]
                y = [row + 0.8 * ((n + 0.5) / len(methods) - 0.5)]
                gid = "" if t is None else f"at-{t}-{n}-{row}"
                if not math.isnan(found.high):
                    ends = [found.low, found.high]
                    line: dict[str, Any] = {"alpha": 0.4, "linewidth": 3, "solid_capstyle": "round"}
                    _draw(axes, ends, y * 2, gid=gid and f"{gid}-line", color=colour, **line)
                    highest = max(highest, found.high)
                if not math.isnan(found.value):
                    _draw(axes, [found.value], y, mark, gid=gid, color=colour, markersize=6, zorder=3)
                    highest = max(highest, found.value)
        _entry(axes, curve.method, mark, color=colour, markersize=6)
    name_ticks(axes.yaxis, range(len(outcomes)), outcomes)
    axes.set_ylim(len(outcomes) - 0.45, -0.55)
    root_axis(axes, "x", highest)
    axes.tick_params(axis="y", pad=11)
    grid(axes, "x")
    titled(axes, x="error on a root scale, with its 95 % interval", y="the panel's outcome")
    legend(axes, columns=4)
    return figure


def shown(comparison: Comparison) -> Sequence[Curve]:
    """The methods that a crowded plot has room for: those that stop by their stated error, else the simple ones."""
    methods = [curve for curve in comparison.curves if not is_floor(curve)]
    swept = [curve for curve in methods if stops_by_error(curve)]
    exact = [curve for curve in methods if curve.method == "until-determined"]
    return [*swept[: len(METHODS)], *exact] if swept else methods[: len(METHODS)]


def _by_threshold(comparison: Comparison, curve: Curve) -> Iterator[tuple[int | None, Point]]:
    """A method's points with the places of their allowed errors; one that it does not change has no place."""
    limits = thresholds(comparison)
    for point in curve.points:
        if point.max_error is None:
            yield None, point
        elif point.max_error in limits:
            yield limits.index(point.max_error), point


def root_axis(axes: Axes, which: str, highest: float) -> None:
    """Errors on a root scale: room near 0, where they lie, and 0 itself can be shown."""
    scale: dict[str, Any] = {"functions": (lambda value: np.sqrt(np.maximum(value, 0)), np.square)}
    end = next(tick for tick in TICKS if tick >= min(max(highest, 0.01), 1.0))
    ticks = [tick for tick in TICKS if tick <= end]
    if which == "x":
        axes.set_xscale("function", **scale)
        axes.set_xlim(0, end)
        percent_ticks(axes.xaxis, _apart(ticks, end, 0.085))
    else:
        axes.set_yscale("function", **scale)
        axes.set_ylim(0, end)
        percent_ticks(axes.yaxis, _apart(ticks, end, 0.07))
    axes.minorticks_off()


def _apart(ticks: Sequence[float], end: float, least: float) -> list[float]:
    """Ticks that leave each other room on a root scale, from the largest down; 0 always stays."""
    kept: list[float] = []
    for tick in sorted(ticks, reverse=True):
        if not kept or (math.sqrt(kept[-1] / end) - math.sqrt(tick / end) >= least and math.sqrt(tick / end) >= least):
            kept.append(tick)
    return [0.0, *reversed(kept)]
