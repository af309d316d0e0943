"""The table of both presets: what counts once, and what is said where runs are missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks import presets
from benchmarks.presets import OURS, PANELS, THEIRS, Gap, Sum, checks, difference, gathered, lower_bound, table

from quorate.assembly import Options
from quorate.assurance.summary import exact_interval
from quorate.experiments.cell import Cell, Line
from quorate.experiments.protocol import RunPlan


def line(
    rows: list[int], *, wrong: int = -1, tied: int = -1, asked: int = 2, shuffle: int | None = None, method: str = OURS
) -> Line:
    cell = Cell("data/chestxray.csv", "0", Options(method=method), "consensus", RunPlan(0, len(rows), shuffle), 0)
    cases = {
        "rows": rows,
        "asked": [[0] * asked for _ in rows],
        "error": [1.0 if row == wrong else 0.5 if row == tied else 0.0 for row in rows],
        "stated": [0.01] * len(rows),
        "truth": [-1 if row == tied else 0 for row in rows],
    }
    return Line("id", cell, {}, {"seconds": 1.0}, cases)


def test_ties_are_no_errors_and_a_case_of_two_runs_counts_once() -> None:
    found = gathered([line([0, 1, 2], wrong=1, tied=2), line([2, 1, 3], tied=2, shuffle=1)])
    assert [s.decided for s in found] == [2, 2]
    assert [s.errors for s in found] == [0.0, 1.0]  # the shuffled run sorts first
    assert sum(s.stated for s in found) == pytest.approx(0.04)
    assert sum(s.distinct for s in found) == pytest.approx(3)
    assert sum(s.distinct_errors for s in found) == pytest.approx(0.5)


def test_of_a_run_that_is_there_twice_the_last_counts() -> None:
    found = gathered([line([0, 1], asked=5), line([0, 1], asked=1)])
    assert [s.queries for s in found] == [1.0]


def some(panel: str, method: str, queries: list[float], *, errors: float = 0.0) -> list[Sum]:
    one = Sum(panel, method, 0.01, "", 250, 0.0, errors, 1.0, 250.0, errors, 1.0)
    return [replace(one, run=f"None {n}", queries=value) for n, value in enumerate(queries)]


def test_the_difference_is_that_of_pairs_with_a_t_interval() -> None:
    ours, theirs = some("chestxray", OURS, [1.0, 2.0, 3.0]), some("chestxray", THEIRS, [2.0, 2.5])
    gap = difference(ours, theirs)
    assert (gap.mean, gap.pairs) == (-0.75, 2)
    assert gap.half == pytest.approx(12.706 * 0.25, rel=1e-3)
    assert str(gap).endswith("2 pairs of runs")
    assert str(Gap(-0.25, 0.1, presets.RUNS)) == "-0.25 (-0.35, -0.15)"
    row = table([*ours, *theirs]).splitlines()[2]
    assert "| 2.00 (3 runs) | 2.25 (2 runs) | -0.75 (" in row
    assert "| 0 of 750 / 3.0 | 0.00% (0.00%) |" in row


def test_the_lower_bound_is_exact_for_whole_numbers_of_errors() -> None:
    runs = some("cifar10h", OURS, [1.0] * 4, errors=5.0)
    assert lower_bound(runs) == pytest.approx(exact_interval(20, 1000, level=0.9)[0])
    assert lower_bound(some("cifar10h", OURS, [1.0])) == 0.0


def test_the_checks_say_what_was_not_kept() -> None:
    found = [s for panel in PANELS for s in some(panel, THEIRS, [2.0, 2.1, 2.2])]
    for panel in PANELS:
        found += some(panel, OURS, [1.0, 1.2, 1.1], errors=10.0 if panel == "chaoyang" else 0.0)
    ours, theirs, gap = checks(found)
    assert ours == (
        "bayes:quorate at 0.01: 30 errors made, 12.0 stated, z +5.2; error surely above what is allowed: Chaoyang"
    )
    assert theirs.endswith("on no panel")
    assert gap.startswith("mean difference of queries over the 4 panels at .01: -1.00 (-1.")
