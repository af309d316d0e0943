"""Fixed points that the evidence of a case, and what some experts see in it besides, are integrated over."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.points import even_steps

GRID = (17, 3.9)
"""With two classes: points of the evidence, and how many standard deviations they reach."""
RESIDUAL_POINTS = 5
"""With two classes: points of the residual, those of Gauss and Hermite."""


class Nodes(NamedTuple):
    """Points with weights; each point has an evidence and a residual for every class, which sum to 0."""

    eta: Floats  # (K, Q) evidence, unit variance for each class
    zeta: Floats  # (K, Q) residual
    weight: Floats  # (Q,) sum to 1


@cache
def contrasts(classes: int) -> Floats:
    """Orthonormal directions in which K numbers that sum to 0 can differ: (K, K-1).

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    B = np.zeros((classes, classes - 1))
    for j in range(classes - 1):
        B[: j + 1, j] = 1.0
        B[j + 1, j] = -(j + 1.0)
    result: Floats = B / np.linalg.norm(B, axis=0)
    return result


@cache
def make_nodes(classes: int, count: int) -> Nodes:
    """Points for so many classes: a grid for two, else about `count` evenly spread ones.

    No class and no side of the residual is special: with a point come its relabellings class by class, and those with
    the residual's sign turned. With very many classes there are more of them.

    >>> nodes = make_nodes(4, 64)
    >>> nodes.eta.shape, round(float((nodes.weight * nodes.eta[0] ** 2).sum()), 6)
    ((4, 64), 1.0)
    """
    if classes == 2:
        points, weight = _grid()
    else:
        points, weight = _spread(classes, count)
    stretched = math.sqrt(classes / (classes - 1)) * contrasts(classes)  # each class gets unit variance
    first, second = points[:, : classes - 1], points[:, classes - 1 :]
    return Nodes(np.ascontiguousarray(stretched @ first.T), np.ascontiguousarray(stretched @ second.T), weight)


def _grid() -> tuple[Floats, Floats]:
    normal, (many, far) = NormalDist(), GRID
    rows = np.linspace(-far, far, many)
    columns, shares = np.polynomial.hermite_e.hermegauss(RESIDUAL_POINTS)
    weight = np.outer([normal.pdf(x) for x in rows], shares).ravel()
    points = np.array([(x, y) for x in rows for y in columns])
    return points, weight / weight.sum()


def _spread(classes: int, count: int) -> tuple[Floats, Floats]:
    """Evenly spread normal points with all their relabellings, moved so that mean and covariance are exact."""
    normal, size, B = NormalDist(), 2 * (classes - 1), contrasts(classes)
    base = max(count // (2 * classes), 4)
    places = (0.5 + np.arange(base)[:, None] * even_steps(size)) % 1.0
    drawn = np.array([[normal.inv_cdf(u) for u in row] for row in places])
    halves = [drawn[:, : classes - 1] @ B.T, drawn[:, classes - 1 :] @ B.T]  # (base, K) each, by class
    turned = [np.concatenate([np.roll(half, shift, axis=1) for shift in range(classes)]) @ B for half in halves]
    points = np.concatenate(turned, axis=1)
    points = np.concatenate([points, points * np.repeat([1.0, -1.0], classes - 1)])
    values, vectors = np.linalg.eigh(points.T @ points / len(points))
    points = points @ (vectors / np.sqrt(values)) @ vectors.T  # the symmetric root keeps every relabelling
    return points, np.full(len(points), 1.0 / len(points))
