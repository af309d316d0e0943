"""`quorate simulate`: a synthetic panel as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.check import headline
from quorate.cli.options import as_option, numbers, one_or_each


def simulate(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="TABLE", help="File to write, by its ending.")],
    experts: Annotated[int, typer.Option(metavar="N", help="Number of experts.")] = 5,
    classes: Annotated[int, typer.Option(metavar="N", help="Number of classes.")] = 3,
    cases: Annotated[int, typer.Option(metavar="N", help="Number of cases.")] = 500,
    classifiers: Annotated[int, typer.Option(metavar="N", help="Number of classifiers.")] = 1,
    skill: Annotated[
        str, typer.Option(metavar="P[,P...]", help="Probability that a vote is the true class: one, or one an expert.")
    ] = "0.85",
    classifier_skill: Annotated[
        str, typer.Option(metavar="P[,P...]", help="The same of a classifier's most probable class.")
    ] = "0.8",
    correlation: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the experts' own noise that they have in common.")
    ] = 0.3,
    ambiguity: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the noise that lies in the case and misleads everyone.")
    ] = 0.3,
    balance: Annotated[
        str | None, typer.Option(metavar="W,W[,W...]", help="Weights of the classes; equal if not given.")
    ] = None,
    overconfidence: Annotated[
        str, typer.Option(metavar="X[,X...]", help="Power a classifier's probabilities are raised to; 1 = calibrated.")
    ] = "1",
    missing: Annotated[float, typer.Option(metavar="SHARE", help="Share of votes left out.")] = 0.0,
    drift_at: Annotated[int | None, typer.Option(metavar="N", help="Skills change after this many cases.")] = None,
    drift_skill: Annotated[
        str | None, typer.Option(metavar="P[,P...]", help="Skills after the drift; else half-way to guessing.")
    ] = None,
    drift_classifier_skill: Annotated[
        str | None, typer.Option(metavar="P[,P...]", help="The same of the classifiers.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same table.")] = 0,
) -> None:
    """Write a synthetic panel: votes and probabilities from a process whose every knob is known."""
    import numpy as np

    from quorate.data import synthetic
    from quorate.data.table import write_table
    from quorate.errors import SettingsError

    try:
        table = synthetic.simulate(
            np.random.default_rng(seed),
            experts=experts,
            classes=classes,
            cases=cases,
            classifiers=classifiers,
            skill=one_or_each(skill, "--skill"),
            classifier_skill=one_or_each(classifier_skill, "--classifier-skill"),
            correlation=correlation,
            ambiguity=ambiguity,
            balance=numbers(balance, "--balance"),
            overconfidence=one_or_each(overconfidence, "--overconfidence"),
            missing=missing,
            drift_at=drift_at,
            drift_skill=one_or_each(drift_skill, "--drift-skill"),
            drift_classifier_skill=one_or_each(drift_classifier_skill, "--drift-classifier-skill"),
        )
    except SettingsError as error:
        raise as_option(error) from None
    write_table(table, output)
    typer.echo(f"{output}: {headline(table)}")
