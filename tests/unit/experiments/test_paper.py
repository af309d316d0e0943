"""The paper's outputs from finished lines: what each needs, what it says, and what it says of what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.assembly import Options
from quorate.experiments.cell import Cell, Line
from quorate.experiments.paper import MAKERS, Maker, made, makers_of, read_tables, wanted
from quorate.experiments.paper_accuracy import accuracy_table
from quorate.experiments.paper_curves import cheapest
from quorate.experiments.series import Series, Subject, Work
from quorate.reporting.paper import CONSTRUCTED, Claim, Curve, Estimate, Output, OverTime, Point
from quorate.reporting.paper_facts import ACCURACY_OF, INFEXP, MAX_ERRORS, OURS, PANELS, SHIFT, THEIRS

ROWS = {"chestxray": 810, "chaoyang": 750, "cifar10h": 3000, "imagenet16h": 1181, SHIFT: 1000}
SUBJECTS = {name: Subject(name, name, cases) for name, cases in ROWS.items()}
RUNS = [maker for maker in MAKERS if maker.name not in ACCURACY_OF]

Asked = Callable[[Cell], tuple[float, float]]
"""Mean queries and error of a cell."""


def line(cell: Cell, queries: float, error: float) -> Line:
    """A finished run with that many queries and errors, as far as whole cases allow."""
    cases = cell.run.limit
    low = int(queries)
    more, wrong = round((queries - low) * cases), round(error * cases)
    numbers = {
        "rows": list(range(cell.run.offset, cell.run.offset + cases)),
        "asked": [[0] * (low + (place < more)) for place in range(cases)],
        "error": [float(place < wrong) for place in range(cases)],
        "stated": [error] * cases,
        "truth": [0] * cases,
    }
    return Line(cell.id, cell, {"unhealthy_fits": 0, "forced_asks": 0}, {"seconds": 2.0}, numbers)


def work_of(makers: list[Maker], asked: Asked, *, runs: int = 2, leave: Callable[[Cell], bool] | None = None) -> Work:
    empty = Work(SUBJECTS, runs)
    cells = [cell for series in wanted(makers, empty) for cell in empty.cells(series)]
    lines = {cell.id: line(cell, *asked(cell)) for cell in cells if leave is None or not leave(cell)}
    return replace(empty, lines=lines)


def usual(cell: Cell) -> tuple[float, float]:
    e = cell.options.max_error
    return 3 - 10 * e, 0.0 if e <= 0.01 else e / 2


def output(work: Work, name: str) -> Output:
    (found,) = made(makers_of([name]), work).outputs
    return found


def test_the_protocol_is_the_papers() -> None:
    assert MAX_ERRORS == (0, 0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.1, 0.2)
    work = Work(SUBJECTS)
    cells = [cell for series in wanted(makers_of(["fig2"]), work) for cell in work.cells(series)]
    assert len(cells) == len(set(cells)) == 4 * 10 * 5 * 12
    theirs = [cell for cell in cells if cell.options == Options(THEIRS, 0.01)]
    assert {cell.table for cell in theirs} == set(PANELS)
    assert {cell.run.limit for cell in theirs} == {250}
    assert {cell.run.shuffle for cell in theirs if cell.table == "chestxray"} == {None, 1, 2, 3}
    assert [cell.run.offset for cell in theirs if cell.table == "cifar10h"] == list(range(0, 3000, 250))
    shifts = [cell for series in wanted(makers_of(["shift"]), work) for cell in work.cells(series)]
    assert len(shifts) == 3 * 48
    assert {(cell.options.window, cell.options.max_error) for cell in shifts} == {(50, 0.01)}
    assert {cell.options.schedule for cell in shifts} == {"every", "shift", None}


def test_outputs_share_their_runs() -> None:
    work = Work(SUBJECTS)
    alone = {name: set(wanted(makers_of([name]), work)) for name in ("fig2", "fig3", "table1", "table2", "fig5")}
    assert alone["fig3"] | alone["table1"] | alone["table2"] <= alone["fig2"]
    assert len(alone["fig5"] & alone["fig2"]) == 20
    everything = wanted(MAKERS, work)
    assert len(everything) == len(set(everything))
    assert everything[0] in alone["table1"]  # the most telling first


@pytest.mark.parametrize("maker", RUNS, ids=lambda maker: maker.name)
def test_an_output_says_what_it_misses(maker: Maker) -> None:
    empty = output(Work(SUBJECTS, 2), maker.name)
    series = wanted([maker], Work(SUBJECTS, 2))
    assert empty.numbers == ()
    assert empty.missing == sum(len(Work(SUBJECTS, 2).cells(one)) for one in series)
    whole = output(work_of([maker], usual), maker.name)
    assert whole.missing == 0
    assert whole.numbers
    assert all(one.ours is None or np.isfinite(one.ours.value) for one in whole.numbers)


def test_a_series_with_a_run_missing_is_left_out() -> None:
    def first(cell: Cell) -> bool:
        return cell.table == "chaoyang" and cell.run.offset == 0 and cell.options.max_error == 0.05

    found = output(work_of(list(makers_of(["table1"])), usual, leave=first), "table1")
    assert found.missing == 2  # of both presets
    assert ("allowed 0.05", "Chaoyang") not in {(one.row, one.column) for one in found.numbers}
    assert ("allowed 0.05", "CIFAR-10H") in {(one.row, one.column) for one in found.numbers}


def test_queries_at_no_error_are_those_of_the_cheapest_threshold() -> None:
    found = output(work_of(list(makers_of(["fig2"])), usual), "fig2")
    at = {(one.row, one.method, one.column): one for one in found.numbers}
    theirs = at["queries at 0 % error", THEIRS, "ChestX-ray"]
    assert theirs.ours is not None
    assert theirs.ours.value == pytest.approx(2.9)
    assert theirs.note == "allowed 0.01"
    assert theirs.difference == pytest.approx(2.9 - 2.55)
    assert at["queries at 0 % error", "confusion", "Chaoyang"].claim == Claim(words="never")


def test_a_finer_grid_finds_what_lies_between_the_first_two_thresholds() -> None:
    def asked(cell: Cell) -> tuple[float, float]:
        e = cell.options.max_error
        return 3 - 100 * e, 0.0 if e <= 0.002 else e

    work = work_of(list(makers_of(["finer"])), asked)
    at = {(one.row, one.method, one.column): one for one in output(work, "finer").numbers}
    ours = at["queries at 0 % error", OURS, "Chaoyang"]
    assert ours.ours is not None
    assert ours.ours.value == pytest.approx(2.8)
    assert ours.ours.low < ours.ours.high
    assert ours.note == "allowed 0.002"
    assert at["queries, allowed 0.003", INFEXP, "Chaoyang"].note == "2 wrong"
    assert ("queries, allowed 0.001", THEIRS, "Chaoyang") not in at
    grid = {(one.row, one.method): one.note for one in output(work, "fig2").numbers if one.column == "Chaoyang"}
    assert grid["queries at 0 % error", OURS] == f"allowed 0, {CONSTRUCTED}"


def test_a_required_vote_stands_beside_the_targets_that_need_it() -> None:
    def asked(cell: Cell) -> tuple[float, float]:
        return (1.0, 0.02) if cell.options.rules.min_votes else (0.0, 0.5)

    found = output(work_of(list(makers_of(["fig5"])), asked), "fig5").numbers
    required = {one.row: one for one in found if "one vote required" in one.row}
    assert {row.partition(",")[0] for row in required} == {"any expert says abnormal", "all say abnormal", "all agree"}
    assert required["all agree, one vote required: error"].note == "allowed 0.1, 10 of 500"


def point(e: float, queries: float, error: float) -> Point:
    some, wrong = Estimate(queries, queries, queries, 0.1), Estimate(error, 0.0, 2 * error, 0.1)
    return Point(e, 12, 3000, round(3000 * error), some, wrong, 0.0, error, wrong, error, 0, 0)


def test_no_error_by_construction_is_marked_and_never_is_said() -> None:
    curve = Curve(THEIRS, (point(0.0, 3.0, 0.0), point(0.005, 2.5, 0.0005), point(0.01, 2.0, 0.01)))
    (zero,) = cheapest("", "", curve, 0.0, None, None)
    assert zero.note == f"allowed 0, {CONSTRUCTED}"
    (measured,) = cheapest("", "", replace(curve, name=INFEXP), 0.0, None, None)  # it may stop before the votes decide
    assert measured.note == "allowed 0"
    (small,) = cheapest("", "", curve, 0.001, None, None)
    assert (small.ours and small.ours.value, small.note) == (2.5, "allowed 0.005")
    (never,) = cheapest("", "", Curve("confusion", (point(0.0, 3.0, 0.004),)), 0.001, None, Claim(words="never"))
    assert never.ours is None
    assert cheapest("", "", Curve("confusion", ()), 0.0, None, None) == []


def test_a_promise_that_was_broken_is_found() -> None:
    def bad(cell: Cell) -> tuple[float, float]:
        broken = cell.table == "chaoyang" and cell.options.method == THEIRS and cell.options.max_error == 0.05
        return (2.0, 0.2) if broken else usual(cell)

    found = made(makers_of(["fig3"]), work_of(list(makers_of(["fig3"])), bad)).promises
    assert len(found) == 2 * 4 * 10
    assert [(one.panel, one.max_error) for one in found if not one.kept] == [("Chaoyang", 0.05)]
    targets = made(makers_of(["fig5"]), work_of(list(makers_of(["fig5"])), usual)).promises
    assert "ChestX-ray, all agree" in {one.panel for one in targets}


def test_the_first_and_the_last_cases_are_told_apart() -> None:
    found = output(work_of(list(makers_of(["table2"])), lambda _: (1.2, 0.0)), "table2")
    values = {(one.row, one.method): one.ours and one.ours.value for one in found.numbers if one.column == "Chaoyang"}
    assert values["first 50", THEIRS] == 2.0  # the first fifth of a run asks one more
    assert values["last 50", THEIRS] == 1.0


def test_streams_that_shift_are_drawn_case_by_case() -> None:
    found = output(work_of(list(makers_of(["fig4"])), lambda _: (1.5, 0.0)), "fig4")
    assert isinstance(found.drawing, OverTime)
    assert found.drawing.shift == 125
    assert {stream.runs for stream in found.drawing.streams} == {8}
    assert found.drawing.streams[0].queries[124:126] == (2.0, 1.0)
    errors = [one for one in found.numbers if one.row == "error after"]
    assert [one.difference for one in errors] == [0.0] * 3


def test_a_variant_is_held_against_the_whole_method_on_the_same_cases() -> None:
    def asked(cell: Cell) -> tuple[float, float]:
        return (2.5 if cell.options.chooser == "random" else 2.0), 0.0

    found = output(work_of(list(makers_of(["ablations"])), asked), "ablations")
    more = {one.row: one.ours and one.ours.value for one in found.numbers if "more" in one.row}
    assert more["random querying, allowed 0.01: more queries than whole"] == pytest.approx(0.5)
    assert more["no temperature, allowed 0.01: more queries than whole"] == 0.0


def test_other_priors_are_followed_for_a_hundred_cases() -> None:
    def asked(cell: Cell) -> tuple[float, float]:
        early = cell.options.settings is not None  # 50 of 100 cases ask one more
        return (1.5 if early else 1.0), 0.0

    work = work_of(list(makers_of(["sensitivity"])), asked)
    found = output(work, "sensitivity")
    values = {one.row: one.ours and one.ours.value for one in found.numbers if one.column == "CIFAR-10H"}
    assert values["eta = 2, cases 1 to 50"] == 1.0
    assert values["eta = 2, cases 51 to 100"] == 0.0


def test_quick_work_is_small_and_other_work() -> None:
    quick = Work({name: replace(one, cases=180) for name, one in SUBJECTS.items()}, 1, quick=True)
    cells = [cell for series in wanted(MAKERS, quick) for cell in quick.cells(series)]
    assert {cell.run.limit for cell in cells} == {60}
    assert len(cells) < 100
    assert {cell.options.max_error for cell in cells} == {0.01, 0.025, 0.05}
    whole = {cell.id for series in wanted(MAKERS, Work(SUBJECTS)) for cell in Work(SUBJECTS).cells(series)}
    assert not whole & {cell.id for cell in cells}
    assert quick.cells(Series(SHIFT, Options("all")))[0].run.offset == 95


@pytest.mark.panels
@pytest.mark.parametrize(("name", "apart"), [("table3", 0.0031), ("table4", 0.0006), ("table6", 0.001)])
def test_the_accuracies_are_those_of_the_paper(name: str, apart: float, panels: Path) -> None:
    _, subjects = read_tables(panels, makers_of([name]), quick=False)
    found = accuracy_table(name, Work(subjects))
    assert max(abs(one.difference or 0.0) for one in found.numbers) < apart
