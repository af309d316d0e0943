"""Particles in their own units: named for ArviZ, and who sides with whom."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quorate.core.panel import Panel
from quorate.models.evidence.draws import in_own_units, siding, to_datatree
from quorate.models.evidence.layout import Shape, natural, residuals_at
from quorate.models.evidence.nodes import make_nodes
from quorate.models.evidence.particles import Particles, carried, from_prior
from tests.unit.models.evidence import panels

PANEL = Panel(["a", "b", "c"], ["ann", "ben", "cho"], ["net", "web"])


def made_up(missing: float = 0.0) -> Particles:
    cases, _, _ = panels.made_up(0, classifiers=2, missing=missing)
    rng = np.random.default_rng(0)
    return carried(rng, from_prior(rng, cases, 3, panels.SETTINGS), cases)


def test_every_parameter_has_its_name_and_the_panels_names_on_its_axes() -> None:
    particles = made_up()
    posterior = to_datatree(particles, PANEL)["posterior"]
    expected = {
        "trust": ("classifier", "class"),
        "bend": ("classifier",),
        "sigma": ("class",),
        "bias": ("class",),
        "leaning": ("expert", "class"),
        "attention": ("expert", "class"),
        "residual": ("expert",),
        "lapse": ("expert",),
    }
    assert {str(name): found.dims for name, found in posterior.data_vars.items()} == {
        name: ("chain", "draw", *axes) for name, axes in expected.items()
    }
    assert posterior["trust"].shape == (1, 64, 2, 3)
    assert posterior["expert"].to_numpy().tolist() == ["ann", "ben", "cho"]
    assert posterior["class"].to_numpy().tolist() == ["a", "b", "c"]
    assert posterior["classifier"].to_numpy().tolist() == ["net", "web"]


def test_the_draws_have_equal_weight_and_are_always_the_same() -> None:
    particles = made_up()
    first = np.zeros(64)
    first[5], first[9] = math.log(3.0), -1e9  # three times as much as others, and nothing
    apart = np.random.default_rng(3).standard_normal(particles.theta.shape)
    particles = replace(particles, theta=apart, log_weight=first)
    own = in_own_units(particles)["lapse"]
    one, two = (to_datatree(particles, PANEL)["posterior"]["lapse"].to_numpy() for _ in range(2))
    assert np.array_equal(one, two)
    copies = [(one[0] == row).all(axis=1).sum() for row in own]
    assert copies[9] == 0
    assert copies[5] in (2, 3)


def test_ways_in_which_classifiers_were_missing_are_named() -> None:
    particles = made_up(missing=0.5)
    posterior = to_datatree(particles, PANEL)["posterior"]
    names = posterior["without"].to_numpy().tolist()
    assert sorted(names) == ["net", "net, web", "web"]
    assert posterior["sigma_without"].shape == (1, 64, 3, 3)


def test_values_are_those_of_the_layout() -> None:
    particles = made_up()
    found, model = in_own_units(particles), particles.model
    for p in (0, 17):
        one = natural(particles.theta[p], model.shape, model.B, model.prior, model.alone)
        assert np.array_equal(found["beta"][p], one.beta)
        assert np.array_equal(found["residual"][p], one.residual)


def test_siding_is_the_correlation_of_what_is_left_of_a_choice() -> None:
    particles = made_up()
    shape: Shape = particles.shape
    theta = particles.theta.copy()
    theta[:, 3] = 0.0  # the residual's scale at its median, 1
    theta[:, residuals_at(shape)] = [2.0, 2.0, -1.0]
    values = siding(replace(particles, theta=theta))
    assert values.shape == (64, 3, 3)
    left = math.pi**2 / 3 * (shape.classes - 1) / (2 * shape.classes)
    assert values[0, 0, 1] == pytest.approx(4 / (4 + left))
    assert values[0, 0, 2] == pytest.approx(-2 / math.sqrt((4 + left) * (1 + left)))
    assert values[0].diagonal().tolist() == [1, 1, 1]
    turned = theta.copy()
    turned[:, residuals_at(shape)] *= -1.0
    assert np.array_equal(siding(replace(particles, theta=turned)), values)


@pytest.mark.parametrize("classes", [2, 4])
def test_siding_is_seen_in_simulated_choices(classes: int) -> None:
    """What the residual and the noise of a choice add to the odds of two classes, from the model's own nodes."""
    rng, nodes = np.random.default_rng(1), make_nodes(classes, 512)
    at = rng.choice(len(nodes.weight), 200_000, p=nodes.weight)
    apart, own = nodes.zeta[0, at] - nodes.zeta[1, at], rng.logistic(size=(2, 200_000))
    rho = np.array([1.5, 0.8])
    one, other = rho[:, None] * apart + own
    seen = np.mean(one * other) / math.sqrt(np.mean(one**2) * np.mean(other**2))
    left = math.pi**2 / 3 * (classes - 1) / (2 * classes)
    assert seen == pytest.approx(1.5 * 0.8 / math.sqrt((1.5**2 + left) * (0.8**2 + left)), abs=0.02)
