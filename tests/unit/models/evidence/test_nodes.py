from __future__ import annotations

import numpy as np
import pytest

from quorate.core.settings import EvidenceSettings
from quorate.models.evidence.layout import Shape, size
from quorate.models.evidence.nodes import contrasts, make_nodes
from quorate.models.evidence.particles import make_model
from quorate.models.evidence.tables import Question, table


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


@pytest.mark.parametrize("classes", [2, 3, 7, 10])
def test_no_class_is_special(classes: int) -> None:
    model = make_model(EvidenceSettings(), Shape(classes, 2, 1, 0), ())
    question = Question(np.zeros((1, classes)), 0, np.array([0]), np.full(2, -1))
    chance = table(np.zeros((1, size(model.shape))), np.ones(1), model, question)[0]
    assert chance == pytest.approx(np.full(classes, 1 / classes), rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_residual_has_no_side(classes: int) -> None:
    nodes = make_nodes(classes, 64)
    here = sorted(zip(nodes.eta[0].round(9), nodes.zeta[0].round(9), nodes.weight.round(12), strict=True))
    mirrored = sorted(zip(nodes.eta[0].round(9), -nodes.zeta[0].round(9) + 0.0, nodes.weight.round(12), strict=True))
    assert np.array(here) == pytest.approx(np.array(mirrored))
