"""Small panels of the shared-evidence model, and its likelihood written out slowly."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import EvidenceSettings
from quorate.models.evidence.cases import Cases, read_scores, regime_numbers, regimes_of
from quorate.models.evidence.density import Model
from quorate.models.evidence.layout import Shape, natural, size
from quorate.models.evidence.particles import make_model
from quorate.models.evidence.simulated import simulate
from quorate.models.full.simplex import softmax

SETTINGS = EvidenceSettings(particles=64, nodes=32)


def made_up(
    seed: int, *, classes: int = 3, experts: int = 3, classifiers: int = 1, n: int = 12, missing: float = 0.0
) -> tuple[Cases, Model, Floats]:
    """Cases simulated from the prior, the model and the true parameters."""
    rng = np.random.default_rng(seed)
    probabilities = softmax(rng.normal(0.0, 2.0, (n, classifiers, classes)))
    probabilities[rng.random((n, classifiers)) < missing] = np.nan
    scores, absent = read_scores(probabilities)
    regimes = regimes_of(absent)
    model = make_model(SETTINGS, Shape(classes, experts, classifiers, len(regimes)), regimes)
    truth = rng.standard_normal(size(model.shape))
    votes = simulate(rng, truth, model, scores, regime_numbers(absent, regimes))
    votes[rng.random(votes.shape) < 0.3] = -1
    return Cases(tuple(f"case-{i}" for i in range(n)), scores, absent, votes), model, truth


def chances(theta: Floats, model: Model, scores: Floats, regime: int) -> Floats:
    """How probable each vote is at each node, from the definition: (Q, H, K)."""
    found = natural(theta, model.shape, model.B, model.prior, model.alone)
    bent = found.bend[:, None] * np.arcsinh(scores / found.bend[:, None])
    seen = (found.beta * bent).sum(axis=0)  # (K,)
    eta, zeta = model.nodes.eta.T, model.nodes.zeta.T  # (Q, K)
    evidence = seen + found.sigma[regime] * eta
    u = found.bias + found.leaning + found.attention * evidence[:, None, :]
    u = u + found.residual[:, None] * zeta[:, None, :]
    lapse = found.lapse[:, None]
    result: Floats = (1 - lapse) * softmax(u) + lapse / model.shape.classes
    return result


def log_likelihood(theta: Floats, model: Model, cases: Cases, regime: Ints) -> float:
    """Log-likelihood of the votes, from the definition."""
    total = 0.0
    for scores, number, row in zip(cases.scores, regime, cases.votes, strict=True):
        p = chances(theta, model, scores, int(number))
        product = np.ones(len(p))
        for h, vote in enumerate(row):
            if vote >= 0:
                product *= p[:, h, vote]
        total += float(np.log(model.nodes.weight @ product))
    return total
