"""The files of the paper's results: a CSV, a PNG and an SVG for each table and figure, and one page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from quorate.reporting.files import cell, check_folder, write_whole
from quorate.reporting.paper import ErrorCost, Estimate, Field, Number, Output, OverTime, Results, Thresholds
from quorate.reporting.paper_page import render_results
from quorate.reporting.paper_plots import draw
from quorate.reporting.style import to_png, to_svg, to_svg_file

PAGE = "results.html"
NUMBERS = (
    *("row", "column", "method", "unit", "ours", "low", "high", "standard_error"),
    *("paper", "paper_says", "difference", "note", "runs", "quick"),
)
POINTS = (
    *("part", "curve", "max_error", "runs", "cases", "wrong"),
    *("queries", "queries_low", "queries_high", "queries_standard_error"),
    *("error", "error_low", "error_high", "error_standard_error", "error_at_least"),
    *("stated_error", "ece", "ece_low", "ece_high", "unhealthy_fits", "forced_asks", "quick"),
)


def write_results(folder: str | Path, results: Results) -> tuple[Path, ...]:
    """Write every output's files and the page; gives the paths."""
    check_folder(folder)
    contents: dict[str, str | bytes] = {}
    inline: dict[str, str] = {}
    for output in results.outputs:
        figure = draw(output, quick=results.quick)
        contents[f"{output.stem}.csv"] = numbers_csv(output, results)
        points = points_csv(output, results)
        if points:
            contents[f"{output.stem}-points.csv"] = points
        contents[f"{output.stem}.png"] = to_png(figure)
        contents[f"{output.stem}.svg"] = to_svg_file(figure, output.name)
        inline[output.name] = to_svg(figure, output.name)
    contents[PAGE] = render_results(results, inline, version=version("quorate"))
    return write_whole(folder, contents)


def numbers_csv(output: Output, results: Results) -> str:
    """One row a number: ours with its interval and standard error, the paper's, and the difference."""
    return _csv(NUMBERS, (_number_row(one, results) for one in output.numbers))


def _number_row(one: Number, results: Results) -> list[object]:
    claim = one.claim
    says = "" if claim is None else claim.words or ("less than" if claim.below else "")
    return [
        cell(one.row),
        cell(one.column),
        one.method,
        one.unit,
        *(_four(one.ours) if one.ours else [""] * 4),
        "" if claim is None else _plain(claim.value),
        says,
        _plain(one.difference),
        cell(one.note),
        results.runs,
        int(results.quick),
    ]


def points_csv(output: Output, results: Results) -> str:
    """What is drawn: one row a point, or a place of a stream; empty where the numbers themselves are drawn."""
    drawing = output.drawing
    if isinstance(drawing, (ErrorCost, Thresholds)):
        return _csv(POINTS, (row for part in drawing.fields for row in _point_rows(part, results)))
    if isinstance(drawing, OverTime):
        rows = (
            [stream.name, place, stream.runs, _plain(queries), int(results.quick)]
            for stream in drawing.streams
            for place, queries in enumerate(stream.queries, start=1)
        )
        return _csv(("stream", "case", "runs", "queries", "quick"), rows)
    return ""


def _point_rows(part: Field, results: Results) -> list[list[object]]:
    return [
        [
            part.title,
            curve.name,
            f"{point.max_error:g}",
            *(point.runs, point.cases, point.wrong),
            *_four(point.queries),
            *_four(point.error),
            *(_plain(point.at_least), _plain(point.stated)),
            *_four(point.ece)[:3],
            *(point.unhealthy_fits, point.forced_asks, int(results.quick)),
        ]
        for curve in part.curves
        for point in curve.points
    ]


def _four(found: Estimate) -> list[str]:
    return [_plain(end) for end in (found.value, found.low, found.high, found.error)]


def _plain(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
