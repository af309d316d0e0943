"""`quorate replay`: recorded votes as a live stream, and what would have been saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.options import (
    AsJson,
    Budget,
    Classes,
    Classifiers,
    CostBlind,
    Costs,
    Experts,
    InFlight,
    Loss,
    MaxVotes,
    MinVotes,
    Require,
    TableFile,
    about,
    named_table,
    names,
    number_pairs,
    pairs,
    read_loss,
    read_rules,
)
from quorate.cli.progress import announce_compiling, progress_bar


def replay(
    table: TableFile,
    max_error: Annotated[
        float, typer.Option(metavar="E", help="Settle a case once its stated error is at most this.")
    ] = 0.01,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="bayes, infexp, confusion, majority:N, until-determined, all, classifier, or the floor hindsight.",
        ),
    ] = "bayes",
    target: Annotated[
        str, typer.Option(metavar="NAME", help="consensus, any:CLASS, ... (see docs/targets.md).")
    ] = "consensus",
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Model, chooser and schedule: quorate (if not given) or paper."),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="What is learned: evidence or full.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="Cases to replay; 0 for all of them.")] = 250,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Cases to pass over first.")] = 0,
    shuffle: Annotated[int | None, typer.Option(metavar="SEED", min=0, help="Shuffle the table first.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same answers.")] = 0,
    window: Annotated[int | None, typer.Option(metavar="N", help="Learn from the last N cases only.")] = None,
    schedule: Annotated[str | None, typer.Option(metavar="NAME", help="When to learn: paper or every.")] = None,
    chooser: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whom to ask: entropy, stop, lookahead, accuracy, random or panel."),
    ] = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help="Sampler of model full: gibbs or nuts.")] = None,
    ablate: Annotated[
        str | None,
        typer.Option(metavar="PART[,PART]", help="Leave temperature, correlations or both out of model full."),
    ] = None,
    change: Annotated[
        str | None,
        typer.Option("--set", metavar="NAME=VALUE[,...]", help="Settings of the model, such as particles=512."),
    ] = None,
    costs: Costs = None,
    cost_blind: CostBlind = False,
    loss: Loss = None,
    min_votes: MinVotes = 0,
    max_votes: MaxVotes = None,
    require: Require = None,
    budget: Budget = None,
    in_flight: InFlight = 1,
    classes: Classes = None,
    experts: Experts = None,
    classifiers: Classifiers = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.html, steps.csv and run.json there.")
    ] = None,
) -> None:
    """Replay recorded votes case by case: what would have been asked, saved and got wrong?"""
    from quorate.assembly import Options, model_of, read_settings
    from quorate.experiments.hindsight import as_method
    from quorate.experiments.replay import replay as run
    from quorate.reporting.files import check_folder, write_run
    from quorate.reporting.replay import figures

    changed, prices = pairs(change, "--set"), number_pairs(costs, "--costs")
    options = Options(
        method=method,
        max_error=max_error,
        preset=preset,
        model=model,
        chooser=chooser,
        schedule=schedule,
        window=window,
        engine=engine,
        ablate=tuple(names(ablate, "--ablate") or ()),
        cost_blind=cost_blind,
        in_flight=in_flight,
    )
    named = as_method(options)
    modelled = named.method.startswith("bayes") or chooser == "entropy"
    if changed:
        options = replace(options, settings=read_settings(changed, model_of(named) if modelled else None))
    if out is not None:
        check_folder(out)
    votes = named_table(table, classes, experts, classifiers)
    with about("--costs"):
        votes = votes.priced(prices)
    rules = read_rules(min_votes, max_votes, require, budget, votes)
    options = replace(options, rules=rules, loss=read_loss(loss, target, votes))
    if modelled and not as_json:
        announce_compiling(model_of(named))
    with progress_bar("replaying", quiet=as_json) as progress:
        report = run(
            votes,
            options=options,
            target=target,
            limit=limit or None,
            offset=offset,
            shuffle=shuffle,
            seed=seed,
            progress=progress,
            portrayed=out is not None,
        )
    written = write_run(out, report, seed=seed, data_sha256=votes.digest) if out is not None else ()
    if as_json:
        typer.echo(json.dumps(figures(report)))
        return
    from rich.console import Console

    from quorate.reporting.tables import replay_summary

    Console().print(replay_summary(report))
    for path in written:
        typer.echo(f"wrote {path}")
