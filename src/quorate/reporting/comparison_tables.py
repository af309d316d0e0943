"""A comparison of methods as a table for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from quorate.reporting.comparison import Comparison, Point
from quorate.reporting.comparison_wording import (
    allowed,
    ends,
    is_floor,
    number,
    point_at,
    priced,
    share,
    stops_by_error,
    thresholds,
)
from quorate.reporting.wording import count, counted

FLOOR_NOTE = "* a floor, not a method: its model was fitted on every vote of the table before the first case"


def comparison_table(comparison: Comparison) -> Table:
    """Methods that stop by their stated error at each allowed error, then those that it does not change."""
    costs = priced(comparison)
    best = {found.max_error: found.method for found in comparison.recommendations}
    title = Text(
        f"Methods compared on {comparison.table}: {counted(comparison.runs * comparison.run_length, 'case')} each"
    )
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", padding=(0, 1, 0, 0))
    table.add_column("allow", justify="right", no_wrap=True)
    table.add_column("method", style="bold", no_wrap=True)
    # 80 letters are all that many terminals have: where there is a price, the stated error gives way to it
    for name in ("asked", *(("cost",) if costs else ()), "saved", "error", "interval, %"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in (*(() if costs else ("stated",)), "wrong"):
        table.add_column(name, justify="right", no_wrap=True)

    def add(first: str, method: str, point: Point, *, recommended: bool, floor: bool = False) -> None:
        above = point.max_error is not None and not point.kept(point.max_error)
        cells = [
            first,
            f"{method}*" if floor else method,
            number(point.queries.value),
            *([number(point.cost.value)] if costs else []),
            share(point.saved_share.value),
            share(point.error.value),
            ends(point.error, share).replace(" %", ""),
            *([] if costs else [share(point.stated.value)]),
            count(point.wrong),
        ]
        style = "dim" if floor else "green" if recommended else "red" if above else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)

    swept = [curve for curve in comparison.curves if stops_by_error(curve)]
    for max_error in thresholds(comparison) if swept else ():
        first = allowed(max_error)
        for curve in swept:
            point = point_at(curve, max_error)
            if point is not None:
                add(first, curve.method, point, recommended=best[max_error] == curve.method, floor=is_floor(curve))
                first = ""
        table.add_section()
    first = "any"
    for curve in comparison.curves:
        if not stops_by_error(curve) and curve.points:
            add(first, curve.method, curve.points[0], recommended=curve.method in best.values())
            first = ""
    return table


def comparison_summary(comparison: Comparison) -> Group:
    """What to do at each allowed error in sentences, and the table behind them, ready to print."""
    said = [Text(found.text) for found in comparison.recommendations]
    floors = [Text(FLOOR_NOTE, style="dim")] if any(map(is_floor, comparison.curves)) else []
    return Group(*said, Text(), comparison_table(comparison), *floors)
