"""Preset quorate against preset paper on the paper's runs: what was asked, what was stated and what went wrong.

`python -m benchmarks.presets gather FOLDER...` takes the figures of runs out of `results.jsonl` of comparisons, of all
folders anew each time; `python -m benchmarks.presets draw DOCS` makes the table, the plot and the checks of them again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Drawing
from scipy import special, stats

from quorate.assurance.runs import TIE
from quorate.core.arrays import Floats
from quorate.experiments.cell import Line, run_of_line
from quorate.experiments.sweep import read_results
from quorate.reporting.style import ACTUAL, INK, MUTED, RULE, SMALL, STATED, blank, titled, to_png

KEPT = Path(__file__).with_name("presets.jsonl")
PANELS = {"chestxray": "ChestX-ray", "chaoyang": "Chaoyang", "imagenet16h": "ImageNet-16H", "cifar10h": "CIFAR-10H"}
RUNS = 12
"""The paper's runs of a panel; where there are fewer, it is said."""
OURS, THEIRS, FLOOR = "bayes:quorate", "bayes:paper", "hindsight:quorate"


@dataclass(frozen=True)
class Sum:
    """One run's figures; cases whose votes tie are left out of errors and of what was stated.

    A case comes in several runs of a panel: in `distinct` each run counts its share of it, so that the sum over all
    runs is the number of distinct cases that were decided, and that of `distinct_errors` the sum of their mean errors.
    """

    panel: str
    method: str
    max_error: float
    run: str
    decided: int
    queries: float  # mean over all cases, ties included
    errors: float
    stated: float
    distinct: float
    distinct_errors: float
    seconds: float


def gathered(lines: Iterable[Line]) -> list[Sum]:
    """The figures of every run; of a run that is there twice, those of the last."""
    groups: dict[tuple[str, str, float], dict[str, Line]] = {}
    for line in lines:
        options, plan = line.cell.options, line.cell.run
        group = groups.setdefault((Path(line.cell.table).stem, options.method, options.max_error), {})
        group[f"{plan.shuffle} {plan.offset}"] = line
    return [one for key, group in groups.items() for one in _sums(key, group)]


def _sums(key: tuple[str, str, float], lines: dict[str, Line]) -> list[Sum]:
    times = Counter(row for line in lines.values() for row in line.cases["rows"])
    found = []
    for name, line in sorted(lines.items()):
        run = run_of_line(line)
        decided = run.truth != TIE
        share = np.array([1.0 / times[row] for row in run.rows.tolist()])[decided]
        error = run.error[decided]
        found.append(
            Sum(
                *key,
                run=name,
                decided=int(decided.sum()),
                queries=float(run.queries.mean()),
                errors=float(error.sum()),
                stated=float(run.stated[decided].sum()),
                distinct=float(share.sum()),
                distinct_errors=float(share @ error),
                seconds=float(line.times["seconds"]),
            )
        )
    return found


def chosen(found: Iterable[Sum], panel: str, method: str, max_error: float) -> list[Sum]:
    """The runs of a method on a panel at an allowed error."""
    return [s for s in found if (s.panel, s.method, s.max_error) == (panel, method, max_error)]


def levels(found: Iterable[Sum]) -> list[float]:
    """The allowed errors, largest first."""
    return sorted({s.max_error for s in found}, reverse=True)


@dataclass(frozen=True)
class Gap:
    """Mean paired difference of queries, half the width of its 95 % interval, and the number of pairs of runs."""

    mean: float
    half: float
    pairs: int

    def __str__(self) -> str:
        some = "" if self.pairs == RUNS else f", {self.pairs} pairs of runs"
        return f"{self.mean:+.2f} ({self.mean - self.half:+.2f}, {self.mean + self.half:+.2f}){some}"


def difference(one: Sequence[Sum], other: Sequence[Sum]) -> Gap:
    """Paired difference of queries with a t interval over runs, each of which is a path of learning of its own.

    A shuffle is one of the whole table: blocks of two orders share cases (a third of them on a table of 750), blocks of
    one order none, so that the blocks at one offset are no unit. What differs between runs is mostly the path: with
    clusters by case as well as by run the standard error at .01 is the same within a tenth on every panel.
    """
    by = {s.run: s.queries for s in other}
    gaps = np.array([s.queries - by[s.run] for s in one if s.run in by])
    if len(gaps) < 2:
        return Gap(float(gaps.mean()) if len(gaps) else math.nan, math.inf, len(gaps))
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / math.sqrt(len(gaps))
    return Gap(float(gaps.mean()), float(half), len(gaps))


def lower_bound(runs: Sequence[Sum]) -> float:
    """Clopper-Pearson 95 % lower bound of the error rate, as if every distinct case had been decided once.

    Its errors are then the sum of the cases' mean errors, which need not be whole.
    """
    errors, cases = sum(s.distinct_errors for s in runs), sum(s.distinct for s in runs)
    return float(special.betaincinv(errors, cases - errors + 1.0, 0.05)) if errors > 0 else 0.0


def table(found: Sequence[Sum]) -> str:
    """A row for each panel and allowed error, in Markdown."""
    rows = [
        "| panel | allowed | queries, `quorate` | `paper` | difference (95 %) | in hindsight "
        "| errors of `quorate` / stated | rate (at least, 95 %) | errors of `paper` / stated |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for panel, title in PANELS.items():
        for max_error in levels(found):
            ours, theirs, floor = (chosen(found, panel, method, max_error) for method in (OURS, THEIRS, FLOOR))
            if ours and theirs:
                rows.append(
                    f"| {title} | {max_error:g} | {queries(ours)} | {queries(theirs)} | {difference(ours, theirs)} "
                    f"| {queries(floor)} | {made(ours)} | {rate(ours)} | {made(theirs)} |"
                )
    return "\n".join(rows)


def mean(runs: Sequence[Sum]) -> float:
    """Mean queries a case over runs."""
    return float(np.mean([s.queries for s in runs]))


def queries(runs: Sequence[Sum]) -> str:
    """The same in words, with the number of runs where it is not the paper's."""
    some = "" if len(runs) == RUNS else f" ({len(runs)} runs)"
    return f"{mean(runs):.2f}{some}" if runs else ""


def made(runs: Sequence[Sum]) -> str:
    """Errors made and stated over runs, of the cases that were decided."""
    return f"{sum(s.errors for s in runs):.0f} of {sum(s.decided for s in runs)} / {sum(s.stated for s in runs):.1f}"


def rate(runs: Sequence[Sum]) -> str:
    """The realised error rate and its lower bound."""
    return f"{sum(s.errors for s in runs) / sum(s.decided for s in runs):.2%} ({lower_bound(runs):.2%})"


def checks(found: Sequence[Sum]) -> list[str]:
    """Whether promises were kept, a line each.

    z is that of errors which a case makes in all its runs or in none.
    """
    lines = []
    for method in (OURS, THEIRS):
        for max_error in levels(s for s in found if s.method == method):
            by_panel = {panel: chosen(found, panel, method, max_error) for panel in PANELS}
            mine = [s for runs in by_panel.values() for s in runs]
            errors, stated = sum(s.errors for s in mine), sum(s.stated for s in mine)
            often = sum(s.decided for s in mine) / sum(s.distinct for s in mine)
            z = (errors - stated) / math.sqrt(often * stated)
            above = [PANELS[panel] for panel, runs in by_panel.items() if lower_bound(runs) > max_error]
            lines.append(
                f"{method} at {max_error:g}: {errors:.0f} errors made, {stated:.1f} stated, z {z:+.1f}; "
                f"error surely above what is allowed: {', '.join(above) or 'on no panel'}"
            )
    gaps = [difference(chosen(found, panel, OURS, 0.01), chosen(found, panel, THEIRS, 0.01)) for panel in PANELS]
    half = math.sqrt(sum(gap.half**2 for gap in gaps)) / len(gaps)
    mean_gap = Gap(float(np.mean([gap.mean for gap in gaps])), half, min(gap.pairs for gap in gaps))
    return [*lines, f"mean difference of queries over the {len(gaps)} panels at .01: {mean_gap}"]


def curves(found: Sequence[Sum]) -> Drawing:
    """Queries a case by allowed error, a panel in each part."""
    drawing, first = blank(8.2, 5.8)
    first.remove()
    for place, (panel, title) in enumerate(PANELS.items()):
        axes = drawing.add_subplot(2, 2, place + 1)
        for method, colour, mark, label in (
            (THEIRS, ACTUAL, "s", "preset paper"),
            (OURS, STATED, "o", "preset quorate"),
            (FLOOR, MUTED, "_", "fitted in hindsight"),
        ):
            allowed = levels(s for s in found if s.method == method and s.panel == panel)
            if allowed:
                runs = [chosen(found, panel, method, level) for level in allowed]
                values: Floats = np.array([mean(own) for own in runs])
                spread = np.array([np.std([s.queries for s in own]) / math.sqrt(len(own)) for own in runs])
                style = "--" if method == FLOOR else "-"
                axes.errorbar(
                    allowed, values, 1.96 * spread, color=colour, marker=mark, linestyle=style, label=label, capsize=2
                )
        axes.set_xscale("log")
        axes.set_xticks([0.005, 0.01, 0.025, 0.05], [".005", ".01", ".025", ".05"], fontsize=SMALL, color=INK)
        axes.minorticks_off()
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        titled(axes, x="allowed error" if place > 1 else "", y=f"{title}: queries a case")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if place == 0:
            axes.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    return drawing


def main() -> None:
    """Gather figures, or draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["gather", "draw"])
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.act == "gather":
        lines = [line for folder in given.folders for line in read_results(folder / "results.jsonl").values()]
        KEPT.write_text("".join(json.dumps(asdict(s)) + "\n" for s in gathered(lines)))
        return
    found = [Sum(**json.loads(text)) for text in KEPT.read_text().splitlines()]
    (given.folders[0] / "models-presets.png").write_bytes(to_png(curves(found)))
    sys.stdout.write("\n".join([table(found), "", *checks(found), ""]))


if __name__ == "__main__":
    main()
