"""Figures of several runs: standard errors over rows and over runs, differences on the same cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quorate.assurance import bootstrap
from quorate.assurance.runs import TIE, Run
from quorate.experiments.estimates import Estimator, joined, part


def run(rows: list[int], queries: list[int], wrong: tuple[int, ...] = (), ties: tuple[int, ...] = ()) -> Run:
    error = np.array([1.0 if place in wrong else 0.0 for place in range(len(rows))])
    truth = np.array([TIE if place in ties else 0 for place in range(len(rows))])
    asked = np.array(queries)
    stated = np.full(len(rows), 0.01)
    return Run(np.array(rows), asked, asked.astype(float), error, 1 - stated, stated, truth)


def test_joined_runs_have_the_figures_of_their_parts() -> None:
    runs = [run([0, 1, 2], [1, 2, 3], wrong=(1,)), run([2, 1, 3], [3, 3, 1])]
    estimate = Estimator.over(runs)
    for figure in (bootstrap.mean_queries, bootstrap.decided_error, bootstrap.calibration_error):
        assert figure(estimate.rows, [joined(runs)]) == pytest.approx(figure(estimate.rows, runs), nan_ok=True)
    assert part(runs[0], -2, None).queries.tolist() == [2, 3]


def test_the_larger_standard_error_counts() -> None:
    alike = [run(list(range(40)), [1, 3] * 20)] * 4  # rows differ, runs do not
    found = Estimator.over(alike)(bootstrap.mean_queries, alike)
    assert found.value == 2.0
    assert found.error == pytest.approx(1 / math.sqrt(40), rel=0.15)
    paths = [run(list(range(40)), [n] * 40) for n in (1, 2, 3)]  # runs differ, rows do not
    found = Estimator.over(paths)(bootstrap.mean_queries, paths)
    assert found.error == pytest.approx(1 / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((2 - 1.96 * found.error, 2 + 1.96 * found.error), rel=1e-3)


def test_a_difference_is_that_of_the_same_cases() -> None:
    usual = [run(list(range(40)), [1, 3] * 20), run(list(range(40)), [3, 1] * 20)]
    more = [run(list(range(40)), [2, 4] * 20), run(list(range(40)), [4, 2] * 20)]
    found = Estimator.over([*usual, *more]).difference(bootstrap.mean_queries, more, usual)
    assert (found.value, found.error) == pytest.approx((1.0, 0.0), abs=1e-12)
    assert Estimator.over(usual).difference(bootstrap.mean_queries, usual, more).low == pytest.approx(-1.0)


def test_an_error_that_was_not_made_may_have_stayed_unseen() -> None:
    runs = [run(list(range(50)), [1] * 50, ties=(0,)), run(list(range(50)), [1] * 50, ties=(0,))]
    found = Estimator.over(runs).decided_error(runs)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 49), rel=1e-6)  # of 49 distinct cases that are decided
    assert math.isnan(found.error)


def test_a_bound_on_the_error_is_one_sided() -> None:
    runs = [run(list(range(200)), [1] * 200, wrong=tuple(range(10)))]
    estimate = Estimator.over(runs)
    at_least = estimate.at_least(bootstrap.decided_error, runs)
    assert at_least == pytest.approx(0.05 - 1.645 * math.sqrt(0.05 * 0.95 / 200), abs=0.006)


def test_which_level_is_cheapest_is_chosen_anew_by_every_table() -> None:
    rows = list(range(50))
    careful, bold = [run(rows, [3] * 50)], [run(rows, [2] * 50, wrong=(7,))]
    estimate = Estimator.over([*careful, *bold])
    found = estimate.cheapest([careful, bold], 0.0)
    assert (found.value, found.low, found.high) == (3.0, 2.0, 3.0), "a third of all tables lacks the row that decides"
    assert found.error == pytest.approx(math.sqrt(0.364 * 0.636), abs=0.03)
    assert estimate.cheapest([careful, bold], 0.1).value == 2.0
    assert math.isnan(estimate.cheapest([bold], 0.0).value)
