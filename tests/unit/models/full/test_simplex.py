from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.models.full.simplex import log_ratios, probabilities, softmax, tempered


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=6))
def test_inverse(ratios: list[float]) -> None:
    given_ = np.array(ratios)
    assert log_ratios(probabilities(given_), clip=20.0) == pytest.approx(given_, abs=1e-9)


@pytest.mark.parametrize("row", [(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.9, 0.1 - 1e-30, 1e-30)])
def test_no_class_order_is_special(row: tuple[float, ...]) -> None:
    back = {
        tuple(probabilities(log_ratios(np.array([row[k] for k in order]), clip=20.0))[np.argsort(order)].round(15))
        for order in permutations(range(3))
    }
    assert len(back) == 1


def test_both_sides_are_clipped_alike() -> None:
    assert log_ratios(np.array([[1.0, 0.0], [0.0, 1.0], [1e-300, 1.0]]), clip=7.0).ravel().tolist() == [7.0, -7.0, -7.0]


def test_missing_rows_stay_missing_and_others_are_kept() -> None:
    rows = np.array([[[np.nan, np.nan], [0.5, 0.5]]])  # (1, 2, 2)
    found = log_ratios(rows, clip=20.0)
    assert np.isnan(found[0, 0]).all()
    assert found[0, 1].tolist() == [0.0]


def test_the_temperature_divides_probabilities() -> None:
    theta = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    assert tempered(theta, np.array([0.5, 2.0])) == pytest.approx(softmax(theta / np.array([[0.5], [2.0]])))
    assert tempered(theta, 1e-5)[0].tolist() == [1.0, 0.0, 0.0]
