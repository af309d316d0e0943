"""Plots of `benchmarks.policies`: whom to ask, what an allowed error buys, prices, and one case step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

import quorate
from benchmarks.paired import Figure, Runs, Sum, cost, made, missed, of, queries, rounds, stated
from benchmarks.policies import TITLES
from quorate.reporting.style import (
    ACTUAL,
    INK,
    METHODS,
    MUTED,
    NOBODY,
    RULE,
    SMALL,
    SOFT,
    STATED,
    TEXT,
    blank,
    titled,
)

MARKS = ("o", "s", "^", "D")


def fields(rows: int, columns: int, width: float, height: float) -> tuple[Drawing, list[Axes]]:
    """Plain axes in a grid."""
    drawing, first = blank(width, height)
    first.remove()
    found = []
    for place in range(rows * columns):
        axes = drawing.add_subplot(rows, columns, place + 1, facecolor="none")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(RULE)
        axes.tick_params(colors=MUTED, labelsize=SMALL, length=0, pad=5)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        found.append(axes)
    return drawing, found


def spread(runs: Sequence[Sum], price: Figure) -> float:
    """Half a 95 % interval of a mean over runs."""
    return 1.96 * float(np.std([price([one]) for one in runs], ddof=1)) / math.sqrt(len(runs))


def errors_on(axes: Axes) -> None:
    """A logarithmic axis of errors."""
    axes.set_xscale("log")
    ticks = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05]
    axes.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks], fontsize=SMALL, color=INK)
    axes.minorticks_off()


def choosers(found: Sequence[Sum]) -> Drawing:
    """Queries against the error stated, a panel in each part."""
    drawing, parts = fields(2, 2, 8.6, 6.2)
    for place, (axes, (panel, title)) in enumerate(zip(parts, TITLES.items(), strict=False)):
        for name, colour, mark in zip(("entropy", "stop", "lookahead"), METHODS, MARKS, strict=False):
            own = of(found, panel, name)
            if own:
                x = [stated(runs) for runs in own.values()]
                axes.plot(x, [queries(runs) for runs in own.values()], color=colour, marker=mark, ms=5, label=name)
        errors_on(axes)
        titled(axes, x="mean stated error" if place > 1 else "", y=f"{title}: queries a case")
        if place == 0:
            axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    return drawing


def allowed(found: Sequence[Sum], chooser: str) -> Drawing:
    """What an allowed error costs and what error was made, by panel."""
    drawing, (left, right) = fields(1, 2, 9.2, 3.7)
    for (panel, title), colour, mark in zip(TITLES.items(), METHODS, MARKS, strict=False):
        own = of(found, panel, chooser)
        x = list(own)
        y = [queries(runs) for runs in own.values()]
        half = [spread(runs, queries) for runs in own.values()]
        left.errorbar(x, y, half, color=colour, marker=mark, ms=5, capsize=2, label=title)
        right.plot(x, [max(made(runs), 1e-4) for runs in own.values()], color=colour, marker=mark, ms=5, label=title)
    x = sorted({one.max_error for one in found if one.variant == chooser})
    right.plot(x, x, color=MUTED, linestyle="--", linewidth=1)
    right.text(x[-2], x[-2] * 1.5, "allowed", color=MUTED, fontsize=SMALL, ha="right")
    for axes in (left, right):
        errors_on(axes)
        axes.set_xlim(0.004, 0.065)
    right.set_yscale("log")
    ticks = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03]
    right.set_yticks(ticks, ["0.01 % or less", *(f"{100 * tick:g} %" for tick in ticks[1:])], fontsize=SMALL)
    right.minorticks_off()
    titled(left, x="allowed error", y="queries a case")
    titled(right, x="allowed error", y="error that was made")
    left.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    return drawing


def curve(axes: Axes, own: Runs, x: Figure, y: Figure, name: str, *, ours: bool, line: str = "-") -> None:
    """One line through the allowed errors."""
    points = [(x(runs), y(runs)) for runs in own.values()]
    colour, mark = (STATED, "o") if ours else (ACTUAL, "s")
    axes.plot(*zip(*points, strict=True), color=colour, marker=mark, ms=5, linestyle=line, label=name)


def prices(found: Sequence[Sum]) -> Drawing:
    """ChestX-ray: a dear expert, two at once, and an outcome that is graver to miss."""
    drawing, (dear, pair, grave) = fields(1, 3, 11.4, 3.8)
    plain = of(found, "chestxray", "lookahead")
    curve(dear, plain, stated, cost, "costs not weighed", ours=False)
    curve(dear, of(found, "chestxray", "lookahead, costs"), stated, cost, "costs weighed", ours=True)
    errors_on(dear)
    titled(dear, x="mean stated error", y="cost a case, one expert of five costs 5")
    both = of(found, "chestxray", "two at once")
    curve(pair, plain, stated, rounds, "one at a time: rounds", ours=False)
    curve(pair, both, stated, rounds, "two at once: rounds", ours=True)
    curve(pair, both, stated, queries, "two at once: queries", ours=True, line=":")
    pair.set_ylim(bottom=0)
    errors_on(pair)
    titled(pair, x="mean stated error", y="rounds and queries a case")
    curve(grave, plain, queries, missed, "all outcomes alike", ours=False)
    curve(grave, of(found, "chestxray", "loss"), queries, missed, "abnormal 5 times as grave", ours=True)
    grave.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    titled(grave, x="queries a case", y="abnormal cases that were missed")
    for axes in (dear, pair, grave):
        axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    return drawing


@dataclass(frozen=True)
class Moment:
    """What a study knew and did at one step of a case."""

    probability: float  # of the second class
    gains: dict[str, float]
    expert: str | None  # None where it settled
    vote: str | None
    error: float


NAMES = ("normal", "abnormal")
SKILL = (0.93, 0.9, 0.85, 0.8, 0.7)


def steps(seed: int = 0, learned: int = 150, votes: int = 3) -> tuple[list[Moment], tuple[str, ...]]:
    """The first case of a simulated panel, after some were learned from, that took so many votes."""
    rng = np.random.default_rng(seed)
    table = quorate.simulate(rng, experts=5, classes=2, cases=learned + 200, correlation=0.3, skill=SKILL)
    study = quorate.create_study(table.panel, max_error=0.02, seed=seed, options=quorate.Options(chooser="lookahead"))
    for row in range(len(table)):
        case = table.case(row)
        study.open(case.key, dict(zip(table.panel.classifiers, case.probabilities, strict=True)))
        found = []
        while isinstance(step := study.ask(case.key), quorate.Query):
            vote = int(table.votes[row, table.panel.expert(step.expert)])
            found.append(
                Moment(step.forecast.values[1], dict(step.gains), step.expert, NAMES[vote], step.forecast.error)
            )
            study.tell(case.key, step.expert, table.panel.classes[vote])
        found.append(Moment(step.forecast.values[1], {}, None, None, step.forecast.error))
        study.settle(case.key)
        if row >= learned and len(found) == votes + 1:
            return found, table.panel.experts
        if row < learned and (job := study.due()) is not None:
            study.adopt(job, job.run())
    raise ValueError("no case took so many votes; take another seed")


def one_case(moments: Sequence[Moment], experts: Sequence[str]) -> Drawing:
    """A case step by step: the forecast at the left, what each vote is worth at the right."""
    drawing, parts = fields(len(moments), 2, 9.0, 1.5 * len(moments))
    for number, moment in enumerate(moments):
        belief, worth = parts[2 * number], parts[2 * number + 1]
        for axes in (belief, worth):
            axes.grid(visible=False)
            axes.set_xticks([])
            for side in ("left", "bottom"):
                axes.spines[side].set_visible(False)
        p = moment.probability
        for start, width, name, colour, ink in (
            (0.0, 1 - p, NAMES[0], SOFT, INK),
            (1 - p, p, NAMES[1], STATED, "white"),
        ):
            belief.barh([0], [width], left=[start], color=colour, height=0.7)
            if width > 0.25:
                text = f"{name} {100 * width:.3g} %"
                belief.text(start + width / 2, 0, text, color=ink, fontsize=SMALL, ha="center", va="center")
        belief.set_xlim(0, 1)
        belief.set_ylim(-1.1, 0.6)
        belief.set_yticks([])
        seen = f"After {number} vote{'s' if number != 1 else ''}" if number else "The classifier alone"
        belief.set_title(f"{seen}: stated error {100 * moment.error:.2g} %", fontsize=TEXT, color=INK, loc="left")
        if moment.expert is None:
            worth.set_axis_off()
            done = "No more than the 2 % allowed" if moment.error else "The votes decide"
            worth.set_title(f"{done}: settle", fontsize=TEXT, color=INK, loc="left")
            continue
        names = [name for name in experts if name in moment.gains]
        values = [-moment.gains[name] for name in names]
        colours = [STATED if name == moment.expert else NOBODY for name in names]
        worth.barh(range(len(names)), values, color=colours, height=0.66)
        worth.set_yticks(range(len(names)), [name.replace("_", " ") for name in names], fontsize=SMALL, color=INK)
        worth.set_ylim(4.6, -0.6)
        worth.set_xlim(0, 3.6)
        for place, value in enumerate(values):
            worth.text(value, place, f" {value:.2f}", va="center", fontsize=SMALL, color=INK)
        told = f"Ask {moment.expert.replace('_', ' ')}, who says {moment.vote}"
        worth.set_title(told, fontsize=TEXT, color=INK, loc="left")
    return drawing


def drawings(found: Sequence[Sum]) -> dict[str, Drawing]:
    """Every plot by its name."""
    return {
        "choosers": choosers(found),
        "allowed": allowed(found, "lookahead"),
        "prices": prices(found),
        "case": one_case(*steps()),
    }
