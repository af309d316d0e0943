"""Preset quorate against preset paper on the paper's runs: what was asked, what was stated and what went wrong.

`python -m benchmarks.presets gather FOLDER...` takes the figures of runs out of `results.jsonl` of comparisons, one a
panel; `python -m benchmarks.presets draw DOCS` makes the table and the plot of them again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Drawing

from quorate.core.arrays import Floats
from quorate.experiments.cell import line_of, run_of_line
from quorate.reporting.style import ACTUAL, INK, MUTED, RULE, SMALL, STATED, blank, titled, to_png

KEPT = Path(__file__).with_name("presets.jsonl")
PANELS = {"chestxray": "ChestX-ray", "chaoyang": "Chaoyang", "imagenet16h": "ImageNet-16H", "cifar10h": "CIFAR-10H"}
RESAMPLES = 4000


@dataclass(frozen=True)
class Sum:
    """One run's figures; cases that settled as a tie of the panel are left out of errors and of what was stated."""

    panel: str
    method: str
    max_error: float
    run: str
    cases: int
    queries: float
    errors: float
    stated: float
    seconds: float


def sums(path: Path) -> list[Sum]:
    """The figures of every run in a comparison's results."""
    found = []
    for text in path.read_text().splitlines():
        line = line_of(text)
        run, plan = run_of_line(line), line.cell.run
        decided = run.truth >= 0
        found.append(
            Sum(
                panel=Path(line.cell.table).stem,
                method=line.cell.options.method,
                max_error=line.cell.options.max_error,
                run=f"{plan.shuffle} {plan.offset}",
                cases=len(run),
                queries=float(run.queries.mean()),
                errors=float(run.error[decided].sum()),
                stated=float(run.stated[decided].sum()),
                seconds=float(line.times["seconds"]),
            )
        )
    return found


def read() -> list[Sum]:
    """The figures that were gathered."""
    return [Sum(**json.loads(text)) for text in KEPT.read_text().splitlines()]


def chosen(found: Iterable[Sum], panel: str, method: str, max_error: float) -> list[Sum]:
    """The runs of a method on a panel at an allowed error, in order."""
    mine = [s for s in found if (s.panel, s.method, s.max_error) == (panel, method, max_error)]
    return sorted(mine, key=lambda s: s.run)


def difference(one: Sequence[Sum], other: Sequence[Sum]) -> tuple[float, float, float]:
    """Mean paired difference of queries over runs, and its 95 % interval by resampled runs."""
    by = {s.run: s.queries for s in other}
    gaps = np.array([s.queries - by[s.run] for s in one if s.run in by])
    picks = np.random.default_rng(0).integers(0, len(gaps), (RESAMPLES, len(gaps)))
    low, high = np.quantile(gaps[picks].mean(axis=1), [0.025, 0.975])
    return float(gaps.mean()), float(low), float(high)


def table(found: Sequence[Sum]) -> str:
    """A row for each panel and allowed error, in Markdown."""
    rows = [
        "| panel | allowed | queries, `quorate` | `paper` | difference (95 %) | floor | errors of `quorate` / stated "
        "| of `paper` / stated |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for panel, title in PANELS.items():
        for max_error in sorted({s.max_error for s in found}, reverse=True):
            ours, theirs = (chosen(found, panel, f"bayes:{name}", max_error) for name in ("quorate", "paper"))
            floor = chosen(found, panel, "hindsight:quorate", max_error)
            if ours and theirs:
                gap, low, high = difference(ours, theirs)
                rows.append(
                    f"| {title} | {max_error:g} | {mean(ours):.2f} | {mean(theirs):.2f} | {gap:+.2f} ({low:+.2f}, "
                    f"{high:+.2f}) | {f'{mean(floor):.2f}' if floor else ''} | {made(ours)} | {made(theirs)} |"
                )
    return "\n".join(rows)


def mean(runs: Sequence[Sum]) -> float:
    """Mean queries a case over runs."""
    return float(np.mean([s.queries for s in runs]))


def made(runs: Sequence[Sum]) -> str:
    """Errors made and stated over runs."""
    return f"{sum(s.errors for s in runs):.0f} of {sum(s.cases for s in runs)} / {sum(s.stated for s in runs):.1f}"


def honesty(found: Sequence[Sum], method: str) -> str:
    """Errors against what was stated, pooled over the panels for each allowed error."""
    lines = []
    for max_error in sorted({s.max_error for s in found}, reverse=True):
        mine = [s for s in found if s.method == method and s.max_error == max_error]
        errors, stated = sum(s.errors for s in mine), sum(s.stated for s in mine)
        lines.append(
            f"{max_error:g}: {errors:.0f} made, {stated:.1f} stated, z {(errors - stated) / math.sqrt(stated):+.1f}"
        )
    return "; ".join(lines)


def curves(found: Sequence[Sum]) -> Drawing:
    """Queries a case by allowed error, a panel in each part."""
    drawing, first = blank(8.2, 5.8)
    first.remove()
    for place, (panel, title) in enumerate(PANELS.items()):
        axes = drawing.add_subplot(2, 2, place + 1)
        for method, colour, mark, label in (
            ("bayes:paper", ACTUAL, "s", "preset paper"),
            ("bayes:quorate", STATED, "o", "preset quorate"),
            ("hindsight:quorate", MUTED, "_", "floor: fitted in hindsight"),
        ):
            levels = sorted({s.max_error for s in found if s.method == method and s.panel == panel})
            if levels:
                runs = [chosen(found, panel, method, level) for level in levels]
                values: Floats = np.array([mean(own) for own in runs])
                spread = np.array([np.std([s.queries for s in own]) / math.sqrt(len(own)) for own in runs])
                style = "--" if method.startswith("hindsight") else "-"
                axes.errorbar(
                    levels, values, 1.96 * spread, color=colour, marker=mark, linestyle=style, label=label, capsize=2
                )
        axes.set_xscale("log")
        axes.set_xticks([0.005, 0.01, 0.025, 0.05], [".005", ".01", ".025", ".05"], fontsize=SMALL, color=INK)
        axes.minorticks_off()
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.set_title(title, fontsize=SMALL + 1, color=INK, loc="left")
        titled(axes, x="allowed error" if place > 1 else "", y="queries a case" if place % 2 == 0 else "")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if place == 0:
            axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    drawing.tight_layout()
    return drawing


def main() -> None:
    """Gather figures, or draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["gather", "draw"])
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.act == "gather":
        found = [s for folder in given.folders for s in sums(folder / "results.jsonl")]
        KEPT.write_text("".join(json.dumps(asdict(s)) + "\n" for s in found))
        return
    found = read()
    (given.folders[0] / "models-presets.png").write_bytes(to_png(curves(found)))
    sys.stdout.write(table(found) + "\n\n")
    for method in ("bayes:quorate", "bayes:paper"):
        sys.stdout.write(f"{method}: {honesty(found, method)}\n")


if __name__ == "__main__":
    main()
