from __future__ import annotations

import numpy as np
import pytest

from quorate.models.evidence.nodes import contrasts, make_nodes


@pytest.mark.parametrize("classes", [2, 3, 4, 10])
def test_contrasts_are_orthonormal_and_sum_to_nothing(classes: int) -> None:
    B = contrasts(classes)
    assert pytest.approx(np.eye(classes - 1)) == B.T @ B
    assert B.sum(axis=0) == pytest.approx(np.zeros(classes - 1))


@pytest.mark.parametrize("classes", [2, 3, 4, 10, 40])
def test_nodes_have_the_moments_of_the_evidence(classes: int) -> None:
    nodes = make_nodes(classes, 64)
    assert nodes.weight.sum() == pytest.approx(1.0)
    for points in (nodes.eta, nodes.zeta):
        assert points.sum(axis=0) == pytest.approx(np.zeros(points.shape[1]), abs=1e-9)
        assert points @ nodes.weight == pytest.approx(np.zeros(classes), abs=1e-9)
        covariance = (points * nodes.weight) @ points.T
        expected = (np.eye(classes) - 1 / classes) * classes / (classes - 1)
        assert covariance == pytest.approx(expected, abs=0.03 if classes == 2 else 1e-9)
    assert (nodes.eta * nodes.weight) @ nodes.zeta.T == pytest.approx(np.zeros((classes, classes)), abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_residual_has_no_side(classes: int) -> None:
    nodes = make_nodes(classes, 64)
    here = sorted(zip(nodes.eta[0].round(9), nodes.zeta[0].round(9), nodes.weight.round(12), strict=True))
    mirrored = sorted(zip(nodes.eta[0].round(9), -nodes.zeta[0].round(9) + 0.0, nodes.weight.round(12), strict=True))
    assert np.array(here) == pytest.approx(np.array(mirrored))
