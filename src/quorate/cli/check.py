"""`quorate check`: is a table of recorded votes fit to be read, and what is in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from quorate.cli.options import AsJson, Classes, Classifiers, Experts, TableFile, named_table

if TYPE_CHECKING:
    from quorate.data.table import Table
    from quorate.errors import TableError


def check(
    table: TableFile,
    classes: Classes = None,
    experts: Experts = None,
    classifiers: Classifiers = None,
    as_json: AsJson = False,
) -> None:
    """Check a table of recorded votes: every bad row by its number, or what is in it."""
    from quorate.errors import TableError

    try:
        found = named_table(table, classes, experts, classifiers)
    except TableError as error:
        _report(error, as_json=as_json)
        raise typer.Exit(1) from None
    summary = summarise(found)
    typer.echo(json.dumps(asdict(summary), ensure_ascii=False) if as_json else _plain(found, summary))


@dataclass(frozen=True)
class Summary:
    """What is in a table that can be read, as `quorate check --json` prints it."""

    table: str
    cases: int
    votes: int
    missing_votes: int
    missing_share: float
    ties: int  # cases whose recorded votes have no single leader
    experts: dict[str, int]  # votes of each
    classes: dict[str, float]  # share of the votes
    classifiers: dict[str, int]  # cases with its probabilities
    digest: str
    ok: bool = True


def summarise(table: Table) -> Summary:
    """Count what is in a table."""
    import numpy as np

    panel, votes = table.panel, table.votes
    counts = np.stack([(votes == k).sum(axis=1) for k in range(len(panel.classes))], axis=1)  # (N, K)
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    cast = int(counts.sum())
    stated = ~np.isnan(table.probabilities).any(axis=2)  # (N, M)
    return Summary(
        table=table.source,
        cases=len(table),
        votes=cast,
        missing_votes=votes.size - cast,
        missing_share=1 - cast / votes.size,
        ties=int(tied.sum()),
        experts=dict(zip(panel.experts, (votes >= 0).sum(axis=0).tolist(), strict=True)),
        classes=dict(zip(panel.classes, (counts.sum(axis=0) / cast).tolist(), strict=True)),
        classifiers=dict(zip(panel.classifiers, stated.sum(axis=0).tolist(), strict=True)),
        digest=table.digest,
    )


def headline(table: Table) -> str:
    """A table's size in words: 500 cases, 5 experts, 3 classes, 1 classifier."""
    panel = table.panel
    return ", ".join(
        f"{number} {one if number == 1 else many}"
        for number, one, many in (
            (len(table), "case", "cases"),
            (len(panel.experts), "expert", "experts"),
            (len(panel.classes), "class", "classes"),
            (len(panel.classifiers), "classifier", "classifiers"),
        )
    )


def _report(error: TableError, *, as_json: bool) -> None:
    problems = error.problems
    if as_json:
        listed = [{"row": problem.row, "message": problem.message} for problem in problems]
        typer.echo(json.dumps({"table": error.source, "ok": False, "problems": listed}, ensure_ascii=False))
    else:
        for problem in problems:
            if problem.row is not None:
                typer.echo(f"{error.source}: {problem}")
    whole = [problem for problem in problems if problem.row is None]
    for problem in whole:
        typer.echo(f"quorate: error: {error.source}: {problem}", err=True)
    if len(problems) > len(whole):
        first = next(problem for problem in problems if problem.row is not None)
        rest = len(problems) - len(whole) - 1
        more = f" (and {rest} more)" if rest else ""
        typer.echo(f"quorate: error: {error.source}: {first}{more}", err=True)


def _plain(table: Table, summary: Summary) -> str:
    lines = [
        f"{summary.table}: {headline(table)}",
        f"votes: {summary.votes}, missing: {summary.missing_votes} ({summary.missing_share:.1%}), "
        f"tied cases: {summary.ties}",
    ]
    for title, shown in (
        ("votes by expert", {name: f"{votes}" for name, votes in summary.experts.items()}),
        ("share of votes by class", {name: f"{share:.1%}" for name, share in summary.classes.items()}),
        ("cases by classifier", {name: f"{cases}" for name, cases in summary.classifiers.items()}),
    ):
        width = max(map(len, shown))
        lines += ["", f"{title}:", *(f"  {name:<{width}}  {value}" for name, value in shown.items())]
    return "\n".join(lines)
