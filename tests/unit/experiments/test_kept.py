"""Kept runs: short, without a vote, as good as the whole line for every figure, and taken as done by a sweep."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.assurance.runs import TIE
from quorate.core.settings import EvidenceSettings, Settings
from quorate.data.synthetic import simulate
from quorate.data.table import Table
from quorate.errors import InputError
from quorate.experiments.cell import Cell, Line, line_of, rows_of, run_cell, run_of_line
from quorate.experiments.kept import DECIDED, TABLES, keep, kept_text, line_of_kept, read_kept, read_tables, tables_text
from quorate.experiments.protocol import RunPlan, paper_runs
from quorate.experiments.series import Subject, subject_of
from quorate.experiments.sweep import sweep

TABLE = simulate(np.random.default_rng(3), experts=4, classes=2, cases=60)
SUBJECT = subject_of("panel", TABLE)
PLAN = RunPlan(20, 20, shuffle=1)


def cell(options: Options, run: RunPlan = PLAN, table: Table = TABLE) -> Cell:
    return Cell("panel", table.digest, options, "consensus", run, 0)


@pytest.fixture(scope="module")
def line() -> Line:
    return line_of(run_cell(cell(Options("confusion", 0.2)), TABLE))


def test_a_kept_run_gives_the_same_numbers_without_a_vote(line: Line) -> None:
    text = kept_text(line)
    assert len(text) < len(line.to_json()) / 2
    told = json.loads(text)
    assert not {"asked", "truth", "votes", "rows"} & set(told)
    again = line_of_kept(text, {"panel": SUBJECT})
    assert again.cell == line.cell
    one, other = run_of_line(line), run_of_line(again)
    for name in ("rows", "queries", "cost", "error"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert other.stated == pytest.approx(one.stated, rel=0.03)
    assert other.stated.mean() == pytest.approx(one.stated.mean(), rel=0.01)
    assert set(other.truth.tolist()) <= {TIE, DECIDED}
    assert ((other.truth == TIE) == (one.truth == TIE)).all()


@pytest.mark.parametrize(
    "options",
    [
        Options("bayes:paper", 0.05, ablate=("correlations",), settings=Settings(eta=2.0)),
        Options("bayes:quorate", window=9, settings=EvidenceSettings(particles=64)),
        Options("bayes:paper", chooser="random", schedule="shift", settings=Settings()),
    ],
)
def test_what_a_run_was_told_is_kept(options: Options, line: Line) -> None:
    told = cell(options, RunPlan(0, 20, halves=2))
    other = replace(line, id=told.id, cell=told)
    assert line_of_kept(kept_text(other), {"panel": SUBJECT}).cell == told


def test_a_run_of_another_table_is_noticed(line: Line) -> None:
    with pytest.raises(InputError, match="does not belong to the cell"):
        line_of_kept(kept_text(line), {"panel": replace(SUBJECT, digest="0" * 64)})


def test_a_folder_keeps_runs_once_and_a_sweep_takes_them_as_done(tmp_path: Path) -> None:
    cells = [cell(Options("majority:1"), run) for run in paper_runs(60, 4)]
    lines = [line_of(run_cell(one, TABLE)) for one in cells]
    folder = tmp_path / "kept"
    assert keep(folder, {"panel": SUBJECT}, lines[:2]) == 2
    assert keep(folder, {"panel": SUBJECT}, lines[:3]) == 1
    subjects, known = read_kept(folder)
    assert subjects == {"panel": SUBJECT}
    assert set(known) == {line.id for line in lines[:3]}
    with ThreadPoolExecutor(1) as executor:
        done = sweep(cells, {TABLE.digest: TABLE}, results=tmp_path / "new.jsonl", executor=executor, known=known)
    assert [one.id for one in done.lines] == [one.id for one in cells]
    assert len((tmp_path / "new.jsonl").read_text().splitlines()) == 1


def test_runs_of_a_table_that_is_not_described_are_left(tmp_path: Path, line: Line) -> None:
    assert keep(tmp_path, {"other": Subject("other", "0", 9)}, [line]) == 0


def test_what_is_not_kept_runs_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tables\.json: not the tables of a run"):
        read_kept(tmp_path)
    (tmp_path / TABLES).write_text(tables_text([SUBJECT], quick=True))
    assert read_tables(tmp_path / TABLES) == ({"panel": SUBJECT}, True)
    (tmp_path / "panel.jsonl").write_text("a shopping list\n")
    with pytest.raises(InputError, match=r"panel\.jsonl, line 1: not a kept run"):
        read_kept(tmp_path)


def test_a_run_within_halves_walks_its_rows_and_others_keep_their_names() -> None:
    within = cell(Options("until-determined"), RunPlan(10, 20, halves=1))
    found = line_of(run_cell(within, TABLE))
    rows = found.cases["rows"]
    assert sorted(rows[:10]) == list(range(10, 20))
    assert sorted(rows[10:]) == list(range(20, 30))
    assert rows == rows_of(within.run, 60) != rows_of(RunPlan(10, 20, halves=2), 60)
    assert cell(Options("all")).id == cell(Options("all"), replace(PLAN, halves=None)).id != within.id
