"""`quorate compare`: which method would have saved most on recorded votes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.interrupt import kept_interrupt
from quorate.cli.options import (
    AsJson,
    Classes,
    Classifiers,
    CostBlind,
    Costs,
    Experts,
    TableFile,
    about,
    named_table,
    names,
    number_pairs,
    numbers,
    pairs,
)
from quorate.cli.progress import announce_compiling, progress_bar
from quorate.errors import InputError, SettingsError

if TYPE_CHECKING:
    from quorate.data.table import Table
    from quorate.experiments.compare import Request
    from quorate.reporting.comparison import Comparison

PACE = 600.0
"""Seconds of the past that the time left goes by: methods take turns, and one takes long."""


def compare(
    table: TableFile,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Write comparison.html, points.csv, comparison.json and results.jsonl there."),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Methods to compare; every method there is if not given. hindsight adds a floor to hold them against.",
        ),
    ] = None,
    max_errors: Annotated[
        str | None, typer.Option(metavar="E,E", help="Errors to allow; 0,.005,.01,.02,.05,.1 if not given.")
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", help="Runs of 250 cases, of the paper's 12.")] = 12,
    target: Annotated[
        str, typer.Option(metavar="NAME", help="consensus, any:CLASS, ... (see docs/targets.md).")
    ] = "consensus",
    costs: Costs = None,
    cost_blind: CostBlind = False,
    change: Annotated[
        str | None,
        typer.Option("--set", metavar="NAME=VALUE[,...]", help="Settings of a model, such as particles=512."),
    ] = None,
    schedule: Annotated[str | None, typer.Option(metavar="NAME", help="When to learn: paper or every.")] = None,
    chooser: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whom a model asks: entropy, stop, lookahead, random or panel."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same answers.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at a time; one a core if not given.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
    ] = None,
    classes: Classes = None,
    experts: Experts = None,
    classifiers: Classifiers = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on recorded votes: error against cost of each, and which one to take.

    Finished runs are kept in DIR/results.jsonl; the same command goes on where it was stopped.
    """
    from quorate.assembly import Options, read_settings
    from quorate.experiments.compare import MAX_ERRORS, Request
    from quorate.reporting.comparison_files import comparison_record, write_comparison
    from quorate.reporting.files import check_folder

    changed = pairs(change, "--set")
    named = names(methods, "--methods")
    limits = numbers(max_errors, "--max-errors")
    prices = number_pairs(costs, "--costs")
    if jobs is not None and cluster is not None:
        raise typer.BadParameter("--jobs and --cluster exclude each other: a cluster has its own number of workers")
    check_folder(out)
    votes = named_table(table, classes, experts, classifiers)
    request = Request(
        methods=tuple(named or _every_method(votes, target)),
        max_errors=MAX_ERRORS if limits is None else tuple(limits),
        runs=runs,
        target=target,
        costs=prices,
        options=Options(schedule=schedule, chooser=chooser, settings=read_settings(changed), cost_blind=cost_blind),
        seed=seed,
    )
    _check(votes, request)
    found = _run(votes, request, out / "results.jsonl", jobs=jobs, cluster=cluster, quiet=as_json)
    written = write_comparison(out, found)
    if as_json:
        typer.echo(json.dumps(comparison_record(found), ensure_ascii=False))
    else:
        from rich.console import Console

        from quorate.reporting.comparison_tables import comparison_summary

        Console().print(comparison_summary(found))
        for path in written:
            typer.echo(f"wrote {path}")
    if found.failures:
        for failure in found.failures:
            typer.echo(f"quorate: error: {failure}", err=True)
        typer.echo("quorate: error: some runs failed; the same command tries them again", err=True)
        raise typer.Exit(1)


def _every_method(votes: Table, target: str) -> list[str]:
    """Every method that forecasts the target; the others are named, so that nobody misses them unawares."""
    from quorate.assembly import Options, plan, read_target
    from quorate.experiments.compare import default_methods

    aim = read_target(target, votes.panel)
    kept, left = [], []
    for method in default_methods(votes.panel):
        try:
            plan(votes.panel, Options(method=method), aim)
        except InputError:
            left.append(method)
        else:
            kept.append(method)
    if left:
        typer.echo(f"quorate: left out {', '.join(left)}: no forecast of the target {target!r}", err=True)
    return kept


def _check(votes: Table, request: Request) -> None:
    """Refuse, before any work is done, a value that cannot be used, in the name of its option."""
    from quorate.assembly import PRESETS, Options, plan, preset_of, read_target
    from quorate.experiments.compare import options_of
    from quorate.experiments.hindsight import NAME, as_method
    from quorate.experiments.protocol import paper_runs
    from quorate.policy.stopping import ErrorBelow

    target = read_target(request.target, votes.panel)
    with about("--max-errors"):
        for max_error in request.max_errors:
            ErrorBelow(max_error)
    with about("--methods"):
        for method in request.methods:
            plan(votes.panel, as_method(Options(method=method)), target)
    with about("--costs"):
        votes.priced(request.costs)
    with about("--runs"):
        paper_runs(len(votes), request.runs)
    models = [method for method in request.methods if method.partition(":")[0] in ("bayes", NAME)]
    if replace(request.options, cost_blind=False) != Options() and not models:
        raise typer.BadParameter(
            "--set, --schedule and --chooser change the model, and no method of it is compared; add bayes"
        )
    planned = [options_of(method, Options().max_error, request.options) for method in models]
    for options in planned:
        plan(votes.panel, as_method(options), target)
    if request.options.settings is not None and all(options.settings is None for options in planned):
        preset = preset_of(request.options.settings)
        message = f"the settings are of model {PRESETS[preset].model!r}, which no method has; add bayes:{preset}"
        raise typer.BadParameter(message, param_hint="--set")


def _run(
    votes: Table, request: Request, results: Path, *, jobs: int | None, cluster: str | None, quiet: bool
) -> Comparison:
    from quorate.assembly import Options, model_of
    from quorate.experiments.compare import compare as run
    from quorate.experiments.hindsight import as_method
    from quorate.experiments.sweep import open_executor

    named = [as_method(Options(method=method)) for method in request.methods]
    models = {model_of(options) for options in named if options.method.startswith("bayes")}
    for model in models if not quiet else ():
        announce_compiling(model)
    try:
        with (
            kept_interrupt(),
            open_executor(jobs=jobs, cluster=cluster) as executor,
            progress_bar("comparing", quiet=quiet, memory=PACE) as progress,
        ):
            return run(votes, request, results=results, executor=executor, progress=progress)
    except KeyboardInterrupt:
        typer.echo(f"quorate: finished runs are in {results}; the same command goes on from there", err=True)
        raise
    except SettingsError as error:  # the options were checked before: nothing that was run worked
        raise InputError(str(error)) from None
