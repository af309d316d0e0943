"""Where each parameter of the shared-evidence model stands in a vector of standard normals, and what it stands for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel

GLOBAL = 4
"""Log scales of the evidence, of the experts' leanings, of their attention and of the residual."""


class Shape(NamedTuple):
    """How many of everything there are."""

    classes: int
    experts: int
    classifiers: int
    regimes: int  # ways in which classifiers were missing


class Prior(NamedTuple):
    """Medians and spreads of the parameters: see `EvidenceSettings`."""

    trust_sd: float
    sigma: float
    sigma_sd: float
    bend: float
    bend_sd: float
    leaning: float
    leaning_sd: float
    attention: float
    attention_sd: float
    residual: float
    residual_sd: float
    bias_sd: float
    class_sd: float
    lapse: float
    lapse_sd: float
    missing: float
    missing_sd: float


class Natural(NamedTuple):
    """The parameters in their own units."""

    beta: Floats  # (M, K) what a classifier's score is worth as evidence
    bend: Floats  # (M,) scores far beyond it count less and less
    sigma: Floats  # (1 + R, K) spread of what experts see beyond the classifiers, with all of them and in each regime
    bias: Floats  # (K,) all experts' liking for a class
    leaning: Floats  # (H, K) an expert's own liking for a class
    attention: Floats  # (H, K) how much an expert goes by the evidence
    residual: Floats  # (H,) how much an expert goes by what some see besides, with a sign
    lapse: Floats  # (H,) probability of a vote at random
    leaning_scale: float
    attention_scale: float
    residual_scale: float


@kernel
def size(shape: Shape) -> int:
    """Number of parameters."""
    return expert_at(shape, shape.experts)


@kernel
def classifier_at(shape: Shape, m: int) -> int:
    """Place of a classifier's parameters: trust, bend, K-1 differences of trust between classes."""
    return GLOBAL + 2 * (shape.classes - 1) + m * (shape.classes + 1)


@kernel
def regime_at(shape: Shape, r: int) -> int:
    """Place of the parameter of a way in which classifiers were missing."""
    return classifier_at(shape, shape.classifiers) + r


@kernel
def expert_at(shape: Shape, h: int) -> int:
    """Place of an expert's parameters: attention, lapse, residual, K-1 leanings, K-1 differences of attention."""
    return regime_at(shape, shape.regimes) + h * (2 * shape.classes + 1)


def residuals_at(shape: Shape) -> Ints:
    """Places of the experts' residuals, whose common sign the model leaves open."""
    return np.array([expert_at(shape, h) + 2 for h in range(shape.experts)])


@kernel
def along(theta: Floats, at: int, B: Floats, k: int) -> float:
    """What class k gets of K-1 differences between classes."""
    total = 0.0
    for j in range(B.shape[1]):
        total += B[k, j] * theta[at + j]
    return total


@kernel
def natural(theta: Floats, shape: Shape, B: Floats, prior: Prior, alone: Ints) -> Natural:
    """Parameters in their own units; `alone` (R,) is 1 for regimes without any classifier."""
    K, H, M, R = shape
    found = Natural(
        np.empty((M, K)),
        np.empty(M),
        np.empty((1 + R, K)),
        np.empty(K),
        np.empty((H, K)),
        np.empty((H, K)),
        np.empty(H),
        np.empty(H),
        prior.leaning * math.exp(prior.leaning_sd * theta[1]),
        prior.attention * math.exp(prior.attention_sd * theta[2]),
        prior.residual * math.exp(prior.residual_sd * theta[3]),
    )
    for k in range(K):
        found.bias[k] = prior.bias_sd * along(theta, GLOBAL, B, k)
        spread = prior.class_sd * along(theta, GLOBAL + K - 1, B, k)
        found.sigma[0, k] = prior.sigma * math.exp(prior.sigma_sd * theta[0] + spread)
        for r in range(R):
            wider = prior.missing_sd * theta[regime_at(shape, r)]
            found.sigma[1 + r, k] = found.sigma[0, k] * math.exp(wider) * (prior.missing if alone[r] else 1.0)
    for m in range(M):
        at = classifier_at(shape, m)
        found.bend[m] = prior.bend * math.exp(prior.bend_sd * theta[at + 1])
        for k in range(K):
            found.beta[m, k] = math.exp(prior.trust_sd * theta[at] + prior.class_sd * along(theta, at + 2, B, k))
    for h in range(H):
        at = expert_at(shape, h)
        found.lapse[h] = 1.0 / (1.0 + math.exp(-(prior.lapse + prior.lapse_sd * theta[at + 1])))
        found.residual[h] = found.residual_scale * theta[at + 2]
        for k in range(K):
            found.leaning[h, k] = found.leaning_scale * along(theta, at + 3, B, k)
            own = prior.class_sd * along(theta, at + 2 + K, B, k)
            found.attention[h, k] = math.exp(found.attention_scale * theta[at] + own)
    return found


def grown(rng: np.random.Generator, theta: Floats, before: Shape, after: Shape) -> Floats:
    """Parameters (P, D) with room for more experts, classifiers or regimes, which come with their prior."""
    more: Floats = rng.standard_normal((len(theta), size(after)))
    block = classifier_at(before, before.classifiers)
    more[:, :block] = theta[:, :block]
    for old, new, width in (
        (regime_at(before, 0), regime_at(after, 0), before.regimes),
        (expert_at(before, 0), expert_at(after, 0), size(before) - expert_at(before, 0)),
    ):
        more[:, new : new + width] = theta[:, old : old + width]
    return more
