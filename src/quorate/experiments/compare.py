"""Which method would have saved most on these votes: error-cost curves of all of them, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from quorate.assembly import PRESETS, Options, plan, read_target, with_shared
from quorate.assurance import bootstrap
from quorate.assurance.bootstrap import Figure, Interval, Rows, area_under, resampled_rows, saved_share_of
from quorate.assurance.calibration import reliability
from quorate.assurance.runs import TIE, Run
from quorate.assurance.summary import exact_interval
from quorate.core.arrays import Floats
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.data.table import Table
from quorate.errors import SettingsError
from quorate.experiments.cell import Cell, Line, run_of_line
from quorate.experiments.hindsight import as_method, in_hindsight
from quorate.experiments.protocol import paper_runs
from quorate.experiments.sweep import Failure, Progress, sweep
from quorate.policy.choosers import WEIGHING
from quorate.reporting.comparison import Comparison, Curve, Difference, Point, Recommendation
from quorate.reporting.comparison_wording import share
from quorate.study.seeds import generator

MAX_ERRORS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
EDGE = 50


def default_methods(panel: Panel) -> tuple[str, ...]:
    """Every method there is, for a panel."""
    majorities = tuple(f"majority:{n}" for n in range(1, len(panel.experts)))
    return (
        *(f"bayes:{preset}" for preset in PRESETS),
        "infexp",
        "confusion",
        *majorities,
        "until-determined",
        "all",
        "classifier",
    )


@dataclass(frozen=True)
class Request:
    """What is compared, and how."""

    methods: tuple[str, ...]
    max_errors: tuple[float, ...] = MAX_ERRORS
    runs: int | None = None  # of the protocol's 12
    target: str = "consensus"
    costs: Mapping[str, float] | None = None
    options: Options = field(default_factory=Options)  # what the model's methods share; others take none of it
    seed: int = 0


def compare(
    table: Table,
    request: Request,
    *,
    results: Path,
    executor: Executor,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method at every allowed error on the protocol's runs, and hold them against each other."""
    table = table if request.costs is None else table.priced(request.costs)
    target = read_target(request.target, table.panel)
    cells = _cells(table, request, target)
    done = sweep(cells, {table.digest: table}, results=results, executor=executor, progress=progress)
    return comparison_of(table, request, target, done.lines, done.failures)


def _cells(table: Table, request: Request, target: Target) -> list[Cell]:
    """Every run of every method; one that does not stop by its stated error runs once, whatever error is allowed."""
    if not request.methods:
        raise SettingsError("no method to compare; expected at least one")
    cells = []
    for method in dict.fromkeys(request.methods):
        for max_error in dict.fromkeys(sorted(request.max_errors)):
            options = options_of(method, max_error, request.options)
            chosen = plan(table.panel, as_method(options), target)
            if chosen.max_error is None:
                options = replace(options, max_error=Options().max_error)
            # Where costs steer nothing, a run serves whatever they are.
            steered = table.panel.prices is not None and chosen.chooser in WEIGHING and not request.options.cost_blind
            options, costs = replace(options, cost_blind=False), table.panel.costs if steered else None
            for number, run in enumerate(paper_runs(len(table), request.runs)):
                # what is fitted in hindsight knows the whole table, whatever the run: one fit serves all of them
                seed = request.seed * 1000 + (0 if in_hindsight(method) else number)
                cells.append(Cell(table.source, table.digest, options, request.target, run, seed, costs))
    if request.options.settings is not None and all(cell.options.settings is None for cell in cells):
        raise SettingsError("the settings given are of a model that none of the methods has; name a method that has it")
    return list(dict.fromkeys(cells))


def options_of(method: str, max_error: float, shared: Options) -> Options:
    """The options of a method at an allowed error; those that are shared go to the model's methods alone."""
    options = Options(method=method, max_error=max_error)
    if _kind(method) == "model":
        return with_shared(options, shared)
    if _kind(method) == "floor":
        return replace(with_shared(as_method(options), shared), method=method, schedule=None, window=None)
    return options


def comparison_of(
    table: Table,
    request: Request,
    target: Target,
    lines: Sequence[Line],
    failures: Sequence[Failure],
) -> Comparison:
    """The comparison that finished cells give."""
    panel = table.panel
    by_index = dict(enumerate(panel.costs))
    groups: dict[tuple[str, float | None], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.cell.options.method, line.figures["max_error"]), []).append(line)
    runs = {key: [run_of_line(line, by_index) for line in group] for key, group in groups.items()}
    everything = [run for group in runs.values() for run in group]
    if not everything:
        raise SettingsError(f"no cell of the comparison worked; the first failure: {failures[0].reason}")
    rows = resampled_rows(generator(request.seed, "bootstrap"), everything)
    there = (table.votes >= 0).astype(np.float64)
    panel_costs = there @ np.array(panel.costs)  # (N,) of asking everyone about a case
    walked = rows.ids
    points = {key: _point(key[1], groups[key], runs[key], rows, panel, target.outcomes, panel_costs) for key in groups}
    curves = _curves(points)
    return Comparison(
        table=table.source,
        cases=len(table),
        run_length=max(len(run) for run in everything),
        runs=max(point.runs for point in points.values()),
        target=request.target,
        experts=panel.experts,
        outcomes=target.outcomes,
        costs=dict(zip(panel.experts, panel.costs, strict=True)),
        panel_cost=float(panel_costs[walked].mean()),
        panel_queries=float(there[walked].sum(axis=1).mean()),
        curves=curves,
        differences=_differences(runs, rows),
        recommendations=tuple(
            _recommend(e, curves, float(there[walked].sum(axis=1).mean())) for e in sorted(set(request.max_errors))
        ),
        failures=tuple(
            f"{failure.cell.options.method} at {failure.cell.options.max_error:g}, offset {failure.cell.run.offset}, "
            f"shuffle {failure.cell.run.shuffle}: {failure.reason}"
            for failure in failures
        ),
        data_sha256=table.digest,
        seed=request.seed,
        chooser=request.options.chooser,
        cost_blind=request.options.cost_blind,
    )


def _point(
    max_error: float | None,
    lines: Sequence[Line],
    runs: Sequence[Run],
    rows: Rows,
    panel: Panel,
    outcomes: Sequence[str],
    panel_costs: Floats,
) -> Point:
    def over(figure: Figure) -> Interval:
        return bootstrap.interval(figure, rows, runs)

    wrong = sum(int(((run.error > 0) & (run.truth != TIE)).sum()) for run in runs)
    decided = over(bootstrap.decided_error)
    if not wrong:  # resampling no error gives none: the exact bound of the distinct cases says what may be
        distinct = np.unique(np.concatenate([run.rows[run.truth != TIE] for run in runs]))
        decided = Interval(0.0, *exact_interval(0, len(distinct)))
    asked = np.bincount(
        [expert for line in lines for experts in line.cases["asked"] for expert in experts],
        minlength=len(panel.experts),
    )
    length = min(len(run) for run in runs)
    by_place = np.mean([run.queries[:length] for run in runs], axis=0)
    return Point(
        max_error=max_error,
        runs=len(runs),
        cases=sum(map(len, runs)),
        wrong=wrong,
        ties=sum(int((run.truth == TIE).sum()) for run in runs),
        queries=over(bootstrap.mean_queries),
        cost=over(bootstrap.mean_cost),
        saved_share=over(saved_share_of(panel_costs)),
        error=over(bootstrap.error_rate),
        decided_error=decided,
        overstated=over(bootstrap.overstatement),
        stated=over(bootstrap.stated_error),
        ece=over(bootstrap.calibration_error),
        no_human=over(bootstrap.no_human_share),
        by_class={name: over(bootstrap.class_error(j)) for j, name in enumerate(outcomes)},
        first_50=float(np.mean([run.queries[:EDGE].mean() for run in runs])),
        last_50=float(np.mean([run.queries[-EDGE:].mean() for run in runs])),
        queries_by_place=tuple(by_place.tolist()),
        by_expert={name: float(n / max(asked.sum(), 1)) for name, n in zip(panel.experts, asked, strict=True)},
        reliability=reliability(*_pooled(runs)),
        unhealthy_fits=sum(line.figures["unhealthy_fits"] for line in lines),
        forced_asks=sum(line.figures["forced_asks"] for line in lines),
        seconds=sum(line.times["seconds"] for line in lines),
    )


def _pooled(runs: Sequence[Run]) -> tuple[list[float], list[float]]:
    probability: Floats = np.concatenate([run.probability for run in runs])
    right: Floats = np.concatenate([1 - run.error for run in runs])
    return probability.tolist(), right.tolist()


def _curves(points: Mapping[tuple[str, float | None], Point]) -> tuple[Curve, ...]:
    methods = list(dict.fromkeys(method for method, _ in points))
    by_method = {
        method: tuple(
            sorted((p for (name, _), p in points.items() if name == method), key=lambda p: p.max_error or 0.0)
        )
        for method in methods
    }
    swept = [found for method, found in by_method.items() if len(found) > 1 and _kind(method) != "floor"]
    low = max((min(p.cost.value for p in found) for found in swept), default=0.0)
    high = min((max(p.cost.value for p in found) for found in swept), default=0.0)

    def area(found: tuple[Point, ...]) -> float | None:
        if found not in swept or high <= low:
            return None
        return area_under([p.cost.value for p in found], [p.error.value for p in found], low, high)

    return tuple(Curve(method, _kind(method), found, area(found)) for method, found in by_method.items())


def _kind(method: str) -> Literal["model", "rival", "simple", "floor"]:
    name = method.partition(":")[0]
    if in_hindsight(method):
        return "floor"
    return "model" if name == "bayes" else "rival" if name in ("infexp", "confusion") else "simple"


def _differences(runs: Mapping[tuple[str, float | None], list[Run]], rows: Rows) -> tuple[Difference, ...]:
    """Each model against every other method at the same allowed error, where both walked the same cases."""
    found = []
    for (method, max_error), own in runs.items():
        if _kind(method) != "model" or max_error is None:
            continue
        for (other, other_error), theirs in runs.items():
            same = other != method and other_error in (max_error, None) and _kind(other) != "floor"
            if same and [run.rows.tolist() for run in own] == [run.rows.tolist() for run in theirs]:
                pair = [
                    bootstrap.paired_difference(figure, rows, own, theirs)
                    for figure in (bootstrap.mean_queries, bootstrap.mean_cost, bootstrap.error_rate)
                ]
                found.append(Difference(max_error, method, other, *pair))
    return tuple(found)


def _recommend(max_error: float, curves: Sequence[Curve], experts: float) -> Recommendation:
    """The cheapest method that was wrong no more often than is allowed on the cases that the panel decides."""
    methods = [curve for curve in curves if curve.kind != "floor"]  # nobody can see votes before they are cast
    most = max((point.runs for curve in methods for point in curve.points), default=0)  # failed runs: not comparable
    kept = [
        (point, curve)
        for curve in methods
        for point in curve.points
        if point.max_error in (max_error, None) and point.kept(max_error) and point.runs == most
    ]
    allowed = f"At {share(max_error)} error allowed"
    if not kept:
        return Recommendation(max_error, None, f"{allowed}, no method kept its promise on these votes: ask everyone.")
    point, curve = min(kept, key=lambda pair: pair[0].cost.value)
    saved, error = point.saved_share, point.decided_error
    text = (
        f"{allowed}, {curve.method} asks {point.queries.value:.2f} of {experts:.3g} experts on average "
        f"(95 % interval {point.queries.low:.2f} to {point.queries.high:.2f}) and saves {share(saved.value)} of the "
        f"cost of the whole panel ({share(saved.low)} to {share(saved.high)}); it was wrong on {point.wrong} of "
        f"{point.cases - point.ties} cases that the panel decides ({share(error.low)} to {share(error.high)})."
    )
    return Recommendation(max_error, curve.method, text)
