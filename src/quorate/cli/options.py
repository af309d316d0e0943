"""Values of options that hold more than one thing: lists and name=value pairs."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, overload

import typer

from quorate.errors import PanelError, SettingsError

if TYPE_CHECKING:
    from quorate.core.rules import Rules
    from quorate.data.table import Table

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .tsv, .jsonl or .parquet file.")]
Classes = Annotated[str | None, typer.Option(metavar="A,B", help="Names of the classes in index order.")]
Experts = Annotated[str | None, typer.Option(metavar="A,B", help="Columns that hold votes.")]
Classifiers = Annotated[str | None, typer.Option(metavar="A,B", help="Classifiers to read.")]
Costs = Annotated[
    str | None, typer.Option(metavar="NAME=COST[,...]", help="What a vote of an expert costs; 1 if not given.")
]
Loss = Annotated[
    str | None, typer.Option(metavar="NAME=W[,...]", help="How grave it is to miss an outcome; 1 if not given.")
]
MinVotes = Annotated[int, typer.Option(metavar="N", min=0, help="Settle no case with fewer votes.")]
MaxVotes = Annotated[int | None, typer.Option(metavar="N", min=0, help="Ask for no more votes about a case.")]
Require = Annotated[str | None, typer.Option(metavar="A,B", help="Experts without whose vote no case settles.")]
Budget = Annotated[float | None, typer.Option(metavar="X", help="What all votes together may cost.")]
InFlight = Annotated[int, typer.Option(metavar="Q", min=1, help="Experts asked about a case at a time.")]
CostBlind = Annotated[bool, typer.Option("--cost-blind", help="Choose as if every expert cost the same.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

RULES = {"min_votes": "--min-votes", "max_votes": "--max-votes", "required": "--require", "budget": "--budget"}
"""The options that the fields of rules are given by."""


def named_table(path: Path, classes: str | None, experts: str | None, classifiers: str | None) -> Table:
    """The table that a command's argument and options name."""
    from quorate.data.table import read_table

    return read_table(
        path,
        classes=names(classes, "--classes"),
        experts=names(experts, "--experts"),
        classifiers=names(classifiers, "--classifiers"),
    )


def names(text: str | None, option: str) -> list[str] | None:
    """A list of names such as `a,b,c`, or None where the option was not given; quotes keep a comma in a name.

    >>> names('normal,"abnormal, urgent"', "--classes")
    ['normal', 'abnormal, urgent']
    """
    if text is None:
        return None
    found = _split(text)
    if not all(found):
        raise typer.BadParameter(f"{text!r} holds an empty name; expected names such as a,b,c", param_hint=option)
    return found


def numbers(text: str | None, option: str) -> list[float] | None:
    """A list of numbers such as `.9,.8`, or None where the option was not given.

    >>> numbers(".9, .8", "--skill")
    [0.9, 0.8]
    """
    if text is None:
        return None
    found = []
    for part in _split(text):
        try:
            found.append(float(part))
        except ValueError:
            found.append(math.nan)
        if not math.isfinite(found[-1]):
            message = f"{part!r} is not a number; expected numbers such as .9 or .9,.8,.7"
            raise typer.BadParameter(message, param_hint=option)
    return found


@overload
def one_or_each(text: str, option: str) -> float | list[float]: ...
@overload
def one_or_each(text: None, option: str) -> None: ...
@overload
def one_or_each(text: str | None, option: str) -> float | list[float] | None: ...
def one_or_each(text: str | None, option: str) -> float | list[float] | None:
    """One number for all, or a list with one for each.

    >>> one_or_each(".9", "--skill"), one_or_each(".9,.8", "--skill")
    (0.9, [0.9, 0.8])
    """
    found = numbers(text, option)
    return found[0] if found is not None and len(found) == 1 else found


def pairs(text: str | None, option: str) -> dict[str, str]:
    """Name=value pairs such as `sigma_mu=.1,eta=.75`, empty where the option was not given.

    >>> pairs("sigma_mu=.1,eta=.75", "--set")
    {'sigma_mu': '.1', 'eta': '.75'}
    """
    found: dict[str, str] = {}
    for part in _split(text) if text is not None else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise typer.BadParameter(f"{part!r} is not name=value; expected pairs such as a=1,b=2", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


def number_pairs(text: str | None, option: str) -> dict[str, float]:
    """Name=number pairs such as `ann=3,ben=1`, empty where the option was not given.

    >>> number_pairs("ann=3,ben=1", "--costs")
    {'ann': 3.0, 'ben': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in pairs(text, option).items():
        try:
            found[name] = float(value)
        except ValueError:
            message = f"{name}={value}: {value!r} is not a number"
            raise typer.BadParameter(message, param_hint=option) from None
    return found


@contextmanager
def about(option: str) -> Iterator[None]:
    """Whatever is refused is refused in the name of an option."""
    try:
        yield
    except (SettingsError, PanelError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def read_rules(min_votes: int, max_votes: int | None, require: str | None, budget: float | None, votes: Table) -> Rules:
    """The rules that the options say, checked against a table's panel; what is wrong is said of the option."""
    from quorate.core.rules import Rules

    required = tuple(names(require, "--require") or ())
    try:
        rules = Rules(min_votes, required, max_votes, budget)
        rules.check(votes.panel)
    except SettingsError as error:
        message = str(error)
        for name, option in RULES.items():
            message = message.replace(f"{name} ", f"{option} ")
        raise typer.BadParameter(message) from None
    return rules


def read_loss(text: str | None, target: str, votes: Table) -> dict[str, float] | None:
    """How grave it is to miss each outcome of a target; what is wrong is said of `--loss`."""
    from quorate.assembly import read_target
    from quorate.core.loss import gravity_of

    loss, outcomes = number_pairs(text, "--loss"), read_target(target, votes.panel).outcomes
    with about("--loss"):
        gravity_of(loss, outcomes)
    return loss or None


def as_option(error: SettingsError) -> typer.BadParameter:
    """A setting's error in the words of the command line: `drift_at = 9 ...` is about --drift-at.

    >>> as_option(SettingsError("drift_at = 9 is out of range; expected 1 to 4")).message
    '--drift-at = 9 is out of range; expected 1 to 4'
    """
    name, space, rest = str(error).partition(" ")
    setting = rest.startswith(("= ", "has "))
    return typer.BadParameter(f"--{name.replace('_', '-')}{space}{rest}" if setting else str(error))


def _split(text: str) -> list[str]:
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:  # a quote that is not closed
        parts = text.split(",")
    return [part.strip() for part in parts] or [""]
