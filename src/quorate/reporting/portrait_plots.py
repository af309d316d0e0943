"""The plots of a panel's portrait: each a function from values to a matplotlib Figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate.models.portrait import Portrait
from quorate.reporting.plots import pair_map
from quorate.reporting.style import (
    METHODS,
    SMALL,
    blank,
    grid,
    legend,
    name_ticks,
    percent_ticks,
    shorten,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = ("o", "s", "D", "^", "v")
FEW = len(METHODS)
"""Most classes that dots of their own colour tell apart; more are shown as a map."""

SKILLS = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""From never to always, one hue that deepens."""

LIGHT = 0.62
"""Skills above it need light letters."""

ROOM = 80
"""Letters that fit under a map of skills side by side; longer rows of names are slanted."""


def skills(portrait: Portrait) -> Figure:
    """How often each expert votes for a class where the whole panel decides for it, with intervals."""
    return _dots(portrait) if len(portrait.classes) <= FEW else _map(portrait)


def _dots(portrait: Portrait) -> Figure:
    experts, classes = portrait.skill.shape[:2]
    figure, axes = blank(height=1.3 + experts * (0.2 + 0.13 * classes))
    step = 0.72 / classes
    for k, name in enumerate(portrait.classes):
        colour, mark = METHODS[k], MARKS[k]
        at = np.arange(experts) + (k - (classes - 1) / 2) * step
        value, low, high = portrait.skill[:, k].T
        axes.hlines(at, low, high, color=colour, alpha=0.4, linewidth=3.2, capstyle="round")
        axes.plot(value, at, mark, color=colour, markersize=6, zorder=3, clip_on=False, label=shorten(name, 16))
    _experts(axes, portrait)
    least = min(float(np.nanmin(portrait.skill, initial=1.0)) - 0.01, 0.9)
    step = next(step for step in (0.05, 0.1, 0.2, 0.25) if least >= 1 - 5 * step or step == 0.25)
    start = max(0.0, step * np.floor(least / step))
    axes.set_xlim(start, 1.0)
    percent_ticks(axes.xaxis, np.arange(start, 1.0 + step / 2, step).round(2).tolist())
    grid(axes, "x")
    titled(axes, x="votes for the class, of the cases where the panel decides for it")
    legend(axes, columns=min(classes, 4))
    return figure


def _experts(axes: Axes, portrait: Portrait) -> None:
    experts = len(portrait.experts)
    name_ticks(axes.yaxis, range(experts), portrait.experts)
    axes.set_ylim(experts - 0.45, -0.55)
    axes.tick_params(axis="y", pad=9)


def _map(portrait: Portrait) -> Figure:
    """A cell an expert and class, where there are too many classes for dots."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    experts, classes = portrait.skill.shape[:2]
    figure, axes = blank(width=max(9.0, 1.9 + 0.5 * classes), height=1.2 + 0.34 * experts)
    colours = LinearSegmentedColormap.from_list("skill", SKILLS)
    for h in range(experts):
        for k in range(classes):
            value = float(portrait.skill[h, k, 0])
            if np.isnan(value):
                continue
            axes.add_patch(Rectangle((k, h - 0.475), 0.95, 0.95, facecolor=colours(value), linewidth=0))
            ink = "#ffffff" if value > LIGHT else "#17202a"
            axes.text(k + 0.475, h, f"{100 * value:.0f}", ha="center", va="center", color=ink, fontsize=SMALL)
    _experts(axes, portrait)
    name_ticks(axes.xaxis, [k + 0.475 for k in range(classes)], portrait.classes, longest=12)
    if max(map(len, portrait.classes)) * classes > ROOM:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlim(0, classes)
    for spine in axes.spines.values():
        spine.set_visible(False)
    titled(axes, y="per cent of the cases where the panel decides for the class")
    return figure


def siding(portrait: Portrait) -> Figure:
    """Who sides with whom beyond the evidence; bold where the interval leaves 0 out."""
    return pair_map(portrait.experts, portrait.siding[..., 0], sure=excludes_zero(portrait))


def excludes_zero(portrait: Portrait) -> list[list[bool]]:
    """Whether the interval of each pair lies wholly on one side of 0: (H, H)."""
    low, high = portrait.siding[..., 1], portrait.siding[..., 2]
    found: list[list[bool]] = ((low > 0) | (high < 0)).tolist()
    return found
