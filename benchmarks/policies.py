"""Whom to ask: choosers, costs, batches and losses on the paper's runs, and what they come to at equal error.

`python -m benchmarks.policies run FOLDER EXPERIMENT...` runs what is missing on the panels of QUORATE_DATA; `gather
FOLDER...` takes the figures of runs out of the results of such folders and of comparisons; `draw DOCS` makes the tables
and plots again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.panels import PAPER_SETS, recorded
from quorate.assembly import PRESETS, Options
from quorate.assurance.runs import TIE
from quorate.cli.progress import progress_bar
from quorate.core.arrays import Floats
from quorate.data.table import Table
from quorate.experiments.cell import Cell, Line, run_of_line
from quorate.experiments.protocol import paper_runs
from quorate.experiments.sweep import open_executor, read_results, sweep
from quorate.reporting.style import to_png

KEPT = Path(__file__).with_name("policies.jsonl")
TITLES = {
    "chestxray": "ChestX-ray",
    "chaoyang": "Chaoyang",
    "imagenet16h": "ImageNet-16H",
    "cifar10h": "CIFAR-10H",
    "sleep5": "sleep, 5 scorers",
    "mammo15": "mammograms, 15 readers",
}
LEVELS = (0.05, 0.025, 0.01, 0.005)
RUNS = 12
DEAR = (1.0, 1.0, 1.0, 1.0, 5.0)
"""What votes of the five radiologists cost where one is dear."""
GRAVE = "1"
"""The outcome that is graver to miss on ChestX-ray: abnormal."""


@dataclass(frozen=True)
class Variant:
    """One way to decide, on some panels."""

    name: str
    options: Options
    panels: tuple[str, ...] = PAPER_SETS
    costs: tuple[float, ...] | None = None
    levels: tuple[float, ...] = LEVELS


def _ours(**changes: object) -> Options:
    return replace(Options(method="bayes:quorate"), **changes)  # type: ignore[arg-type]  # by name


EXPERIMENTS: dict[str, tuple[Variant, ...]] = {
    "choosers": tuple(Variant(name, _ours(chooser=name)) for name in ("entropy", "stop", "lookahead")),
    "paper": tuple(
        Variant(
            f"paper {name}",
            replace(Options(method="bayes:paper"), chooser=name),
            ("chestxray",),
            levels=(0.05, 0.025, 0.01),
        )
        for name in ("entropy", "stop", "lookahead")
    ),
    "others": tuple(
        Variant(name, _ours(chooser=name), ("sleep5", "mammo15"), levels=(0.05, 0.025))
        for name in ("entropy", "stop", "lookahead")
    ),
    "costs": (Variant("lookahead, costs", _ours(chooser="lookahead"), ("chestxray",), DEAR),),
    "batches": (Variant("two at once", _ours(chooser="lookahead", in_flight=2), levels=(0.025, 0.01)),),
    "loss": (
        Variant("loss", _ours(chooser="lookahead", loss={GRAVE: 5.0}), ("chestxray",), levels=(0.1, 0.05, 0.025, 0.01)),
    ),
}


@dataclass(frozen=True)
class Sum:
    """One run's figures; cases whose votes tie are left out of errors and of what was stated."""

    panel: str
    variant: str
    max_error: float
    run: str
    decided: int
    queries: float  # mean over all cases, ties included
    rounds: float
    errors: float
    stated: float
    cost: float | None = None  # mean, with one dear expert; None where the panel has other numbers of experts
    missed: float | None = None  # errors on cases of the graver outcome
    grave: int | None = None  # such cases


def cells(names: Iterable[str]) -> tuple[list[Cell], dict[str, Table]]:
    """All runs of some experiments, and their tables by digest."""
    found, tables = [], dict[str, Table]()
    for variant in (variant for name in names for variant in EXPERIMENTS[name]):
        for table in recorded(variant.panels).values():
            tables[table.digest] = table
            for max_error in variant.levels:
                options = replace(variant.options, max_error=max_error)
                for number, run in enumerate(paper_runs(len(table))):
                    found.append(Cell(table.source, table.digest, options, "consensus", run, number, variant.costs))
    return found, tables


def gathered(lines: Iterable[Line]) -> list[Sum]:
    """The figures of every run of a variant; of a run that is there twice, those of the last."""
    known = {
        (replace(variant.options, max_error=0.0), variant.costs): variant.name
        for variants in EXPERIMENTS.values()
        for variant in variants
    }
    found: dict[tuple[str, str, float, str], Sum] = {}
    for line in lines:
        options = replace(line.cell.options, max_error=0.0, chooser=_chooser(line.cell.options))
        name = known.get((options, line.cell.costs))
        if name is not None:
            one = _sum(line, name)
            found[one.panel, one.variant, one.max_error, one.run] = one
    return [found[key] for key in sorted(found)]


def _chooser(options: Options) -> str:
    return options.chooser or PRESETS[options.method.partition(":")[2]].chooser


def _sum(line: Line, name: str) -> Sum:
    panel, plan = Path(line.cell.table).stem, line.cell.run
    priced = panel == "chestxray"
    run = run_of_line(line, dict(enumerate(DEAR)) if priced else None)
    decided = run.truth != TIE
    grave = run.truth == int(GRAVE)
    return Sum(
        panel=panel,
        variant=name,
        max_error=line.cell.options.max_error,
        run=f"{plan.shuffle} {plan.offset}",
        decided=int(decided.sum()),
        queries=float(run.queries.mean()),
        rounds=float(line.figures.get("mean_rounds", run.queries.mean())),
        errors=float(run.error[decided].sum()),
        stated=float(run.stated[decided].sum()),
        cost=float(run.cost.mean()) if priced else None,
        missed=float(run.error[grave].sum()) if priced else None,
        grave=int(grave.sum()) if priced else None,
    )


Figure = Callable[[Sequence[Sum]], float]
"""A figure of some runs."""


def queries(runs: Sequence[Sum]) -> float:
    """Mean queries a case."""
    return float(np.mean([s.queries for s in runs]))


def rounds(runs: Sequence[Sum]) -> float:
    """Mean rounds a case."""
    return float(np.mean([s.rounds for s in runs]))


def cost(runs: Sequence[Sum]) -> float:
    """Mean cost a case, with one dear expert."""
    return float(np.mean([s.cost for s in runs if s.cost is not None]))


def stated(runs: Sequence[Sum]) -> float:
    """Mean stated error."""
    return sum(s.stated for s in runs) / sum(s.decided for s in runs)


def made(runs: Sequence[Sum]) -> float:
    """Error rate."""
    return sum(s.errors for s in runs) / sum(s.decided for s in runs)


def missed(runs: Sequence[Sum]) -> float:
    """Share of the graver cases that were missed."""
    return sum(s.missed or 0.0 for s in runs) / max(sum(s.grave or 0 for s in runs), 1)


Runs = dict[float, list[Sum]]
"""The runs of one variant on one panel by allowed error, in one order of runs."""


def of(found: Iterable[Sum], panel: str, variant: str) -> Runs:
    """The runs of a variant on a panel, at the allowed errors at which all of them are there."""
    groups: Runs = {}
    for one in found:
        if (one.panel, one.variant) == (panel, variant):
            groups.setdefault(one.max_error, []).append(one)
    return {level: sorted(groups[level], key=lambda s: s.run) for level in sorted(groups) if len(groups[level]) == RUNS}


@dataclass(frozen=True)
class Gap:
    """A difference with half the width of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.mean - self.half:+.3f}, {self.mean + self.half:+.3f})"


def jackknife(figure: Callable[[list[int]], float], runs: int) -> Gap:
    """A figure of some runs and its interval from leaving each of them out."""
    everyone = list(range(runs))
    without = np.array([figure([run for run in everyone if run != out]) for out in everyone])
    spread = math.sqrt((runs - 1) / runs * float(((without - without.mean()) ** 2).sum()))
    return Gap(figure(everyone), float(stats.t.ppf(0.975, runs - 1)) * spread)


LEAST = 1e-5
"""Error rates below this are taken for it: the scale is logarithmic."""


def along(one: Runs, other: Runs, runs: list[int], price: Figure, error: Figure) -> float:
    """Mean difference of what one and the other cost at equal error, over the errors that both reach."""
    curves = []
    for own in (one, other):
        own_runs = [[own[level][run] for run in runs] for level in own]
        errors = np.log(np.maximum([error(some) for some in own_runs], LEAST))
        order = np.argsort(errors, kind="stable")
        curves.append((errors[order], np.array([price(some) for some in own_runs])[order]))
    low, high = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    at: Floats = np.linspace(low, high, 50)
    return float(np.mean(np.interp(at, *curves[0]) - np.interp(at, *curves[1])))


def at_equal_error(one: Runs, other: Runs, price: Figure = queries, error: Figure = stated) -> Gap:
    """That with its interval, runs being paired."""
    shared = {level for level in one if level in other}
    one, other = ({level: own[level] for level in own if level in shared} for own in (one, other))
    return jackknife(lambda runs: along(one, other, runs, price, error), RUNS)


def fewer_missed(one: Runs, other: Runs) -> Gap:
    """Mean difference of the share of graver cases missed at equal queries, over the queries that both reach."""

    def figure(runs: list[int]) -> float:
        curves = []
        for own in (one, other):
            points = [[own[level][run] for run in runs] for level in own]
            curves.append(np.array(sorted((queries(some), missed(some)) for some in points)).T)
        at: Floats = np.linspace(max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves), 50)
        return float(np.mean(np.interp(at, *curves[0]) - np.interp(at, *curves[1])))

    return jackknife(figure, RUNS)


def at_same_level(one: Runs, other: Runs, level: float, price: Figure = queries) -> Gap:
    """Paired difference at one allowed error."""
    return jackknife(
        lambda runs: price([one[level][run] for run in runs]) - price([other[level][run] for run in runs]), RUNS
    )


def mean_gap(gaps: Sequence[Gap]) -> Gap:
    """The mean of independent differences."""
    return Gap(float(np.mean([gap.mean for gap in gaps])), math.sqrt(sum(gap.half**2 for gap in gaps)) / len(gaps))


def told(found: Sequence[Sum], base: str, names: Sequence[str], panels: Sequence[str], price: Figure) -> list[str]:
    """Variants against another on each panel, in Markdown."""
    rows = [
        f"| panel | | at .05 | .025 | .01 | .005 | against {base} at .01 | at equal stated error "
        "| at equal error made | errors made / stated, by allowed error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    overall: dict[str, list[tuple[Gap, Gap]]] = {}
    for panel in panels:
        other = of(found, panel, base)
        for name in (base, *names):
            own = of(found, panel, name)
            if not own:
                continue
            values = " | ".join(f"{price(own[level]):.3f}" if level in own else "" for level in LEVELS)
            errors = ", ".join(
                f"{sum(s.errors for s in own[level]):.0f}/{sum(s.stated for s in own[level]):.0f}"
                for level in LEVELS
                if level in own
            )
            against = " | |"
            if name != base and other:
                equal = at_equal_error(own, other, price), at_equal_error(own, other, price, made)
                overall.setdefault(name, []).append(equal)
                against = f"{at_same_level(own, other, 0.01, price)} | {equal[0]} | {equal[1]}"
            rows.append(f"| {TITLES[panel]} | {name} | {values} | {against} | {errors} |")
    for name, gaps in overall.items():
        one, two = (mean_gap([pair[place] for pair in gaps]) for place in (0, 1))
        rows.append(f"| mean of {len(gaps)} | {name} | | | | | | {one} | {two} | |")
    return rows


def crossed(found: Sequence[Sum], names: Sequence[str]) -> str:
    """Which chooser is best on all other panels, and what it brings on the one left out."""
    gaps = {
        panel: {
            name: at_equal_error(of(found, panel, name), of(found, panel, names[0])).mean if name != names[0] else 0.0
            for name in names
        }
        for panel in PAPER_SETS
    }
    rows = ["| left out | best on the others | difference on the one left out |", "|---|---|---|"]
    for panel in PAPER_SETS:
        rest = {name: float(np.mean([gaps[other][name] for other in PAPER_SETS if other != panel])) for name in names}
        best = min(rest, key=lambda name: rest[name])
        rows.append(f"| {TITLES[panel]} | {best} ({rest[best]:+.3f}) | {gaps[panel][best]:+.3f} |")
    return "\n".join(rows)


def batches(found: Sequence[Sum]) -> list[str]:
    """Two at once against one at a time."""
    rows = [
        "| panel | allowed | queries, one / two at once | difference | rounds, one / two at once | share "
        "| queries at equal stated error | rounds at equal stated error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for panel in PAPER_SETS:
        one, two = of(found, panel, "lookahead"), of(found, panel, "two at once")
        for level in two:
            equal = "|"
            if level == 0.01:
                equal = f"{at_equal_error(two, one)} | {at_equal_error(two, one, rounds)}"
            rows.append(
                f"| {TITLES[panel]} | {level:g} | {queries(one[level]):.2f} / {queries(two[level]):.2f} "
                f"| {at_same_level(two, one, level)} | {rounds(one[level]):.2f} / {rounds(two[level]):.2f} "
                f"| {rounds(two[level]) / rounds(one[level]):.2f} | {equal} |"
            )
    return rows


def grave(found: Sequence[Sum]) -> list[str]:
    """An outcome five times as grave against all alike, on ChestX-ray."""
    rows = ["| | allowed | queries | abnormal missed | errors in all |", "|---|---|---|---|---|"]
    for name in ("lookahead", "loss"):
        for level, runs in of(found, "chestxray", name).items():
            lost, cases = sum(s.missed or 0 for s in runs), sum(s.grave or 0 for s in runs)
            errors = sum(s.errors for s in runs)
            rows.append(f"| {name} | {level:g} | {queries(runs):.2f} | {lost:.0f} of {cases} | {errors:.0f} |")
    gap = fewer_missed(of(found, "chestxray", "loss"), of(found, "chestxray", "lookahead"))
    return [*rows, "", f"share of abnormal cases missed, at equal queries: {gap}"]


def report(found: Sequence[Sum]) -> Iterator[str]:
    """Everything in Markdown."""
    names = ["entropy", "stop", "lookahead"]
    yield from told(found, names[0], names[1:], PAPER_SETS, queries)
    yield crossed(found, names)
    for base, others, panels in (
        ("paper entropy", ["paper stop", "paper lookahead"], ("chestxray",)),
        (names[0], names[1:], ("sleep5", "mammo15")),
    ):
        if any(one.variant == others[-1] and one.panel in panels for one in found):
            yield from ("", *told(found, base, others, panels, queries))
    yield from ("", *told(found, "lookahead", ["lookahead, costs"], ("chestxray",), cost))
    yield from ("", *batches(found), "", *grave(found))


def main() -> None:
    """Run, gather or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["run", "gather", "draw"])
    parser.add_argument("words", nargs="+")
    given = parser.parse_args()
    if given.act == "run":
        folder, *names = given.words
        wanted, tables = cells(names or EXPERIMENTS)
        with open_executor() as executor, progress_bar("running", quiet=False) as progress:
            done = sweep(wanted, tables, results=Path(folder) / "results.jsonl", executor=executor, progress=progress)
        sys.stdout.write("".join(f"{failure.reason}\n" for failure in done.failures))
        return
    if given.act == "gather":
        lines = [line for folder in given.words for line in read_results(Path(folder) / "results.jsonl").values()]
        KEPT.write_text("".join(json.dumps(asdict(s)) + "\n" for s in gathered(lines)))
        return
    found = [Sum(**json.loads(text)) for text in KEPT.read_text().splitlines()]
    from benchmarks import policy_plots

    folder = Path(given.words[0])
    for name, drawing in policy_plots.drawings(found).items():
        (folder / f"decisions-{name}.png").write_bytes(to_png(drawing))
    sys.stdout.write("\n".join(report(found)) + "\n")


if __name__ == "__main__":
    main()
