"""The plots of a running study: each a function from values to a matplotlib Figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quorate.assurance.audit import Audit
from quorate.assurance.summary import WINDOW, exact_interval
from quorate.core.arrays import Bools, Floats, Ints
from quorate.reporting.plots import pair_map, root_scale, whole_ticks
from quorate.reporting.portrait_plots import SKILLS
from quorate.reporting.style import (
    ACTUAL,
    INK,
    LIGHT_AND_DARK,
    MUTED,
    NOBODY,
    RAW,
    SMALL,
    STATED,
    blank,
    grid,
    legend,
    name_ticks,
    percent_ticks,
    titled,
    to_svg_file,
)
from quorate.reporting.wording import count, decimal, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.7
"""Inches; narrow, so that the letters can still be read on a phone."""
FLOORS = {
    0.9: (0.9, 0.92, 0.94, 0.96, 0.98, 1.0),
    0.5: (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    0.0: (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
}
"""Where an axis of probabilities may begin, and its ticks then."""
SLANT = 50
"""Letters that fit under a map of pairs side by side; longer rows of names are slanted."""
LIGHT = 0.62
"""Shares above it need light letters."""
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Load:
    """What one expert has done and has to do."""

    expert: str
    votes: int
    open: int
    lapsed: int


def queries(votes: Sequence[int], first: int, full: float | None) -> Figure:
    """Votes of each settled case and their running mean; `first` is the number of the first of them."""
    figure, axes = blank(WIDTH)
    at = np.arange(first, first + len(votes))
    each = np.array(votes, dtype=np.float64)
    axes.plot(at, each, "|", color=RAW, markersize=9, markeredgewidth=1.1, clip_on=False, label="each case")
    axes.plot(at, running_mean(each), color=STATED, linewidth=2.2, label=f"mean of the last {WINDOW}")
    if full is not None:
        label = f"whole panel ({decimal(full)})"
        axes.axhline(full, color=MUTED, linewidth=1.2, linestyle=(0, (5, 3)), label=label)
    axes.set_xlim(first - 0.5, first + len(votes) - 0.5)
    axes.set_ylim(-0.3, max(full or 0.0, float(each.max(initial=1.0))) + 0.3)
    axes.spines["bottom"].set_visible(False)
    whole_ticks(axes, len(votes))
    grid(axes, "y")
    titled(axes, x="settled cases, in the order they came", y="votes")
    legend(axes, columns=3)
    return figure


def running_mean(values: Floats, window: int = WINDOW) -> Floats:
    """Mean of each value and those before it, at most so many together.

    >>> running_mean(np.array([1.0, 3.0, 5.0]), window=2).tolist()
    [1.0, 2.0, 4.0]
    """
    total = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    start = np.maximum(end - window, 0)
    return np.asarray((total[end] - total[start]) / (end - start))


def errors(stated: float | None, audit: Audit, allowed: float) -> Figure:
    """The error that is allowed, the one that is stated and the one that audits found, with its interval."""
    figure, axes = blank(WIDTH, 2.5)
    axes.axvline(allowed, color=MUTED, linewidth=1.2, linestyle=(0, (5, 3)), label=f"allowed ({percent(allowed)})")
    if stated is not None:
        axes.plot([stated], [0], "D", color=STATED, markersize=7, clip_on=False, zorder=4, label="stated, on average")
    highest = max(allowed, stated or 0.0, audit.high if audit.cases else 0.0)
    if audit.rate is not None:
        ends = [audit.low, audit.high]
        axes.plot(ends, [1, 1], color=ACTUAL, alpha=0.4, linewidth=4, solid_capstyle="round", clip_on=False)
        label = "audited, with its 95 % interval"
        axes.plot([audit.rate], [1], "o", color=ACTUAL, markersize=8, clip_on=False, zorder=4, label=label)
        said = f"{decimal(audit.errors)} of {count(audit.cases)}"
    else:
        said = "none yet"
    axes.text(1.03, 1, said, transform=axes.get_yaxis_transform(), va="center", color=INK, fontsize=SMALL)
    name_ticks(axes.yaxis, [0, 1], ["stated", "audited"])
    axes.set_ylim(1.6, -0.6)
    root_scale(axes, min(highest, 1.0))
    grid(axes, "x")
    titled(axes, x="share of the outcomes that are wrong")
    legend(axes, columns=2)
    return figure


def reliability_diagram(audit: Audit) -> Figure:
    """How sure audited cases were, against how often that was right; on the line, what is stated is true."""
    figure, axes = blank(WIDTH, 3.5)
    lowest = min([found.stated for found in audit.bins], default=0.5)
    floor, ticks = next((floor, ticks) for floor, ticks in FLOORS.items() if floor < lowest or floor == 0.0)
    axes.plot([floor, 1], [floor, 1], color=MUTED, linewidth=1.2, linestyle=(0, (5, 3)), label="what is stated is true")
    most = max([found.cases for found in audit.bins], default=1)
    for number, found in enumerate(audit.bins):
        ends = exact_interval(round(found.right * found.cases), found.cases)
        axes.plot([found.stated] * 2, ends, color=ACTUAL, alpha=0.35, linewidth=3.2, solid_capstyle="round")
        axes.plot(
            [found.stated],
            [found.right],
            "o",
            color=ACTUAL,
            markersize=4 + 8 * float(np.sqrt(found.cases / most)),
            clip_on=False,
            zorder=3,
            label="audited cases, with 95 % intervals" if number == 0 else None,
        )
    axes.set_xlim(floor, 1.0)
    axes.set_ylim(min([floor, *(exact_interval(round(b.right * b.cases), b.cases)[0] for b in audit.bins)]), 1.0)
    percent_ticks(axes.xaxis, ticks)
    percent_ticks(axes.yaxis, [tick for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0) if tick >= axes.get_ylim()[0]])
    grid(axes, "y")
    titled(
        axes,
        x="probability when it would have settled",
        y="share where the whole panel decided the same",
    )
    legend(axes, columns=2)
    return figure


def siding(names: Sequence[str], values: Floats, sure: Bools) -> Figure:
    """Who sides with whom beyond the evidence, as the model has learned it; bold where it is sure."""
    return pair_map(names, values, sure=sure.tolist())


def agreement(names: Sequence[str], same: Ints, both: Ints) -> Figure:
    """How often each pair voted alike on cases that both voted on; empty where there is no such case."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    many = len(names)
    figure, axes = blank(width=max(WIDTH, 1.9 + 0.46 * many), height=1.0 + 0.46 * max(many - 1, 2))
    colours = LinearSegmentedColormap.from_list("alike", SKILLS)
    for row in range(1, many):
        for column in range(row):
            if not both[row, column]:
                continue
            share = float(same[row, column] / both[row, column])
            axes.add_patch(Rectangle((column, row), 0.95, 0.95, facecolor=colours(share), linewidth=0))
            ink = "#ffffff" if share > LIGHT else "#17202a"
            place = (column + 0.475, row + 0.475)
            axes.text(*place, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=SMALL)
    name_ticks(axes.xaxis, [at + 0.475 for at in range(many - 1)], names[:-1])
    if max(map(len, names)) * many > SLANT:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    name_ticks(axes.yaxis, [at + 0.475 for at in range(1, many)], names[1:])
    axes.set_xlim(0, many - 1)
    axes.set_ylim(many, 1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    titled(axes, y="per cent of the cases that both voted on")
    return figure


def load(experts: Sequence[Load]) -> Figure:
    """Votes that each expert cast, questions that wait for them and questions that lapsed."""
    figure, axes = blank(WIDTH, 1.3 + 0.36 * max(len(experts), 2))
    rows = np.arange(len(experts))
    left = np.zeros(len(experts))
    parts = (
        ("voted", STATED, [one.votes for one in experts]),
        ("waiting", RAW, [one.open for one in experts]),
        ("lapsed or could not tell", NOBODY, [one.lapsed for one in experts]),
    )
    for label, colour, values in parts:
        axes.barh(rows, values, left=left, height=0.66, color=colour, label=label)
        left += np.array(values)
    most = float(left.max(initial=0.0)) or 1.0
    for row, (one, end) in enumerate(zip(experts, left.tolist(), strict=True)):
        axes.text(end + 0.012 * most, row, count(one.votes), va="center", color=INK, fontsize=SMALL)
    name_ticks(axes.yaxis, rows.tolist(), [one.expert for one in experts])
    axes.set_ylim(len(experts) - 0.4, -0.6)
    axes.set_xlim(0, most * 1.1)
    _whole_numbers(axes)
    grid(axes, "x")
    titled(axes, x="cases")
    legend(axes, columns=3)
    return figure


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def themed_svg(figure: Figure, name: str) -> tuple[str, str]:
    """A figure as two files, for a light and for a dark page; neither needs a style, which a page may forbid."""
    light = plain_svg(to_svg_file(figure, name, ground="none"))
    deep = dict(LIGHT_AND_DARK.values())
    return light, re.sub("#[0-9a-f]{6}", lambda found: deep.get(found[0], found[0]), light)


def plain_svg(text: str) -> str:
    """A drawing whose styles are attributes, in the letters of the page.

    >>> plain_svg('<svg><path style="fill: none; stroke: #fff"/></svg>')
    '<svg stroke-linejoin="round" stroke-linecap="butt"><path fill="none" stroke="#fff"/></svg>'
    """
    text = re.sub(r"<(style|metadata)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :]
    text = re.sub(r'\sstyle="([^"]*)"', lambda found: " " + _attributes(found[1]), text)
    return text.replace("<svg", '<svg stroke-linejoin="round" stroke-linecap="butt"', 1)


def _attributes(style: str) -> str:
    found = {}
    for part in filter(str.strip, style.split(";")):
        name, _, value = part.partition(":")
        found[name.strip()] = value.strip()
    if "font-family" in found:
        found["font-family"] = FONTS
    return " ".join(f'{name}="{value}"' for name, value in found.items())
