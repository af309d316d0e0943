"""Whom to ask: choosers, costs, batches and losses on the paper's runs, and what they come to at equal error.

`python -m benchmarks.policies run FOLDER EXPERIMENT...` runs what is missing on the panels of QUORATE_DATA; `gather
FOLDER...` takes the figures of runs out of the results of such folders and of comparisons; `draw DOCS` makes the tables
and plots again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.paired import (
    Figure,
    Gap,
    Sum,
    at_equal_error,
    at_same_level,
    cost,
    fewer_missed,
    made,
    mean_gap,
    of,
    queries,
    rounds,
)
from benchmarks.panels import PAPER_SETS, recorded
from quorate.assembly import PRESETS, Options
from quorate.assurance.runs import TIE
from quorate.cli.progress import progress_bar
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
