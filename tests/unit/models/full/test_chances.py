from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.models.full.chances import add_log_chance, write_chances
from quorate.models.full.simplex import probabilities, tempered
from quorate.models.products import add_patterns, pick

WAYS = [(2, 0.3, True), (2, 1e-5, True), (2, 1.0, False), (3, 0.01, True), (4, 0.3, True), (4, 1.0, False)]


def latents(classes: int, seed: int = 0) -> Floats:
    """Log-ratios of two experts, some of them extreme: (2 (K-1), R)."""
    z = np.random.default_rng(seed).normal(0.0, 2.0, (2 * (classes - 1), 50))
    z[:, 0], z[:, 1], z[:, 2] = 800.0, -800.0, 0.0
    return z


def expected(z: Floats, classes: int, tau: float, *, temperature: bool) -> Floats:
    """Vote probabilities of the second expert: (R, K)."""
    theta = probabilities(z[classes - 1 :].T)
    return tempered(theta, tau) if temperature else theta


@pytest.mark.parametrize(("classes", "tau", "temperature"), WAYS)
def test_chances_are_those_of_the_model(classes: int, tau: float, temperature: bool) -> None:
    z, out = latents(classes), np.zeros((2 * classes, 50))
    write_chances(z, classes - 1, tau, temperature, classes, out, classes)
    assert (out[:classes] == 0).all()
    found = out[classes:].T
    assert found == pytest.approx(expected(z, classes, tau, temperature=temperature), abs=1e-11)


@pytest.mark.parametrize(("classes", "tau", "temperature"), WAYS)
def test_log_chances_add_up(classes: int, tau: float, temperature: bool) -> None:
    z, out, log_weight = latents(classes), np.zeros((2 * classes, 50)), np.full(50, -2.0)
    chance = expected(z, classes, tau, temperature=temperature)
    for vote in range(classes):
        start = log_weight.copy()
        add_log_chance(z, classes - 1, vote, tau, temperature, classes, out, classes, log_weight)
        some = chance[:, vote] > 1e-300
        assert (log_weight - start)[some] == pytest.approx(np.log(chance[some, vote]), rel=1e-9, abs=1e-9)
        assert np.isfinite(log_weight).all()


def test_votes_follow_their_probabilities() -> None:
    chance = np.tile([[0.2], [0.5], [0.3]], (2, 1000))
    votes = [pick(chance, 3, 3, r, (r + 0.5) / 1000) for r in range(1000)]
    assert np.bincount(votes).tolist() == [200, 500, 300]


@pytest.mark.parametrize(("classes", "experts"), [(2, 1), (2, 5), (3, 2), (4, 3)])
@pytest.mark.parametrize("latents", [1, 4, 31])
def test_the_table_is_the_sum_of_products(classes: int, experts: int, latents: int) -> None:
    rng = np.random.default_rng(3)
    chance = rng.dirichlet(np.ones(classes), (experts, latents)).transpose(0, 2, 1)  # (A, K, R)
    weight = rng.random(latents)
    half = experts // 2
    sizes = [(classes**half, latents), (classes ** (experts - half), latents)]
    left, right, left_turned, right_turned = (np.empty(size) for size in (*sizes, *(size[::-1] for size in sizes)))
    mass = np.ones(classes**experts)
    flat = np.ascontiguousarray(chance.reshape(experts * classes, latents))
    add_patterns(flat, weight, classes, left, right, left_turned, right_turned, mass)
    for place, row in enumerate(product(range(classes), repeat=experts)):
        each = np.prod([chance[h, k] for h, k in enumerate(row)], axis=0)
        assert mass[place] == pytest.approx(1.0 + weight @ each)
