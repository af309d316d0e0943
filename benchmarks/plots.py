"""Plots of measured figures: `python -m benchmarks.plots FILE FOLDER`, from what `make bench` gives with --json."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from benchmarks.figures import Figure
from quorate.reporting.style import ACTUAL, INK, METHODS, MUTED, RULE, SMALL, STATED, blank, titled, to_png

MARKS = ("o", "s", "^", "D")


def read(path: Path) -> list[Figure]:
    """The figures of a file, one JSON object a line."""
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines()]


def speed(figures: Sequence[Figure]) -> Drawing:
    """Effective draws a second of both samplers, by panel and number of cases."""
    ours = {f.on: f.value for f in figures if f.what == "smallest ESS a second"}
    theirs = {f.on: f.value for f in figures if f.what == "smallest ESS a second, NumPyro"}
    drawing, axes = blank(7.2, 4.6)
    names = list(ours)[::-1]
    for row, name in enumerate(names):
        axes.plot([theirs.get(name, ours[name]), ours[name]], [row, row], color=RULE, linewidth=2, zorder=1)
    axes.scatter([ours[name] for name in names], range(len(names)), color=STATED, s=46, zorder=3, label="quorate")
    there = [row for row, name in enumerate(names) if name in theirs]
    values = [theirs[names[row]] for row in there]
    axes.scatter(values, there, color=ACTUAL, marker="s", s=36, zorder=2, label="NumPyro, NUTS")
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, color=INK, fontsize=SMALL)
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    titled(axes, x="smallest effective sample size a second, over all parameters")
    axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK, loc="lower right")
    return drawing


def growth(figures: Sequence[Figure]) -> Drawing:
    """Seconds of one update by the number of cases, a line for each panel."""
    drawing, axes = blank(6.4, 3.8)
    lines: dict[str, list[tuple[int, float]]] = {}
    for figure in figures:
        panel, _, n = figure.on.partition(" n=")
        if figure.what == "update" and "H=" not in panel:
            lines.setdefault(panel, []).append((int(n), figure.value))
    for number, (panel, points) in enumerate(lines.items()):
        x, y = zip(*sorted(points), strict=True)
        colour = METHODS[number % len(METHODS)]
        axes.plot(x, y, color=colour, marker=MARKS[number % len(MARKS)], markersize=5, label=panel)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    titled(axes, x="cases in the history", y="seconds for one update of all 32 chains")
    axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK, loc="upper left")
    return drawing


def replays(figures: Sequence[Figure]) -> Drawing:
    """Seconds of whole replays, by panel and schedule."""
    found = [f for f in figures if f.part == "replays" and f.what == "replay"]
    drawing, axes = blank(6.4, 3.4)
    names = list(dict.fromkeys(f.on.partition(",")[0] for f in found))[::-1]
    for shift, schedule, colour in ((0.2, "every", STATED), (-0.2, "paper", METHODS[2])):
        values = {f.on.partition(",")[0]: f.value for f in found if f.on.endswith(f"schedule {schedule}")}
        rows = [row + shift for row, name in enumerate(names) if name in values]
        widths = [values[name] for name in names if name in values]
        label = "after every case" if schedule == "every" else "on the paper's schedule"
        axes.barh(rows, widths, height=0.36, color=colour, label=label)
        for row, width in zip(rows, widths, strict=True):
            axes.text(width, row, f" {width:.0f}", va="center", color=MUTED, fontsize=SMALL)
    axes.set_yticks(range(len(names)), names, color=INK, fontsize=SMALL)
    titled(axes, x="seconds for 250 cases, two cores")
    axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK, loc="lower right", title="chains updated")
    return drawing


def main() -> None:
    """Draw everything that the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    figures = read(given.file)
    for name, draw in (("speed", speed), ("growth", growth), ("replays", replays)):
        (given.folder / f"performance-{name}.png").write_bytes(to_png(draw(figures)))


if __name__ == "__main__":
    main()
