from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.core.arrays import Ints
from quorate.models.evidence.cases import Cases, regime_numbers, regimes_of
from quorate.models.evidence.density import Data, Model, bent, log_likelihood, make_data
from quorate.models.evidence.layout import Shape, classifier_at, expert_at, grown, regime_at, size
from tests.unit.models.evidence import panels

SHAPES = [
    {"classes": 2, "experts": 4},
    {"classes": 3, "experts": 2},
    {"classes": 4, "experts": 3, "classifiers": 2, "missing": 0.4},
    {"classes": 2, "experts": 3, "missing": 0.4},
]


def regime_of(cases: Cases, model: Model) -> Ints:
    regimes = regimes_of(cases.missing)
    assert len(regimes) == model.shape.regimes
    return regime_numbers(cases.missing, regimes)


def data_of(cases: Cases, model: Model, power: float = 1.0) -> Data:
    powers = np.full(len(cases), power)
    return make_data(cases.scores, regime_of(cases, model), cases.votes, powers, regimes=model.shape.regimes)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_likelihood_is_that_of_the_definition(shape: dict[str, int], seed: int) -> None:
    cases, model, truth = panels.made_up(seed, **shape)
    found = log_likelihood(truth, model, data_of(cases, model), False, np.empty(0))
    assert found == pytest.approx(panels.log_likelihood(truth, model, cases, regime_of(cases, model)), abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_gradient_is_that_of_finite_differences(shape: dict[str, int], seed: int) -> None:
    cases, model, truth = panels.made_up(seed, **shape)
    data, found = data_of(cases, model, power=0.7), np.zeros(size(model.shape))
    theta = 0.7 * np.random.default_rng(seed).standard_normal(len(truth))  # no exponent reaches its bound
    log_likelihood(theta, model, data, True, found)
    step, expected = 1e-5, np.empty(len(theta))
    for d in range(len(theta)):
        ahead, behind = theta.copy(), theta.copy()
        ahead[d] += step
        behind[d] -= step
        ends = [log_likelihood(place, model, data, False, np.empty(0)) for place in (ahead, behind)]
        expected[d] = (ends[0] - ends[1]) / (2 * step)
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_case_counts_by_its_power() -> None:
    cases, model, truth = panels.made_up(3)
    whole = log_likelihood(truth, model, data_of(cases, model), False, np.empty(0))
    half = log_likelihood(truth, model, data_of(cases, model, power=0.5), False, np.empty(0))
    none = log_likelihood(truth, model, data_of(cases, model, power=0.0), False, np.empty(0))
    assert half == pytest.approx(whole / 2)
    assert none == 0.0


@given(st.floats(-30, 30), st.floats(0.1, 10))
def test_a_score_is_bent_but_keeps_its_order_and_sign(t: float, c: float) -> None:
    assert bent(t, c) == pytest.approx(c * np.arcsinh(t / c), abs=1e-9)


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
def test_what_grows_keeps_what_it_had(K: int, H: int, M: int, R: int, more: int, others: int) -> None:
    rng = np.random.default_rng(0)
    before, after = Shape(K, H, M, R), Shape(K, H + more, M + others, R + others)
    theta = rng.standard_normal((3, size(before)))
    larger = grown(rng, theta, before, after)
    assert larger.shape == (3, size(after))
    for places, width in ((classifier_at, K + 1), (regime_at, 1), (expert_at, 2 * K + 1)):
        for number in range({classifier_at: M, regime_at: R, expert_at: H}[places]):
            old, new = places(before, number), places(after, number)
            assert np.array_equal(larger[:, new : new + width], theta[:, old : old + width])
    shared = classifier_at(before, 0)
    assert np.array_equal(larger[:, :shared], theta[:, :shared])
    assert np.isfinite(larger).all()
