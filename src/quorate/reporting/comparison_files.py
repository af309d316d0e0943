"""The files of a comparison: comparison.html, points.csv and comparison.json, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from quorate.assurance.bootstrap import Interval
from quorate.reporting.comparison import Comparison, Curve, Point
from quorate.reporting.comparison_page import render_comparison
from quorate.reporting.files import cell, check_folder, plain, versions, write_whole

INTERVALS = ("queries", "cost", "saved_share", "error", "decided_error", "stated", "overstated", "ece", "no_human")
PLAIN = ("first_50", "last_50", "unhealthy_fits", "forced_asks", "seconds")


def write_comparison(folder: str | Path, comparison: Comparison) -> tuple[Path, ...]:
    """Write the page, the points and the record of a comparison; gives the paths."""
    check_folder(folder)
    record = json.dumps(comparison_record(comparison), indent=2, ensure_ascii=False, allow_nan=False)
    return write_whole(
        folder,
        {
            "comparison.html": render_comparison(comparison, version=version("quorate")),
            "points.csv": points_csv(comparison),
            "comparison.json": record + "\n",
        },
    )


def comparison_record(comparison: Comparison) -> dict[str, object]:
    """The whole comparison as JSON can hold it, with the versions that made it; None where a figure does not exist."""
    return {str(name): plain(value) for name, value in {**asdict(comparison), "versions": versions()}.items()}


def points_csv(comparison: Comparison) -> str:
    """One row a method and allowed error, all figures with both ends of their intervals.

    `max_error` is empty where a method does not stop by its stated error.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            *("method", "kind", "max_error", "runs", "cases", "wrong", "ties"),
            *(name for figure in INTERVALS for name in _thrice(figure)),
            *PLAIN,
            *(name for outcome in comparison.outcomes for name in _thrice(f"error:{outcome}")),
            *(f"asked:{expert}" for expert in comparison.experts),
        ]
    )
    for curve in comparison.curves:
        writer.writerows(_row(comparison, curve, point) for point in curve.points)
    return out.getvalue()


def _thrice(name: str) -> tuple[str, str, str]:
    figure, colon, outcome = name.partition(":")
    return name, f"{figure}_low{colon}{outcome}", f"{figure}_high{colon}{outcome}"


def _row(comparison: Comparison, curve: Curve, point: Point) -> list[object]:
    intervals: list[Interval] = [getattr(point, name) for name in INTERVALS]
    classes = [point.by_class[outcome] for outcome in comparison.outcomes]
    return [
        cell(curve.method),
        curve.kind,
        "" if point.max_error is None else f"{point.max_error:g}",
        *(point.runs, point.cases, point.wrong, point.ties),
        *(_number(end) for found in intervals for end in (found.value, found.low, found.high)),
        *(_number(getattr(point, name)) for name in PLAIN),
        *(_number(end) for found in classes for end in (found.value, found.low, found.high)),
        *(_number(point.by_expert.get(expert, 0.0)) for expert in comparison.experts),
    ]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"
