"""Small dense linear algebra inside kernels: Cholesky factor, triangular solves, inverse."""

from __future__ import annotations

import math

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel

PIVOT_FLOOR = 1e-300
"""Smallest pivot of a factor; NaN fails it too."""


@kernel
def cholesky(A: Floats, L: Floats) -> bool:
    """Write the lower Cholesky factor of A's lower triangle into L; False where A is not positive definite."""
    for j in range(A.shape[0]):
        for i in range(j, A.shape[0]):
            rest = A[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif rest > PIVOT_FLOOR:
                L[j, j] = math.sqrt(rest)
            else:
                return False
    return True


@kernel
def solve_lower(L: Floats, x: Floats) -> None:
    """Replace x by the solution of L y = x."""
    for i in range(x.shape[0]):
        rest = x[i]
        for k in range(i):
            rest -= L[i, k] * x[k]
        x[i] = rest / L[i, i]


@kernel
def solve_upper(L: Floats, x: Floats) -> None:
    """Replace x by the solution of L' y = x."""
    for i in range(x.shape[0] - 1, -1, -1):
        rest = x[i]
        for k in range(i + 1, x.shape[0]):
            rest -= L[k, i] * x[k]
        x[i] = rest / L[i, i]


@kernel
def write(source: Floats, target: Floats) -> None:
    """Copy one vector over another; assignment to a slice would compile many times as long."""
    for a in range(source.shape[0]):
        target[a] = source[a]


@kernel
def add(t: float, source: Floats, target: Floats) -> None:
    """Add t times one vector to another."""
    for a in range(source.shape[0]):
        target[a] += t * source[a]


@kernel
def multiply(a: float, target: Floats) -> None:
    """Multiply a vector by a number."""
    for i in range(target.shape[0]):
        target[i] *= a


@kernel
def invert(A: Floats, inverse: Floats) -> bool:
    """Write the inverse of a positive definite A; False, with nothing written, where A is not."""
    size = A.shape[0]
    L = np.empty((size, size))
    if not cholesky(A, L):
        return False
    column = np.empty(size)
    for j in range(size):
        for i in range(size):
            column[i] = 1.0 if i == j else 0.0
        solve_lower(L, column)
        solve_upper(L, column)
        for i in range(j, size):
            inverse[i, j] = column[i]
            inverse[j, i] = column[i]
    return True
