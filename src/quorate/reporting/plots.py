"""The plots of a replay: each a function from values to a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quorate.assurance.scored import Scored
from quorate.assurance.summary import WINDOW, Summary, exact_interval, is_wrong
from quorate.core.arrays import Floats
from quorate.reporting.replay import Correlation
from quorate.reporting.style import (
    ACTUAL,
    INK,
    MUTED,
    NOBODY,
    PLACES,
    RAW,
    SMALL,
    SOFT,
    STATED,
    blank,
    grid,
    legend,
    name_ticks,
    percent_ticks,
    titled,
)
from quorate.reporting.wording import decimal, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ERROR_GROUPS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
"""Upper edges of the groups of stated error: fine where settled cases lie, near 0."""

ROOT_TICKS = {
    0.05: (0, 0.001, 0.005, 0.01, 0.02, 0.05),
    0.2: (0, 0.002, 0.01, 0.05, 0.1, 0.2),
    0.5: (0, 0.01, 0.05, 0.1, 0.2, 0.5),
    1.0: (0, 0.01, 0.05, 0.2, 0.5, 1.0),
}
"""Where an axis of shares may end, and its ticks then."""

AGREEMENT = ("#8c3a06", "#e39b62", "#f4f2ef", "#6ba6d6", "#0a4d86")
"""From votes that go against each other to votes that go together; safe for the colour-blind."""

ROOM = 50
"""Letters that fit under a map of pairs side by side; longer rows of names are slanted."""

DARK_CELL = 0.62
"""Values beyond this need light letters."""


def queries_over_time(scored: Sequence[Scored], summary: Summary) -> Figure:
    """Queries of each case, their running mean, and what the whole panel would have cost."""
    figure, axes = blank()
    at = np.arange(1, len(scored) + 1)
    queries = np.array([case.human_votes for case in scored])
    axes.plot(at, queries, "|", color=RAW, markersize=9, markeredgewidth=1.1, clip_on=False, label="each case")
    axes.plot(at, summary.running_queries, color=STATED, linewidth=2.2, label=f"mean of the last {WINDOW}")
    full = summary.full_panel_queries
    axes.axhline(full, color=MUTED, linewidth=1.2, linestyle=(0, (5, 3)), label=f"whole panel ({decimal(full)})")
    axes.set_xlim(0.5, len(scored) + 0.5)
    axes.set_ylim(-0.3, max(full, queries.max()) + 0.3)
    axes.spines["bottom"].set_visible(False)
    whole_ticks(axes, len(scored))
    grid(axes, "y")
    titled(axes, x="case, in the order of the stream", y="queries")
    legend(axes, columns=3)
    return figure


def stated_and_actual(scored: Sequence[Scored]) -> Figure:
    """Errors so far against errors stated so far, with the band where 95 % of replays would lie were they true.

    Cases whose panel is tied are left out: no outcome of theirs is fully right or wrong.
    """
    figure, axes = blank()
    at = np.arange(1, len(scored) + 1)
    chance = np.array([0.0 if case.tied else case.stated_error for case in scored])
    wrong = np.array([is_wrong(case) for case in scored])
    low, high = error_band(chance)
    axes.fill_between(at, low, high, step="post", color=SOFT, linewidth=0, label="95 % range if stated errors hold")
    axes.plot(at, np.cumsum(chance), color=STATED, linewidth=2.2, label="stated")
    axes.plot(at, np.cumsum(wrong), color=ACTUAL, linewidth=2.2, drawstyle="steps-post", clip_on=False, label="actual")
    axes.set_xlim(0.5, len(scored) + 0.5)
    axes.set_ylim(0, max(1.0, float(high.max()), float(wrong.sum())) * 1.08)
    whole_ticks(axes, len(scored))
    grid(axes, "y")
    titled(axes, x="case, in the order of the stream", y="errors so far")
    legend(axes, columns=3)
    return figure


def error_band(chance: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Central range of the number of errors so far if each case errs by its own chance: exact, case by case.

    >>> low, high = error_band(np.array([0.5, 0.5, 0.0]))
    >>> low.tolist(), high.tolist()
    ([0.0, 0.0, 0.0], [1.0, 2.0, 2.0])
    """
    mean = float(chance.sum())
    most = int(
        min(len(chance), np.ceil(mean + 10 * np.sqrt(mean + 1) + 10))
    )  # beyond it lies no probability to speak of
    number = np.zeros(most + 1)
    number[0] = 1.0
    low, high = np.empty(len(chance)), np.empty(len(chance))
    for t, p in enumerate(chance.tolist()):
        number[1:] = number[1:] * (1 - p) + number[:-1] * p
        number[0] *= 1 - p
        below = np.minimum(np.cumsum(number), 1.0)
        low[t] = np.searchsorted(below, (1 - level) / 2, side="left")
        high[t] = min(int(np.searchsorted(below, (1 + level) / 2, side="left")), most)
    return low, high


def reliability_plot(scored: Sequence[Scored]) -> Figure:
    """Stated and actual error of the settled cases, grouped by what was stated; ties left out."""
    groups = _error_groups(scored)
    figure, axes = blank(height=1.25 + 0.36 * max(len(groups), 2))
    for row, (_, cases, stated, errors) in enumerate(groups):
        _rate(axes, row, errors, cases, interval=stated > 0)
        axes.plot(
            [stated], [row], "D", color=STATED, markersize=5.5, clip_on=False, zorder=4, label="stated, on average"
        )
    name_ticks(axes.yaxis, range(len(groups)), [group[0] for group in groups])
    axes.set_ylim(len(groups) - 0.4, -0.6)
    root_scale(
        axes, max([exact_interval(errors, cases)[1] for _, cases, stated, errors in groups if stated > 0], default=0.05)
    )
    grid(axes, "x")
    titled(axes, x="error of the settled cases", y="stated error")
    legend(axes, columns=2, only=2)
    return figure


def _error_groups(scored: Sequence[Scored]) -> list[tuple[str, int, float, int]]:
    """Groups that hold a case: name, cases, mean stated error and errors."""
    found = []
    lower = -1.0
    for upper in ERROR_GROUPS:
        here = [case for case in scored if not case.tied and lower < case.stated_error <= upper]
        if here:
            stated = float(np.mean([case.stated_error for case in here]))
            found.append((_group_name(lower, upper), len(here), stated, sum(is_wrong(case) for case in here)))
        lower = upper
    return found


def _group_name(lower: float, upper: float) -> str:
    if upper == 0.0:
        return "certain"
    if upper == 1.0:
        return f"above {100 * lower:g} %"
    return f"{100 * lower:g} to {100 * upper:g} %" if lower > 0 else f"up to {100 * upper:g} %"


def who_was_asked(summary: Summary) -> Figure:
    """Share of the cases each expert was asked in, split by the place in the order."""
    asked, shown = summary.by_expert, min(len(PLACES), max((len(a.places) for a in summary.by_expert), default=0))
    rows = len(asked) + bool(summary.no_human)
    figure, axes = blank(height=1.3 + 0.36 * max(rows, 2))
    left = np.zeros(len(asked))
    for place in range(shown):
        last = place == shown - 1
        share = np.array([sum(a.places[place:]) if last else a.places[place] for a in asked]) / summary.cases
        name = ("first", "second", "third", "fourth", "fifth")[place]
        more = last and any(len(a.places) > shown for a in asked)
        axes.barh(
            range(len(asked)),
            share,
            left=left,
            height=0.66,
            color=PLACES[place],
            label=name + (" or later" if more else ""),
        )
        left += share
    for row, total in enumerate(left):
        axes.text(total + 0.012, row, percent(total), va="center", color=INK, fontsize=SMALL)
    names = [a.expert for a in asked]
    if summary.no_human:
        axes.barh(len(asked), summary.no_human_share, height=0.66, color=NOBODY)
        axes.text(
            summary.no_human_share + 0.012,
            len(asked),
            percent(summary.no_human_share),
            va="center",
            color=INK,
            fontsize=SMALL,
        )
        names.append("no one")
    name_ticks(axes.yaxis, range(rows), names)
    axes.set_ylim(rows - 0.4, -0.6)
    widest = max(float(left.max(initial=0.0)), summary.no_human_share)
    axes.set_xlim(0, min(1.0, widest * 1.05 + 0.02) + 0.09)
    percent_ticks(axes.xaxis, [tick for tick in (0.0, 0.25, 0.5, 0.75, 1.0) if tick <= widest + 0.06])
    grid(axes, "x")
    titled(axes, x="share of the cases")
    legend(axes, columns=5)
    return figure


def error_by_outcome(summary: Summary) -> Figure:
    """Error rate of the cases of each true outcome, with counts and exact intervals; ties left out."""
    parts = summary.by_outcome
    figure, axes = blank(height=1.15 + 0.4 * max(len(parts), 2))
    for row, part in enumerate(parts):
        _rate(axes, row, part.errors, part.cases, interval=True)
    name_ticks(axes.yaxis, range(len(parts)), [part.outcome for part in parts])
    axes.set_ylim(len(parts) - 0.4, -0.6)
    root_scale(axes, max([part.interval[1] for part in parts if part.cases], default=1.0))
    grid(axes, "x")
    titled(axes, x="error rate, with its 95 % interval", y="the panel's outcome")
    return figure


def correlation_map(correlation: Correlation) -> Figure:
    """How alike the agents' latent scores are: posterior mean correlation of each pair, in numbers."""
    return pair_map(correlation.agents, correlation.by_agent())


def pair_map(names: Sequence[str], values: Floats, sure: Sequence[Sequence[bool]] | None = None) -> Figure:
    """A value from -1 to 1 for each pair, in colours and in numbers; bold where it is sure."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    many = len(names)
    figure, axes = blank(width=max(5.4, 1.9 + 0.46 * many), height=1.0 + 0.46 * max(many - 1, 2))
    colours = LinearSegmentedColormap.from_list("agreement", AGREEMENT)
    for row in range(1, many):
        for column in range(row):
            value = float(values[row, column])
            axes.add_patch(Rectangle((column, row), 0.95, 0.95, facecolor=colours((value + 1) / 2), linewidth=0))
            text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")
            axes.text(
                column + 0.475,
                row + 0.475,
                text,
                ha="center",
                va="center",
                color="#ffffff" if abs(value) > DARK_CELL else "#17202a",
                fontsize=SMALL,
                fontweight="bold" if sure is not None and sure[row][column] else "normal",
            )
    name_ticks(axes.xaxis, [at + 0.475 for at in range(many - 1)], names[:-1])
    if max(map(len, names)) * many > ROOM:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    name_ticks(axes.yaxis, [at + 0.475 for at in range(1, many)], names[1:])
    axes.set_xlim(0, many - 1)
    axes.set_ylim(many, 1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _rate(axes: Axes, row: int, errors: int, cases: int, *, interval: bool) -> None:
    """One row of a plot of error rates: a dot, its exact interval and the counts at the right."""
    if cases and interval:  # a forced outcome has no chance in it, hence no interval
        ends = exact_interval(errors, cases)
        axes.plot(ends, [row, row], color=ACTUAL, alpha=0.4, linewidth=3.5, solid_capstyle="round", clip_on=False)
    if cases:
        label = "actual, with its 95 % interval"
        axes.plot([errors / cases], [row], "o", color=ACTUAL, markersize=7, clip_on=False, zorder=3, label=label)
    text = f"{errors} of {cases}" if cases else "no case"
    beside = axes.get_yaxis_transform()
    axes.text(1.04, row, text, transform=beside, va="center", color=INK, fontsize=SMALL)


def whole_ticks(axes: Axes, cases: int) -> None:
    """Ticks at whole numbers: there is no half case and no half vote."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if cases == 1:
        axes.set_xticks([1])


def root_scale(axes: Axes, highest: float) -> None:
    """Shares on a root scale: room where errors lie, near 0, and 0 itself can be shown."""
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    end, ticks = next((end, ticks) for end, ticks in ROOT_TICKS.items() if highest <= end)
    axes.set_xlim(0, end)
    percent_ticks(axes.xaxis, ticks)
    axes.minorticks_off()
    axes.tick_params(axis="y", pad=11)  # a dot at 0 stands on the axis
