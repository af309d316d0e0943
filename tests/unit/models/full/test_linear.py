# the recipe's letters for matrices
from __future__ import annotations

import numpy as np
import pytest

from quorate.models.full.linear import add, cholesky, invert, multiply, solve_lower, solve_upper, write


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_against_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    B = rng.standard_normal((size, size + 2))
    A, L, inverse = B @ B.T, np.zeros((size, size)), np.empty((size, size))
    assert cholesky(A, L)
    assert pytest.approx(np.linalg.cholesky(A)) == L
    assert invert(A, inverse)
    assert inverse @ A == pytest.approx(np.eye(size), abs=1e-8)
    x = rng.standard_normal(size)
    lower, upper = x.copy(), x.copy()
    solve_lower(L, lower)
    solve_upper(L, upper)
    assert L @ lower == pytest.approx(x)
    assert L.T @ upper == pytest.approx(x)


@pytest.mark.parametrize("A", [np.ones((2, 2)), -np.eye(2), np.full((2, 2), np.nan)])
def test_what_is_not_positive_definite_is_refused(A: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    inverse = np.zeros((2, 2))
    assert not cholesky(A, np.empty((2, 2)))
    assert not invert(A, inverse)
    assert (inverse == 0.0).all()


def test_vectors() -> None:
    x = np.array([1.0, 2.0])
    add(2.0, np.array([1.0, -1.0]), x)
    multiply(3.0, x)
    assert x.tolist() == [9.0, 0.0]
    write(np.array([4.0, 5.0]), x)
    assert x.tolist() == [4.0, 5.0]
