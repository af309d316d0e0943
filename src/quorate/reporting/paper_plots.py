"""The drawings of the paper's results: each a function from values to a matplotlib Figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.assurance.summary import running_mean
from quorate.core.arrays import Floats
from quorate.reporting.comparison_plots import DASHED, root_axis
from quorate.reporting.lowess import lowess
from quorate.reporting.paper import Claim, Dots, ErrorCost, Estimate, Number, Output, OverTime, Thresholds
from quorate.reporting.paper_facts import CONFUSION, FLOOR, INFEXP, OURS, THEIRS
from quorate.reporting.paper_wording import QUICK, label
from quorate.reporting.style import (
    ACTUAL,
    INK,
    METHODS,
    MUTED,
    SMALL,
    STATED,
    blank,
    blanks,
    grid,
    legend,
    name_ticks,
    percent_ticks,
    titled,
)
from quorate.reporting.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREEN, PURPLE, OCHRE = METHODS[2:5]
LOOKS = {
    THEIRS: (GREEN, "o"),
    OURS: (PURPLE, "D"),
    INFEXP: (ACTUAL, "s"),
    CONFUSION: (STATED, "^"),
    FLOOR: (INK, "."),
}
"""The paper's own colours where it has one: green for its method, orange and blue for its rivals."""
OTHERS = ((GREEN, "o"), (ACTUAL, "s"), (PURPLE, "D"), (OCHRE, "^"), (STATED, "v"))
WIDE, NARROW, FEW_COLUMNS = 9.4, 6.4, 2
"""Inches, and how many columns of dots a narrow drawing has room for."""
NOTE: dict[str, Any] = {"fontsize": SMALL, "color": MUTED}
SMOOTHED = 5
"""Cases behind each point of a line over time."""
GAP = 1.0
"""Queries between two points over which nothing is known."""
FEWEST = 6
"""Points that a smoothed curve needs."""


def draw(output: Output, *, quick: bool) -> Figure:
    """The drawing of a table or figure; one of quick runs says so."""
    drawing = output.drawing
    if isinstance(drawing, ErrorCost):
        figure = _error_cost(drawing)
    elif isinstance(drawing, Thresholds):
        figure = _thresholds(drawing)
    elif isinstance(drawing, OverTime):
        figure = _over_time(drawing)
    else:
        figure = _dots(drawing, output.numbers)
    if quick:
        figure.supxlabel(QUICK, x=0.99, ha="right", fontsize=SMALL, color=ACTUAL)
    return figure


def _look(name: str, place: int) -> tuple[str, str]:
    return LOOKS.get(name, OTHERS[place % len(OTHERS)])


def _error_cost(drawing: ErrorCost) -> Figure:
    rows = math.ceil(len(drawing.fields) / 2)
    figure, found = blanks(max(rows, 1), 2, width=WIDE, height=0.9 + 3.3 * max(rows, 1))
    for axes in found[len(drawing.fields) :]:
        axes.set_visible(False)
    for number, (axes, part) in enumerate(zip(found, drawing.fields, strict=False)):
        highest, most = 0.02, 1.0
        for place, curve in enumerate(part.curves):
            colour, mark = _look(curve.name, place)
            floor = curve.name == FLOOR
            x, y = [p.queries.value for p in curve.points], [p.error.value for p in curve.points]
            for p in curve.points if not floor else ():
                _cross(axes, p.queries, p.error, colour)
                highest, most = max(highest, p.error.value), max(most, p.queries.value)
            line: dict[str, Any] = {"linewidth": 1.4, "linestyle": DASHED} if floor else {"linewidth": 2}
            axes.plot(*_smooth(x, y), color=colour, **line)
            size: dict[str, Any] = {"markersize": 5, "markeredgewidth": 0, "linewidth": 0}
            axes.plot(x, y, mark, color=colour, clip_on=False, zorder=3, **size)
            for error in sorted({b for a, b in zip(x, y, strict=True) if a == 0}, reverse=True)[:1]:
                axes.annotate("nobody is asked", (0, error), (7, -3), textcoords="offset points", **NOTE)
            if number == 0:
                dash: Any = DASHED if floor else "-"
                axes.plot([], [], mark, color=colour, linestyle=dash, markersize=5, label=label(curve.name))
        root_axis(axes, "y", highest)
        axes.set_xlim(0, 1.04 * most)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", pad=8)
        grid(axes, "y")
        last = number >= len(drawing.fields) - 2
        titled(axes, x="queries a case" if last else "", y=f"{label(part.title)}: error, on a root scale")
    if drawing.fields:
        legend(found[0], columns=5)
    return figure


def _smooth(x: Sequence[float], y: Sequence[float]) -> tuple[Floats, Floats]:
    """A lowess curve at the points, on the scale that they are drawn on, or the points where they are too few for one.

    It is joined by straight lines: between points that lie far apart, a local line would follow one side beyond reason.
    Over a gap it is broken off, and it does not come down to 0 where errors were made.
    """
    order = np.argsort(x, kind="stable")
    at, roots = np.asarray(x, dtype=np.float64)[order], np.sqrt(np.asarray(y, dtype=np.float64)[order])
    if len(at) >= FEWEST:
        found = np.asarray(lowess(at.tolist(), roots.tolist(), at.tolist()))
        roots = np.maximum(found, np.where(roots > 0, roots / 2, 0.0))
    gaps = np.flatnonzero(np.diff(at) > GAP) + 1
    return np.insert(at, gaps, np.nan), np.insert(roots, gaps, np.nan) ** 2


def _cross(axes: Axes, x: Estimate, y: Estimate, colour: str) -> None:
    for across, up in (([x.low, x.high], [y.value] * 2), ([x.value] * 2, [y.low, y.high])):
        if np.isfinite([*across, *up]).all():
            axes.plot(across, up, color=colour, alpha=0.28, linewidth=1.2, solid_capstyle="round", clip_on=True)


def _thresholds(drawing: Thresholds) -> Figure:
    figure, found = blanks(1, 2, width=WIDE, height=4.1)
    most = max([0.05, *(p.max_error for part in drawing.fields for c in part.curves for p in c.points)])
    for number, (axes, part) in enumerate(zip(found, drawing.fields, strict=False)):
        axes.plot([0, most], [0, most], color=INK, linewidth=1.3, label="as much as allowed" if not number else None)
        highest = 0.02
        for place, curve in enumerate(part.curves):
            colour, mark = OTHERS[place % len(OTHERS)]
            x, y = [p.max_error for p in curve.points], [p.error.value for p in curve.points]
            for p in curve.points:
                _cross(axes, Estimate(p.max_error, math.nan, math.nan, math.nan), p.error, colour)
                highest = max(highest, p.error.high)
            name = curve.name if number == 0 else None
            axes.plot(x, y, mark, linestyle="-", color=colour, markersize=5, linewidth=1.6, clip_on=False, label=name)
        root_axis(axes, "y", min(max(highest, most), 1.0))
        root_axis(axes, "x", most)
        grid(axes, "y")
        titled(axes, x="error allowed, on a root scale", y=f"{label(part.title)}: error, on a root scale")
    legend(found[0], columns=5)
    return figure


def _over_time(drawing: OverTime) -> Figure:
    figure, axes = blank(8.6, 3.9)
    highest, longest = 1.0, 2
    for place, stream in enumerate(drawing.streams):
        colour, _ = OTHERS[place % len(OTHERS)]
        cases = range(1, len(stream.queries) + 1)
        halves = stream.queries[: drawing.shift], stream.queries[drawing.shift :]  # no mean reaches over the shift
        smooth = [value for half in halves for value in running_mean(half, SMOOTHED)]
        axes.plot(cases, stream.queries, color=colour, alpha=0.22, linewidth=0.9)
        axes.plot(cases, smooth, color=colour, linewidth=1.9, label=f"{stream.name} ({counted(stream.runs, 'run')})")
        highest, longest = max(highest, *stream.queries), max(longest, len(stream.queries))
    if drawing.streams:
        axes.axvline(drawing.shift + 0.5, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate("shift", (drawing.shift + 1.5, 0.04 * highest), color=MUTED, fontsize=SMALL)
        legend(axes, columns=3)
    axes.set_xlim(1, longest)
    axes.set_ylim(0, 1.03 * highest)
    grid(axes, "y")
    titled(axes, x="case, in the order of the stream", y=f"queries a case, mean of the last {SMOOTHED}")
    return figure


def _dots(drawing: Dots, numbers: Sequence[Number]) -> Figure:
    shown = [one for one in numbers if one.row.endswith(drawing.only)]
    rows = list(dict.fromkeys(one.row for one in shown))
    columns = list(dict.fromkeys(one.column for one in shown))
    methods = list(dict.fromkeys(one.method for one in shown))
    tall = 1.25 + 0.3 * len(rows) * max(1.0, 0.62 * len(methods))
    width = WIDE if len(columns) > FEW_COLUMNS else NARROW
    figure, found = blanks(1, max(len(columns), 1), width=width, height=max(2.2, tall))
    percent = all(one.unit == "percent" for one in shown)
    names = [row.removesuffix(drawing.only) for row in rows]
    ends = _range(shown)
    for number, (axes, column) in enumerate(zip(found, columns, strict=False)):
        own = [one for one in shown if one.column == column]
        for one in own:
            aside = 0.56 * ((methods.index(one.method) + 0.5) / len(methods) - 0.5)
            _dot(axes, one.ours, rows.index(one.row) + aside, _look(one.method, 0))
        for row, claim in dict.fromkeys((one.row, one.claim) for one in own):
            _claim(axes, claim, rows.index(row))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(*ends)
        if ends[0] < 0:
            axes.axvline(0, color=MUTED, linewidth=0.9)
        name_ticks(axes.yaxis, range(len(rows)), names if number == 0 else [""] * len(rows), longest=44)
        if percent:
            percent_ticks(axes.xaxis, [tick for tick in axes.get_xticks() if ends[0] <= tick <= ends[1]])
        else:
            axes.locator_params(axis="x", nbins=4)
        grid(axes, "x")
        titled(axes, x=drawing.what if number == len(columns) // 2 or len(columns) == 1 else "", y=column)
    if columns:
        _legend(found[0], methods, [one.claim for one in shown if one.claim and one.claim.value is not None])
    return figure


def _range(shown: Sequence[Number]) -> tuple[float, float]:
    ours = [end for one in shown if one.ours for end in (one.ours.low, one.ours.high, one.ours.value)]
    theirs = [one.claim.value for one in shown if one.claim and one.claim.value is not None]
    every = [value for value in [*ours, *theirs] if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(every), max(every)
    room = 0.06 * (high - low or 1.0)
    return (max(low - room, 0.0) if low >= 0 else low - room), high + room


def _dot(axes: Axes, ours: Estimate | None, y: float, look: tuple[str, str]) -> None:
    colour, mark = look
    if ours is None or not math.isfinite(ours.value):
        return
    if math.isfinite(ours.low):
        ends = [ours.low, ours.high]
        axes.plot(ends, [y, y], color=colour, alpha=0.35, linewidth=3, solid_capstyle="round", clip_on=False)
    axes.plot([ours.value], [y], mark, color=colour, markersize=5.5, clip_on=False, zorder=3)


def _claim(axes: Axes, claim: Claim | None, y: float) -> None:
    """The paper's number; a caret that points to the left of its edge where it says "below this"."""
    if claim is not None and claim.value is not None:
        empty: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.2, "markersize": 7}
        shape = 8 if claim.below else "d"
        axes.plot([claim.value], [y], linestyle="", marker=shape, color=INK, clip_on=False, zorder=4, **empty)


def _legend(axes: Axes, methods: Sequence[str], claims: Sequence[Claim]) -> None:
    for method in methods:
        colour, mark = _look(method, 0)
        axes.plot([], [], mark, color=colour, markersize=5.5, label=label(method) or "measured here")
    name = "the paper (caret: below)" if any(claim.below for claim in claims) else "the paper"
    if claims:
        axes.plot([], [], "d", color=INK, markerfacecolor="none", markersize=7, label=name)
    legend(axes, columns=4)


def is_wide(output: Output) -> bool:
    """Whether a drawing needs the whole width of a page."""
    return not isinstance(output.drawing, Dots) or len({one.column for one in output.numbers}) > FEW_COLUMNS


def described(output: Output) -> str:
    """What a drawing shows, for those who cannot see it."""
    with_claim = [one for one in output.numbers if one.difference is not None]
    beside = f" {len(with_claim)} figures stand beside the paper's." if with_claim else ""
    return f"{output.title}.{beside} The table below has the numbers."
