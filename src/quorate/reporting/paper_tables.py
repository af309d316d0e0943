"""The paper's results as a table for a terminal: each number that the paper states beside ours."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from quorate.reporting.comparison_wording import share
from quorate.reporting.paper import Results
from quorate.reporting.paper_facts import ACCURACY
from quorate.reporting.paper_wording import QUICK, against, label, said
from quorate.reporting.wording import counted

CLOSE = 0.001
"""Accuracies that differ by less are the same, as far as the paper prints them."""


def results_summary(results: Results) -> Group:
    """Numbers beside the paper's, and what is to be said of the rest, ready to print."""
    title = "The paper's numbers and ours" + (f"\n{QUICK}" if results.quick else "")
    table = Table(
        box=box.SIMPLE_HEAD, title=Text(title), title_justify="left", title_style="bold", padding=(0, 1, 0, 0)
    )
    for name in ("figure", "data set", "method"):
        table.add_column(name, no_wrap=True)
    for name in ("ours", "paper", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    said_of: list[Text] = []
    for output in results.outputs:
        if output.missing:
            said_of.append(Text(f"{output.name}: {counted(output.missing, 'run')} not finished", style="red"))
        if output.name in ACCURACY:
            gaps = [one.difference for one in output.numbers if one.difference is not None]
            same = sum(abs(gap) < CLOSE for gap in gaps)
            said_of.append(Text(f"{output.name} ({output.title}): {same} of {len(gaps)} as the paper has them"))
            continue
        for one in output.numbers:
            if one.claim is not None and one.claim.value is not None:
                ours = "never" if one.ours is None else said(one.ours.value, one.unit)
                theirs, _, gap = against(one).removeprefix("paper ").partition(", ")
                # 80 letters are all that many terminals have
                method = label(one.method).removeprefix("preset ")
                table.add_row(*(Text(word) for word in (one.row, one.column, method, ours, theirs, gap)))
    if results.promises:
        broken = [one for one in results.promises if not one.kept]
        said_of.append(Text(f"promises kept: {len(results.promises) - len(broken)} of {len(results.promises)}"))
        for promise in broken:
            where = f"{label(promise.method)} on {promise.panel}, allowed {promise.max_error:g}"
            said_of.append(Text(f"  broken: {where}: {share(promise.error)}", style="red"))
    return Group(table, *said_of) if table.row_count else Group(*said_of)
