"""Comparisons: figures that the runs give, judged on the cases that the panel decides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import DEFAULT_PRESET, PRESETS, Options, plan, read_target
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.errors import PanelError, SettingsError
from quorate.experiments.cell import Cell, run_cell
from quorate.experiments.compare import Request, compare, default_methods, options_of
from quorate.experiments.protocol import paper_runs
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
    with pytest.raises(PanelError, match="cost -1 of expert 'expert_1'"):
        compared(table, tmp_path, costs={"expert_1": -1.0})
    with ThreadPoolExecutor(1) as executor, pytest.raises(SettingsError, match="no method to compare"):
        compare(table, Request(methods=()), results=tmp_path / "r.jsonl", executor=executor)
    for strange in (EvidenceSettings(), Settings()):
        with pytest.raises(SettingsError, match="of a model that none of the methods has"):
            compared(table, tmp_path, options=Options(settings=strange))
    request = Request(methods=("bayes",), options=Options(settings=Settings()))
    with ThreadPoolExecutor(1) as executor, pytest.raises(SettingsError, match="none of the methods has"):
        compare(table, request, results=tmp_path / "r.jsonl", executor=executor)


def test_every_method_there_is_has_each_preset_once() -> None:
    panel = simulate(np.random.default_rng(0), experts=3, classes=2, cases=5).panel
    methods = default_methods(panel)
    assert methods[:2] == ("bayes:quorate", "bayes:paper")
    plans = [plan(panel, Options(method), read_target("consensus", panel)) for method in methods]
    assert [found.preset for found in plans if found.preset] == ["quorate", "paper"]
    assert len(set(methods)) == len(methods)


def test_a_run_says_its_preset_and_one_of_another_default_is_not_taken_for_it(tmp_path: Path) -> None:
    assert options_of("bayes", 0.1, Options()).preset == DEFAULT_PRESET
    chooser = PRESETS[DEFAULT_PRESET].chooser
    assert options_of("hindsight", 0.1, Options()) == Options("hindsight", 0.1, preset=DEFAULT_PRESET, chooser=chooser)
    assert options_of("bayes:quorate", 0.1, Options()).chooser == chooser
    assert options_of("bayes:paper", 0.1, Options()) == Options("bayes:paper", 0.1)  # what it means stays the same
    assert options_of("bayes", 0.1, Options(preset="paper")).preset == "paper"
    table = simulate(np.random.default_rng(0), experts=3, classes=2, cases=15)
    settings = EvidenceSettings(particles=64)
    (run,) = paper_runs(len(table), 1)
    old = Cell(table.source, table.digest, Options("bayes", 0.2, settings=settings), "consensus", run, 0)
    results = tmp_path / "results.jsonl"
    results.write_text(run_cell(old, table) + "\n")
    request = Request(methods=("bayes",), max_errors=(0.2,), runs=1, options=Options(settings=settings))
    with ThreadPoolExecutor(1) as executor:
        compare(table, request, results=results, executor=executor)
    assert len(results.read_text().splitlines()) == 2  # it did not say which preset it was of, and is left alone
