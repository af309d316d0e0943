"""Comparisons at equal error: known curves give known differences, and runs are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import optimum, paired
from benchmarks.paired import Sum, at_equal_error, at_same_level, cost, made, of, queries
from benchmarks.policies import EXPERIMENTS, gathered

from quorate.data.synthetic import simulate
from quorate.experiments.cell import Cell, line_of, run_cell
from quorate.experiments.protocol import RunPlan
from quorate.policy.information import entropy

RUNS = 12


def runs(
    variant: str, asks: Callable[[float], float], error: Callable[[float], float], noise: float = 0.0
) -> list[Sum]:
    """Runs of 250 cases at some allowed errors whose queries and stated errors are known."""
    rng = np.random.default_rng(0)
    jitter = rng.normal(0, noise, RUNS)
    return [
        Sum("p", variant, e, f"{run}", 250, asks(e) + jitter[run], asks(e), 250 * error(e), 250 * error(e))
        for e in (0.05, 0.025, 0.01, 0.005)
        for run in range(RUNS)
    ]


def test_what_is_asked_less_at_equal_error_is_found() -> None:
    """One asks a tenth less at every error; it also settles with twice the error, so that it looks better still."""
    plain = runs("plain", lambda e: -np.log(e), lambda e: e / 3)
    sly = runs("sly", lambda e: -np.log(2 * e) - 0.1, lambda e: 2 * e / 3)
    found = [*plain, *sly]
    gap = at_equal_error(of(found, "p", "sly"), of(found, "p", "plain"))
    assert gap.mean == pytest.approx(-0.1)
    assert gap.half == pytest.approx(0.0, abs=1e-9)
    assert at_same_level(of(found, "p", "sly"), of(found, "p", "plain"), 0.01).mean == pytest.approx(-0.1 - np.log(2))


def test_runs_are_paired() -> None:
    plain, other = runs("plain", lambda e: -np.log(e), lambda e: e / 3, noise=0.5), []
    other = [replace(one, variant="other", queries=one.queries + 0.2) for one in plain]
    gap = at_same_level(of([*plain, *other], "p", "other"), of(plain, "p", "plain"), 0.025)
    assert gap.mean == pytest.approx(0.2)
    assert gap.half < 1e-9  # what runs share does not blur the difference
    shuffled = [replace(one, run=f"{(int(one.run) + 5) % RUNS}") for one in other]
    assert at_same_level(of([*plain, *shuffled], "p", "other"), of(plain, "p", "plain"), 0.025).half > 0.1


def test_runs_of_every_variant_are_told_apart() -> None:
    table = simulate(np.random.default_rng(0), experts=5, classes=2, cases=6)
    variants = [*EXPERIMENTS["choosers"], *EXPERIMENTS["costs"], *EXPERIMENTS["batches"], *EXPERIMENTS["loss"]]
    lines = []
    for variant in variants:
        cell = Cell("chestxray.csv", table.digest, variant.options, "consensus", RunPlan(0, 6), 0, variant.costs)
        lines.append(line_of(run_cell(cell, table)))
    found = gathered([*lines, lines[0]])
    assert {one.variant for one in found} == {variant.name for variant in variants}
    assert len(found) == len(variants)
    for one in found:
        assert one.rounds <= one.queries <= 5
        assert one.cost is not None
        assert one.queries <= one.cost <= 1.8 * 5
        assert (one.rounds < one.queries) == (one.variant == "two at once")
    assert cost(found) >= queries(found)
    assert 0 <= made(found) <= 1


def test_no_policy_beats_the_best_one() -> None:
    """By the rate at which the best policy weighs votes against errors, none of the others costs less."""
    rng = np.random.default_rng(3)
    mass = rng.dirichlet(np.full(16, 0.3), size=20)
    whole = (mass[..., None] * rng.dirichlet([0.2, 0.2], size=(20, 16))).reshape(20, 2, 2, 2, 2, 2)
    for axis in range(1, 5):
        whole = np.concatenate([whole, whole.sum(axis=axis, keepdims=True)], axis=axis)
    state = whole.reshape(20, -1, 2)
    reached = state.sum(axis=2)
    given = np.divide(state, reached[..., None], out=np.zeros_like(state), where=reached[..., None] > 0)
    found = optimum.States(reached, reached - state.max(axis=2), entropy(given) * reached, classes=2, experts=4)
    for allowed in (0.05, 0.1, 0.3):
        loss = {name: votes + error / allowed for name, (votes, error) in optimum.policies(found, allowed)}
        assert loss["best there is"] <= min(loss.values()) + 1e-9
        assert loss["best there is"] <= loss["lookahead"] <= loss["entropy"] + 1e-9


def test_intervals_widen_with_noise() -> None:
    rng = np.random.default_rng(1)
    noisy = rng.normal(0, 1, RUNS)
    gap = paired.jackknife(lambda some: float(np.mean(noisy[some])), RUNS)
    assert gap.mean == pytest.approx(noisy.mean())
    assert gap.half == pytest.approx(2.201 * noisy.std(ddof=1) / np.sqrt(RUNS), rel=1e-3)
