"""Comparisons: figures that the runs give, judged on the cases that the panel decides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import DEFAULT_MODEL, Options
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.errors import PanelError, SettingsError
from quorate.experiments.compare import Request, compare
from quorate.reporting.comparison import Comparison

METHODS = ("infexp", "until-determined", "majority:1", "classifier", "all")


def compared(table: Table, folder: Path, **options: object) -> Comparison:
    request = Request(methods=METHODS, max_errors=(0.0, 0.05), runs=3, **options)  # type: ignore[arg-type]  # fields by name
    with ThreadPoolExecutor(1) as executor:
        return compare(table, request, results=folder / "results.jsonl", executor=executor)


def test_figures_costs_and_recommendations(tmp_path: Path) -> None:
    table = simulate(np.random.default_rng(0), experts=4, classes=2, cases=90)
    found = compared(table, tmp_path, costs={"expert_1": 3.0})
    points = {(curve.method, point.max_error): point for curve in found.curves for point in curve.points}
    assert len(points) == 6  # infexp at two allowed errors, the others once
    whole = points["all", None]
    assert whole.queries.value == found.panel_queries == 4
    assert whole.cost.value == found.panel_cost == 6
    assert whole.saved_share.value == pytest.approx(0)
    assert points["classifier", None].no_human.value == 1
    one = points["majority:1", None]  # panel order: always the dear one
    assert one.cost.value == 3
    assert one.by_expert["expert_1"] == 1
    # ties cannot be decided by anyone: they cost everyone the same and break nobody's promise
    assert whole.ties > 0
    assert whole.error.value == pytest.approx(0.5 * whole.ties / whole.cases)
    assert whole.decided_error.value == 0
    zero, loose = found.recommendations
    assert zero.method in {"infexp", "until-determined", "all"}
    assert loose.max_error == 0.05
    cheapest = min(
        point.cost.value for (_, e), point in points.items() if e in (0.0, None) and point.decided_error.value == 0
    )
    assert points[zero.method or "", 0.0 if zero.method == "infexp" else None].cost.value == cheapest
    assert found.failures == ()


def test_bad_requests_are_named(tmp_path: Path) -> None:
    table = simulate(np.random.default_rng(0), experts=3, classes=2, cases=30)
    with pytest.raises(PanelError, match="no expert 'zed'"):
        compared(table, tmp_path, costs={"zed": 1.0})
    with pytest.raises(SettingsError, match="cost -1 of expert 'expert_1'"):
        compared(table, tmp_path, costs={"expert_1": -1.0})
    with ThreadPoolExecutor(1) as executor, pytest.raises(SettingsError, match="no method to compare"):
        compare(table, Request(methods=()), results=tmp_path / "r.jsonl", executor=executor)
    strange = Options(settings=EvidenceSettings() if DEFAULT_MODEL == "full" else Settings())
    with pytest.raises(SettingsError, match="of a model that none of the methods has"):
        compared(table, tmp_path, options=strange)
