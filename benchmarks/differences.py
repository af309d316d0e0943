"""Why preset paper and the paper differ: one thing at a time made as the authors' program has it, on the paper's runs.

`python -m benchmarks.differences run FOLDER VARIANT... [--panels] [--levels] [--runs]` runs what is missing on the
panels of QUORATE_DATA, one run at a time; `gather FOLDER...` takes the figures of the runs of such folders; `table`
makes the tables of them again; `rows` tells how much hangs on single rows, by the runs kept in docs/results.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.altered import EXACT, UNCLIPPED, VARIANTS, Altered, floored
from benchmarks.panels import recorded
from quorate.assembly import Options, plan, read_target
from quorate.assurance.runs import TIE
from quorate.core.arrays import Floats
from quorate.core.decision import Query, Settle
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.experiments.cell import rows_of
from quorate.experiments.hindsight import everything
from quorate.experiments.kept import read_kept as read_lines
from quorate.experiments.protocol import RunPlan, paper_runs
from quorate.experiments.series import Series, Work
from quorate.experiments.sweep import results_file
from quorate.policy.stopping import ErrorBelow
from quorate.reporting.paper_facts import THEIRS
from quorate.study.study import Study

KEPT = Path(__file__).with_name("differences.jsonl")
RESULTS = Path(__file__).parents[1] / "docs" / "results"
CASES = {"chaoyang": 750, "chestxray": 810}
PANELS = tuple(CASES)
LEVELS = (0.01, 0.05)
SHORT = (("chaoyang", 0.01), ("chaoyang", 0.05), ("chestxray", 0.01))


@dataclass(frozen=True)
class Run:
    """One finished run: numbers a case, no votes."""

    panel: str
    variant: str
    max_error: float
    run: str
    rows: list[int]
    queries: list[int]
    errors: list[float]
    stated: list[float]
    rhat: list[float]  # of each fit
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, float, str]:
        """What tells it from others."""
        return self.panel, self.variant, self.max_error, self.run


def named(run: RunPlan) -> str:
    """A run as results call it."""
    return f"{run.shuffle} {run.offset}"


def walked(table: Table, name: str, max_error: float, run: RunPlan, number: int) -> Run:
    """One run of a variant: each case is asked about until it settles, and held against all its votes."""
    variant, started = VARIANTS[name], time.perf_counter()
    given = floored(table) if variant.one_sided else table
    settings = Settings(clip=UNCLIPPED) if variant.one_sided else Settings()
    free = everything(given).cases[rows_of(replace(run, offset=0, limit=1), len(table))[0]]
    learner = Altered(variant, settings, (replace(free, key="free"),) if variant.free_row else ())
    aim = read_target("consensus", given.panel)
    method = plan(given.panel, Options("bayes:paper", max_error=max_error, settings=settings), aim).method
    stopper = method.stopper if variant.gated else ErrorBelow(max_error, noise=None)
    study = Study(given.panel, target=aim, method=replace(method, learner=learner, stopper=stopper), seed=number)
    rows = rows_of(run, len(table))
    queries, errors, stated, rhats = [], [], [], []
    for done, row in enumerate(rows, start=1):
        step = _settled(study, given, row)
        shares = aim.weights(given.votes[row])
        leaders = [aim.outcomes.index(outcome) for outcome in step.forecast.leaders]
        queries.append(step.human_votes)
        errors.append(float(1 - shares[leaders].mean()))
        stated.append(float(f"{step.forecast.error:.6g}"))
        job = study.due() if done < len(rows) else None
        if job is not None:
            study.adopt(job, job.run())
            rhats.append(round(study.predictor.health.rhat or math.nan, 4))
    seconds = time.perf_counter() - started
    return Run(Path(table.source).stem, name, max_error, named(run), rows, queries, errors, stated, rhats, seconds)


def _settled(study: Study, table: Table, row: int) -> Settle:
    panel, case = table.panel, table.case(row)
    there = [name for name, present in zip(panel.experts, case.available, strict=True) if present]
    study.open(case.key, dict(zip(panel.classifiers, case.probabilities, strict=True)), available=there)
    while True:
        step = study.ask(case.key)
        if isinstance(step, Settle):
            study.settle(case.key)
            return step
        if isinstance(step, Query):
            study.tell(case.key, step.expert, panel.classes[table.votes[row, panel.expert(step.expert)]])


def read_runs(path: Path) -> list[Run]:
    """Finished runs; a last line cut short by a kill is passed over."""
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0] if path.exists() else ""
    return [Run(**json.loads(line)) for line in whole.splitlines()]


def run_missing(
    folder: Path, names: Sequence[str], panels: Sequence[str], levels: Sequence[float], runs: Sequence[int]
) -> None:
    """Run what has no line yet: every variant on the first run, then on the next."""
    path, tables = folder / "runs.jsonl", recorded(tuple(panels))
    done = {one.key for one in read_runs(path)}
    with results_file(path) as keep:
        for number in runs:
            for panel, table in tables.items():
                for name in names:
                    for level in levels:
                        plan_ = paper_runs(len(table))[number]
                        if (panel, name, level, named(plan_)) in done:
                            continue
                        one = walked(table, name, level, plan_, number)
                        keep(json.dumps(asdict(one)))
                        told = f"{np.mean(one.queries):.3f} queries, {sum(one.errors):g} errors, {one.seconds:.0f} s"
                        print(f"{panel} {level:g} run {number} {name}: {told}", flush=True)


@dataclass(frozen=True)
class Sum:
    """One run's figures; no votes of these panels tie."""

    panel: str
    variant: str
    max_error: float
    run: str
    decided: int
    queries: float
    errors: float
    stated: float
    first_50: float
    last_50: float
    rhat: float | None  # median over the fits
    wrong: tuple[int, ...] | list[int]  # rows of the table that were decided wrongly


def summed(one: Run) -> Sum:
    """The figures of a run."""
    rhats = [value for value in one.rhat if not math.isnan(value)]
    return Sum(
        one.panel,
        one.variant,
        one.max_error,
        one.run,
        decided=len(one.rows),
        queries=float(np.mean(one.queries)),
        errors=float(sum(one.errors)),
        stated=float(f"{sum(one.stated):.6g}"),
        first_50=float(np.mean(one.queries[:50])),
        last_50=float(np.mean(one.queries[-50:])),
        rhat=float(np.median(rhats)) if rhats else None,
        wrong=tuple(sorted(row for row, error in zip(one.rows, one.errors, strict=True) if error > 0)),
    )


def all_runs(folders: Iterable[Path]) -> list[Run]:
    """The runs of all folders, each once."""
    found = {one.key: one for folder in folders for one in read_runs(folder / "runs.jsonl")}
    return [found[key] for key in sorted(found)]


def read_kept() -> list[Sum]:
    """The figures that are kept."""
    return [Sum(**json.loads(text)) for text in KEPT.read_text(encoding="utf-8").splitlines()]


def chosen(found: Iterable[Sum], panel: str, variant: str, level: float) -> dict[str, Sum]:
    """The runs of a variant on a panel at an allowed error, by name."""
    return {one.run: one for one in found if (one.panel, one.variant, one.max_error) == (panel, variant, level)}


@dataclass(frozen=True)
class Gap:
    """Mean paired difference and its standard error over runs."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.error:.2f}" if math.isfinite(self.error) else f"{self.mean:+.2f}"


def difference(one: dict[str, Sum], other: dict[str, Sum], figure: str = "queries") -> Gap | None:
    """What one asks more than the other on the runs that both have."""
    gaps = [getattr(one[run], figure) - getattr(other[run], figure) for run in sorted(one) if run in other]
    if not gaps:
        return None
    return Gap(float(np.mean(gaps)), float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.nan)


def told(found: Sequence[Sum], panel: str, level: float) -> Iterator[str]:
    """Every variant on a panel at an allowed error against the unchanged preset on the same runs, in Markdown."""
    yield "| variant | runs | queries | against exact | first 50 | last 50 | errors | stated | R-hat |"
    yield "|---|---|---|---|---|---|---|---|---|"
    exact = chosen(found, panel, EXACT, level)
    for name in VARIANTS:
        own = chosen(found, panel, name, level)
        if not own:
            continue
        runs = list(own.values())
        gaps = [difference(own, exact, part) if name != EXACT else None for part in ("queries", "first_50", "last_50")]
        early, late = (
            f"{_mean(runs, part):.2f}{f' ({gap})' if gap else ''}"
            for part, gap in zip(("first_50", "last_50"), gaps[1:], strict=True)
        )
        rhats = [one.rhat for one in runs if one.rhat is not None]
        yield (
            f"| {name} | {len(runs)} | {_mean(runs, 'queries'):.2f} | {gaps[0] or ''} | {early} | {late} "
            f"| {sum(one.errors for one in runs):g} of {sum(one.decided for one in runs)} "
            f"| {sum(one.stated for one in runs):.1f} | {f'{np.mean(rhats):.2f}' if rhats else ''} |"
        )


def resampled(levels: Sequence[Sequence[Run]], cases: int, tables: int = 20_000) -> Floats:
    """The fewest mean queries without an error over some allowed errors, were the rows others: (tables,).

    The rows are drawn anew with replacement, and each is asked about and decided as it was.
    """
    drawn = np.random.default_rng(0).multinomial(cases, np.full(cases, 1 / cases), size=tables)
    fewest: Floats = np.full(tables, np.inf)
    for runs in levels:
        times, queries, errors = np.zeros((3, cases))
        for one in runs:
            for total, each in ((times, np.ones(len(one.rows))), (queries, one.queries), (errors, one.errors)):
                np.add.at(total, one.rows, each)
        mean = (drawn @ queries) / (drawn @ times)
        fewest = np.where(drawn @ errors == 0, np.minimum(fewest, mean), fewest)
    return fewest


def in_short(found: Sequence[Sum], columns: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Every variant by panel and allowed error: queries, difference, first and last 50, errors, runs; in Markdown."""
    yield "| | " + " | ".join(f"{panel}, {level:g}" for panel, level in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for name in VARIANTS:
        cells = [_cell(found, panel, name, level) for panel, level in columns]
        if any(cells):
            yield f"| {name} | {' | '.join(cells)} |"


def _cell(found: Sequence[Sum], panel: str, name: str, level: float) -> str:
    own = chosen(found, panel, name, level)
    if not own:
        return ""
    runs = list(own.values())
    gap = "" if name == EXACT else f" ({difference(own, chosen(found, panel, EXACT, level))})"
    early, late = (f"{_mean(runs, part):.2f}" for part in ("first_50", "last_50"))
    wrong = f"{sum(one.errors for one in runs):g} of {sum(one.decided for one in runs)} wrong"
    return f"{_mean(runs, 'queries'):.2f}{gap}; {early}, {late}; {wrong}"


def cheapest_clean(levels: Sequence[Sequence[Sum]], cases: int, tables: int = 20_000) -> list[float]:
    """How often each allowed error is the one of fewest queries without an error, were the rows of a table others.

    The rows are drawn anew with replacement, and each is asked about and decided as it was. The last figure is the
    share of tables in which no allowed error is without one.
    """
    order = sorted(range(len(levels)), key=lambda place: _mean(levels[place], "queries"))
    wrong = sorted({row for runs in levels for one in runs for row in one.wrong})
    chances = [1 / cases] * len(wrong)
    drawn = np.random.default_rng(0).multinomial(cases, [*chances, 1 - sum(chances)], size=tables)[:, :-1] > 0
    shares, left = [0.0] * len(levels), np.ones(tables, dtype=bool)
    for place in order:
        rows = [wrong.index(row) for row in sorted({row for one in levels[place] for row in one.wrong})]
        clean = left & ~drawn[:, rows].any(axis=1)
        shares[place] = float(clean.mean())
        left &= ~clean
    return [*shares, float(left.mean())]


def _mean(runs: Sequence[Sum], figure: str) -> float:
    return float(np.mean([getattr(one, figure) for one in runs]))


def rows_that_decide(found: Sequence[Sum], panel: str) -> Iterator[str]:
    """What no error costs with the unchanged preset, and how much hangs on single rows, in Markdown."""
    yield "| allowed | runs | queries | without error | fewest queries of those | rows wrong | cheapest without error |"
    yield "|---|---|---|---|---|---|---|"
    allowed = sorted({one.max_error for one in found if (one.panel, one.variant) == (panel, EXACT)})
    levels = [list(chosen(found, panel, EXACT, level).values()) for level in allowed]
    for level, runs, share in zip(allowed, levels, cheapest_clean(levels, CASES[panel]), strict=False):
        clean = [one.queries for one in runs if not one.wrong]
        rows = {row for one in runs for row in one.wrong}
        yield (
            f"| {level:g} | {len(runs)} | {_mean(runs, 'queries'):.2f} | {len(clean)} "
            f"| {f'{min(clean):.2f}' if clean else ''} | {len(rows)} | {share:.1%} |"
        )


def report(found: Sequence[Sum]) -> Iterator[str]:
    """All tables."""
    yield from in_short(found, SHORT)
    for panel in PANELS:
        for level in sorted({one.max_error for one in found if one.panel == panel}):
            yield from ("", f"{panel}, {level:g}", "", *told(found, panel, level))


def unchanged(kept: Path = RESULTS) -> list[Run]:
    """The runs of the unchanged preset that the project keeps, at every allowed error."""
    subjects, lines = read_lines(kept)
    work = Work(subjects, lines=lines)
    return [
        Run(
            panel,
            EXACT,
            level,
            str(number),
            rows=run.rows.tolist(),
            queries=run.queries.tolist(),
            errors=np.where(run.truth == TIE, 0.0, run.error).tolist(),
            stated=run.stated.tolist(),
            rhat=[],
        )
        for panel in PANELS
        for level in work.max_errors
        for number, run in enumerate(work.runs_of(Series.of(panel, THEIRS, level)))
    ]


def on_rows(runs: Sequence[Run]) -> Iterator[str]:
    """How much hangs on single rows."""
    for panel, cases in CASES.items():
        own = [one for one in runs if one.panel == panel]
        levels = [[one for one in own if one.max_error == level] for level in sorted({one.max_error for one in own})]
        shown = np.quantile(resampled(levels, cases), [0.0, 0.05, 0.5, 0.95], method="lower").round(3).tolist()
        yield from ("", panel, "", *rows_that_decide([summed(one) for one in own], panel))
        yield from ("", f"queries without an error: least, 5, 50 and 95 % of tables: {shown}")


def main() -> None:
    """Run, gather or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=["run", "gather", "table", "rows"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--panels", nargs="+", default=list(PANELS))
    parser.add_argument("--levels", nargs="+", type=float, default=list(LEVELS))
    parser.add_argument("--runs", nargs="+", type=int, default=[0, 1, 2, 3])
    given = parser.parse_args()
    if given.act == "run":
        folder, *names = given.words
        run_missing(Path(folder), names or list(VARIANTS), given.panels, given.levels, given.runs)
    elif given.act == "gather":
        runs = all_runs(Path(word) for word in given.words)
        KEPT.write_text("".join(json.dumps(asdict(summed(one))) + "\n" for one in runs), encoding="utf-8")
    elif given.act == "rows":
        sys.stdout.write("\n".join(on_rows(unchanged())) + "\n")
    else:
        sys.stdout.write("\n".join(report(read_kept())) + "\n")


if __name__ == "__main__":
    main()
