"""`quorate paper`: every table and figure of the paper, run again and held against its numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.interrupt import kept_interrupt
from quorate.cli.options import about
from quorate.cli.progress import announce_compiling, progress_bar
from quorate.errors import InputError

if TYPE_CHECKING:
    from quorate.experiments.cell import Line
    from quorate.experiments.paper import Maker
    from quorate.experiments.series import Work

PACE = 600.0
"""Seconds of the past that the time left goes by: methods take turns, and one takes long."""


def paper(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder that holds chestxray.csv, chaoyang.csv and the others.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write results.html, a CSV, PNG and SVG each, and results.jsonl there.")
    ],
    outputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="OUTPUT", help="Such as fig2 or table1; every table and figure if not given."),
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", help="The first so many of the protocol's 12 runs.")] = 12,
    quick: Annotated[
        bool, typer.Option("--quick", help="60 cases and three allowed errors: only to see it run.")
    ] = False,
    kept: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on from the runs that a project keeps, as in docs/results.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at a time; one a core if not given.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
    ] = None,
) -> None:
    """Run the paper's tables and figures again, beside its own numbers.

    Finished runs are kept in DIR/results.jsonl; the same command goes on where it was stopped.
    """
    from quorate.experiments.kept import TABLES, read_kept, tables_text
    from quorate.experiments.paper import can_be_made, check_runs, makers_of, read_tables
    from quorate.experiments.paper import paper as run
    from quorate.experiments.series import Work
    from quorate.experiments.sweep import open_executor
    from quorate.reporting.files import check_folder, write_whole
    from quorate.reporting.paper_files import write_results

    with about("OUTPUT"):
        makers = makers_of(outputs or [])
    with about("--runs"):
        check_runs(runs)
    if jobs is not None and cluster is not None:
        raise typer.BadParameter("--jobs and --cluster exclude each other: a cluster has its own number of workers")
    check_folder(out)
    tables, subjects = read_tables(data, makers, quick=quick)
    makers, left = can_be_made(makers, subjects)
    if left and (outputs or not makers):
        raise InputError(f"{data}: {'; '.join(left)}, which is not there; `quorate data fetch` gets those that can be")
    for one in left:
        typer.echo(f"quorate: left out {one}, which is not in {data}", err=True)
    known = None if kept is None else read_kept(kept)[1]
    work = Work(subjects, runs, quick)
    _announce(makers, work, known or {})
    results = out / "results.jsonl"
    write_whole(out, {TABLES: tables_text(subjects.values(), quick=quick)})  # lines can be kept while others run
    try:
        with (
            kept_interrupt(),
            open_executor(jobs=jobs, cluster=cluster) as executor,
            progress_bar("running", quiet=False, memory=PACE) as progress,
        ):
            found = run(makers, work, tables, results=results, executor=executor, progress=progress, known=known)
    except KeyboardInterrupt:
        typer.echo(f"quorate: finished runs are in {results}; the same command goes on from there", err=True)
        raise
    found = replace(found, left_out=left)
    written = write_results(out, found)

    from rich.console import Console

    from quorate.reporting.paper_tables import results_summary

    Console().print(results_summary(found))
    typer.echo(f"wrote {written[-1]} and {len(written) - 1} files beside it")
    if found.failures:
        for failure in found.failures:
            typer.echo(f"quorate: error: {failure}", err=True)
        typer.echo("quorate: error: some runs failed; the same command tries them again", err=True)
        raise typer.Exit(1)


def _announce(makers: tuple[Maker, ...], work: Work, known: dict[str, Line]) -> None:
    """Say on a terminal that a sampler is compiled first, where a run needs it."""
    from quorate.experiments.paper import wanted

    methods = {series.options.method for series in wanted(makers, work) if work.ids(series)[0] not in known}
    models = {"bayes:paper": "full", "bayes:quorate": "evidence"}
    for method, model in models.items():
        if method in methods:
            announce_compiling(model)
