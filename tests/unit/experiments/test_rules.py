"""Replays with rules and with outcomes that are not equally grave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.core.rules import Rules
from quorate.core.settings import EvidenceSettings
from quorate.data.synthetic import simulate
from quorate.experiments.cell import Cell, line_of, run_cell
from quorate.experiments.protocol import RunPlan
from quorate.experiments.replay import replay
from quorate.reporting.replay import ReplayReport, figures
from quorate.reporting.report import render_report

TABLE = simulate(np.random.default_rng(0), experts=4, classes=2, cases=30, skill=0.85, missing=0.1)
QUICK = Options(max_error=0.05, settings=EvidenceSettings(particles=64))
CHOOSERS = ["entropy", "stop", "lookahead", "random"]


def run(options: Options, limit: int = 15) -> ReplayReport:
    return replay(TABLE, options=options, limit=limit, portrayed=False)


@pytest.mark.parametrize("chooser", CHOOSERS)
def test_rules_that_never_bind_and_an_equal_loss_change_nothing(chooser: str) -> None:
    plain = run(replace(QUICK, chooser=chooser))
    idle = run(replace(QUICK, chooser=chooser, rules=Rules(max_votes=4, budget=60), loss={"0": 1.0}))
    assert [replace(case, loss=None, stated_loss=None) for case in idle.scored] == list(plain.scored)
    assert [case.stated_loss for case in idle.scored] == [case.stated_error for case in plain.scored]
    assert idle.summary.mean_loss == pytest.approx(plain.summary.error_rate)
    assert (plain.summary.limited, figures(plain)["limited"], figures(plain)["mean_loss"]) == (0, 0, None)


@pytest.mark.parametrize("chooser", CHOOSERS)
def test_the_model_keeps_to_every_rule(chooser: str) -> None:
    rules = Rules(min_votes=2, required=("expert_4",), max_votes=3, budget=35)
    report = run(replace(QUICK, chooser=chooser, rules=rules))
    assert report.summary.cost <= 35
    for case in report.scored:
        assert case.human_votes <= 3
        if case.reason != "budget":
            assert case.human_votes >= min(2, case.panel)
        assert case.kept or case.limited
    seen = {case.key: case.asked for case in report.scored if case.reason != "budget"}
    there = {table_case.key for table_case in map(TABLE.case, range(15)) if table_case.available[3]}
    assert all(asked[0] == "expert_4" for key, asked in seen.items() if key in there)
    assert len(seen) > 5


def test_a_limit_is_marked_in_the_report() -> None:
    report = run(replace(QUICK, max_error=0.001, rules=Rules(max_votes=1)))
    limited = [case for case in report.scored if case.reason == "limit"]
    assert report.summary.limited == figures(report)["limited"] == report.summary.unsure == len(limited)
    assert limited
    page = render_report(report, version="0")
    assert '<span class="tag">limit</span> <span class="tag">unsure</span>' in page
    assert "settled by a limit on votes or the budget" in page


@pytest.mark.parametrize("chooser", CHOOSERS)
def test_a_grave_outcome_is_missed_less_and_stated(chooser: str) -> None:
    report = run(replace(QUICK, chooser=chooser, loss={"1": 20.0}))
    for case in report.scored:
        assert case.stated_loss is not None
        assert case.reason in ("certain", "sure", "tie")
        assert case.reason != "sure" or case.stated_loss <= 0.05
        assert case.loss == pytest.approx(case.error * (20.0 if case.truth == ("1",) else 1.0)) or case.tied
    found = figures(report)
    assert found["missed"] == {"1": report.summary.by_outcome[1].errors}
    page = render_report(report, version="0")
    assert "Missed 1" in page
    assert "Mean loss" in page


def test_a_floor_keeps_to_rules_and_losses_too() -> None:
    report = run(replace(QUICK, method="hindsight", rules=Rules(max_votes=1), loss={"1": 5.0}), limit=5)
    assert max(case.human_votes for case in report.scored) <= 1
    assert report.summary.mean_loss is not None


def test_cells_with_rules_and_losses_have_their_own_names() -> None:
    cell = Cell("made", TABLE.digest, Options("all"), "consensus", RunPlan(0, 5, None), 3)
    ruled = replace(cell, options=replace(cell.options, rules=Rules(required=("expert_1",), max_votes=2)))
    grave = replace(cell, options=replace(cell.options, loss={"1": 5.0}))
    assert len({cell.id, ruled.id, grave.id}) == 3
    assert len({cell, ruled, grave}) == 3
    for one in (cell, ruled, grave):
        line = line_of(run_cell(one, TABLE))
        assert line.cell == one
    assert line_of(run_cell(ruled, TABLE)).figures["limited"] > 0
