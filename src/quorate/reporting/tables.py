"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from quorate.reporting.replay import ReplayReport
from quorate.reporting.wording import Row, headline, health_rows, result_rows


def table_of(title: str, rows: Sequence[Row]) -> Table:
    """One table of labels, values and what they mean; its texts are never read as markup."""
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left", title_style="bold", show_header=False)
    table.add_column("figure", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def results_table(report: ReplayReport) -> Table:
    """The main figures of a replay."""
    return table_of(report.title, result_rows(report))


def health_table(report: ReplayReport) -> Table:
    """Sampler health and time of a replay."""
    return table_of("Sampler health", health_rows(report))


def replay_summary(report: ReplayReport) -> Group:
    """The opening sentence and both tables, ready to print."""
    return Group(Text(headline(report)), Text(), results_table(report), health_table(report))
