"""Intervals over rows: against a maintained library, and against what is wrong with resampling runs."""

from __future__ import annotations

import numpy as np
import pytest
from mapie.metrics.calibration import expected_calibration_error as mapie_ece
from scipy import stats

from quorate.assurance import bootstrap
from quorate.assurance.bootstrap import area_under, class_error, interval, paired_difference, resampled_rows
from quorate.assurance.calibration import expected_calibration_error
from quorate.assurance.runs import Run
from quorate.errors import InputError


def made(rng: np.random.Generator, rows: np.ndarray, queries: np.ndarray | None = None) -> Run:
    n = len(rows)
    probability = rng.uniform(0.5, 1, n)
    asked = rng.integers(0, 5, n) if queries is None else queries
    return Run(
        rows=rows,
        queries=asked,
        cost=np.asarray(asked * 1.5, dtype=np.float64),
        error=(rng.random(n) > probability).astype(float),
        probability=probability,
        stated=1 - probability,
        truth=rng.integers(0, 2, n),
    )


def test_the_interval_of_a_mean_is_scipys() -> None:
    rng = np.random.default_rng(0)
    run = made(rng, np.arange(300))
    ours = interval(bootstrap.mean_queries, resampled_rows(rng, [run], resamples=9999), [run])
    theirs = stats.bootstrap((run.queries,), np.mean, method="percentile", n_resamples=9999, rng=rng)
    assert ours.value == run.queries.mean()
    assert abs(ours.low - theirs.confidence_interval.low) < 0.02
    assert abs(ours.high - theirs.confidence_interval.high) < 0.02


def test_the_calibration_error_is_mapies_and_covers_its_truth() -> None:
    rng = np.random.default_rng(1)
    run = made(rng, np.arange(400))
    plain = expected_calibration_error(run.probability.tolist(), (1 - run.error).tolist())
    found = interval(bootstrap.calibration_error, resampled_rows(rng, [run]), [run])
    assert found.value == pytest.approx(plain)
    assert found.low < found.high
    # mapie counts the edges from 0 to 1: 16 of them make our 15 bins
    theirs = mapie_ece(1 - run.error, run.probability, num_bins=16, split_strategy="uniform")
    assert plain == pytest.approx(theirs)


def test_runs_that_share_rows_are_not_taken_for_more_cases() -> None:
    rng = np.random.default_rng(2)
    difficulty = rng.integers(0, 5, 100)
    orders = [rng.permutation(100) for _ in range(12)]
    runs = [made(rng, order, difficulty[order]) for order in orders]
    shared = interval(bootstrap.mean_queries, resampled_rows(rng, runs), runs)
    single = interval(bootstrap.mean_queries, resampled_rows(rng, runs[:1]), runs[:1])
    assert shared.high - shared.low == pytest.approx(single.high - single.low, rel=0.15)


def test_pairing_removes_what_both_methods_share() -> None:
    rng = np.random.default_rng(3)
    rows = np.arange(200)
    hard = rng.integers(0, 4, 200)
    own, other = made(rng, rows, hard), made(rng, rows, hard + 1)
    weights = resampled_rows(rng, [own, other])
    difference = paired_difference(bootstrap.mean_queries, weights, [own], [other])
    assert (difference.value, difference.low, difference.high) == pytest.approx((-1, -1, -1))


def test_error_of_a_class_and_of_one_that_never_occurs() -> None:
    rng = np.random.default_rng(4)
    run = made(rng, np.arange(200))
    weights = resampled_rows(rng, [run])
    assert interval(class_error(1), weights, [run]).value == pytest.approx(run.error[run.truth == 1].mean())
    assert np.isnan(interval(class_error(7), weights, [run]).value)


def test_blocks_of_neighbours_are_drawn_together() -> None:
    rng = np.random.default_rng(5)
    run = made(rng, np.arange(100))
    weights = resampled_rows(rng, [run], block=25).weights
    assert weights.shape == (1001, 100)
    assert (weights[:, :25] == weights[:, :1]).all()
    with pytest.raises(InputError, match="no run"):
        resampled_rows(rng, [])


def test_area_by_hand() -> None:
    assert area_under([0, 1, 2], [0.2, 0.1, 0.0], 0, 2) == pytest.approx(0.2)
    assert area_under([2, 0, 1], [0.0, 0.2, 0.1], 0.5, 1.5) == pytest.approx(0.1)
    assert area_under([1], [0.3], 0, 2) == pytest.approx(0.6)
