"""Experts who cost differently: whom replays and comparisons ask then, and what they report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.core.settings import EvidenceSettings
from quorate.data.synthetic import simulate
from quorate.experiments.cell import Cell, line_of, run_cell
from quorate.experiments.compare import Request, compare
from quorate.experiments.protocol import RunPlan
from quorate.experiments.replay import replay
from quorate.reporting.comparison import Comparison
from quorate.reporting.replay import figures

TABLE = simulate(np.random.default_rng(0), experts=4, classes=2, cases=30, skill=0.85)
DEAR = TABLE.priced({"expert_1": 5.0})
QUICK = Options(max_error=0.05, settings=EvidenceSettings(particles=64))


@pytest.mark.parametrize("chooser", ["entropy", "stop", "lookahead"])
def test_equal_costs_change_nothing_but_the_cost(chooser: str) -> None:
    options = replace(QUICK, chooser=chooser)
    plain = replay(TABLE, options=options, limit=15, portrayed=False)
    equal = replay(TABLE.priced([2.0] * 4), options=options, limit=15, portrayed=False)
    assert [replace(case, cost=0.0, panel_cost=0.0) for case in plain.scored] == [
        replace(case, cost=0.0, panel_cost=0.0) for case in equal.scored
    ]
    assert equal.summary.cost == 2 * plain.summary.cost == 2 * plain.summary.votes
    assert equal.summary.saved_share == plain.summary.saved_share
    assert equal.saved == plain.saved
    assert (plain.priced, equal.priced) == (False, True)


@pytest.mark.parametrize("chooser", ["entropy", "stop", "lookahead"])
def test_the_dear_are_asked_less_unless_the_choice_is_blind(chooser: str) -> None:
    options = replace(QUICK, chooser=chooser)
    plain, blind, weighed = (
        replay(table, options=how, portrayed=False)
        for table, how in ((TABLE, options), (DEAR, replace(options, cost_blind=True)), (DEAR, options))
    )
    assert [case.asked for case in blind.scored] == [case.asked for case in plain.scored]
    asked = [next(a.cases for a in found.summary.by_expert if a.expert == "expert_1") for found in (blind, weighed)]
    assert asked[1] < asked[0]
    assert weighed.summary.cost < blind.summary.cost
    for report in (blind, weighed):
        for case in report.scored:
            assert case.cost == sum(5.0 if name == "expert_1" else 1.0 for name in case.asked)
            assert case.panel_cost == 8.0
        found = report.summary
        assert found.saved_share == pytest.approx(1 - found.cost / (8 * 30))
        assert report.saved is not None
        assert report.saved.value == pytest.approx(found.saved_share)
        assert report.saved.low < report.saved.value < report.saved.high
        assert figures(report)["cost"] == found.cost
    assert weighed.settings["costs"] == "expert_1=5,expert_2=1,expert_3=1,expert_4=1"
    assert (plain.settings["costs"], blind.settings["cost_blind"]) == (None, True)


def test_whoever_is_free_is_asked_first() -> None:
    report = replay(TABLE.priced({"expert_3": 0.0}), options=QUICK, limit=10, portrayed=False)
    assert {case.asked[0] for case in report.scored if case.asked} == {"expert_3"}


@pytest.mark.parametrize("method", ["majority:2", "until-determined", "all", "classifier"])
def test_methods_without_a_model_ask_the_same_and_are_scored_by_cost(method: str) -> None:
    plain, dear = (replay(table, options=Options(method), portrayed=False) for table in (TABLE, DEAR))
    assert [case.asked for case in plain.scored] == [case.asked for case in dear.scored]
    whose = sum(5.0 if name == "expert_1" else 1.0 for case in dear.scored for name in case.asked)
    assert dear.summary.cost == whose


def compared(folder: Path, **options: object) -> Comparison:
    request = Request(
        methods=("bayes", "confusion", "all"),
        max_errors=(0.1,),
        runs=1,
        **options,  # type: ignore[arg-type]  # fields by name
    )
    with ThreadPoolExecutor(1) as executor:
        return compare(TABLE, request, results=folder / "results.jsonl", executor=executor)


def test_costs_steer_a_comparison_unless_it_is_blind(tmp_path: Path) -> None:
    settings, costs = EvidenceSettings(particles=64), {"expert_1": 5.0}
    compared(tmp_path, options=Options(settings=settings))
    results = tmp_path / "results.jsonl"
    plain = results.read_text().splitlines()
    blind = compared(tmp_path, options=Options(settings=settings, cost_blind=True), costs=costs)
    assert results.read_text().splitlines() == plain  # nothing was run again: the same was asked
    weighed = compared(tmp_path, options=Options(settings=settings), costs=costs)
    added = [line_of(text).cell for text in results.read_text().splitlines()[len(plain) :]]
    assert {cell.options.method for cell in added} == {"bayes", "confusion"}  # to ask everyone is to ask everyone
    assert {cell.costs for cell in added} == {(5.0, 1.0, 1.0, 1.0)}
    assert (blind.cost_blind, weighed.cost_blind) == (True, False)
    assert blind.costs == weighed.costs == {"expert_1": 5.0, "expert_2": 1.0, "expert_3": 1.0, "expert_4": 1.0}
    dear = [
        next(c.points[0].by_expert["expert_1"] for c in found.curves if c.method == "bayes")
        for found in (blind, weighed)
    ]
    assert dear[1] < dear[0]


def test_cells_without_costs_keep_their_names() -> None:
    cell = Cell("made", "0" * 64, Options("all"), "consensus", RunPlan(0, 5, None), 3)
    assert cell.id == "f7083453873a2a748a76"  # as before costs steered anything
    dear = replace(cell, digest=TABLE.digest, costs=(5.0, 1.0, 1.0, 1.0))
    assert len({cell.id, dear.id, replace(dear, costs=None).id}) == 3
    assert line_of(run_cell(dear, TABLE)).cell == dear
