"""The likelihood of votes under shared evidence, and its gradient: the loops that everything else waits for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel, summing_kernel
from quorate.models.evidence.layout import GLOBAL, Natural, Prior, Shape, classifier_at, expert_at, natural, regime_at
from quorate.models.evidence.nodes import Nodes

HUGE = 40.0
"""Exponents stay within it on both sides: beyond, a vote is certain."""


class Model(NamedTuple):
    """What a likelihood needs besides parameters and cases."""

    shape: Shape
    B: Floats  # (K, K-1)
    prior: Prior
    nodes: Nodes
    alone: Ints  # (R,) 1 where a regime is without any classifier


class Data(NamedTuple):
    """Cases as the likelihood reads them."""

    scores: Floats  # (n, M, K) logits, 0 where a classifier is missing
    regime: Ints  # (n,) 0 where all classifiers are there, else 1 + the number of the regime
    votes: Ints  # (n, H), -1 where there is none
    power: Floats  # (n,) how much a case counts: 1, or less while it comes or goes
    counts: Ints  # (1 + R, H) votes of each expert in each regime


def make_data(scores: Floats, regime: Ints, votes: Ints, power: Floats, *, regimes: int) -> Data:
    """Cases for the likelihood, with the votes of each expert counted."""
    counts = np.zeros((1 + regimes, votes.shape[1]), dtype=np.int64)
    np.add.at(counts, regime, votes >= 0)
    return Data(scores, regime, votes, power, counts)


@kernel
def kept(x: float) -> float:
    """An exponent within bounds."""
    return min(max(x, -HUGE), HUGE)


@kernel
def bent(t: float, c: float) -> float:
    """A score t that counts in full near 0 and like its logarithm far beyond c."""
    x = abs(t) / c
    grown = c * math.log(x + math.sqrt(1.0 + x * x))
    return grown if t >= 0.0 else -grown


@kernel
def tabulate(found: Natural, nodes: Nodes, counts: Ints) -> Floats:
    """Odds factors (1 + R, H, K, Q) of each class at each node, classifiers and leanings left out.

    Those of an expert without a vote in a regime, by `counts` (1 + R, H), are not filled in.
    """
    H, K = found.attention.shape
    result = np.empty((found.sigma.shape[0], H, K, nodes.weight.shape[0]))
    for r in range(result.shape[0]):
        for h in range(H):
            if counts[r, h] == 0:
                continue
            for k in range(K):
                pull = found.attention[h, k] * found.sigma[r, k]
                for q in range(nodes.weight.shape[0]):
                    x = pull * nodes.eta[k, q] + found.residual[h] * nodes.zeta[k, q]
                    result[r, h, k, q] = math.exp(kept(x))
    return result


@kernel
def seen_evidence(found: Natural, scores: Floats, evidence: Floats) -> None:
    """What the classifiers' scores (M, K) say for each class: (K,)."""
    M, K = scores.shape
    for k in range(K):
        evidence[k] = 0.0
        for m in range(M):
            evidence[k] += found.beta[m, k] * bent(scores[m, k], found.bend[m])


class Slopes(NamedTuple):
    """Derivatives of the log-likelihood by the parameters in their own units."""

    beta: Floats
    log_bend: Floats
    sigma: Floats
    liking: Floats  # (H, K) by bias plus leaning
    attention: Floats
    residual: Floats
    lapse: Floats
    evidence: Floats  # (K,) of the case at hand


@kernel
def no_slopes(K: int, H: int, M: int, R: int) -> Slopes:
    """Derivatives of nothing."""
    return Slopes(
        np.zeros((M, K)),
        np.zeros(M),
        np.zeros((1 + R, K)),
        np.zeros((H, K)),
        np.zeros((H, K)),
        np.zeros(H),
        np.zeros(H),
        np.zeros(K),
    )


@summing_kernel
def weigh(
    found: Natural, h: int, vote: int, evidence: Floats, factor: Floats, odds: Floats, shrink: Floats, weight: Floats
) -> None:
    """Multiply the weights (Q,) of the nodes by the chance of one expert's vote.

    `factor` (K, Q) are the expert's odds factors; a class gets `odds` (K, Q) times `shrink` (Q,) where nobody lapses.
    """
    K, Q = odds.shape
    sober, stray = 1.0 - found.lapse[h], found.lapse[h] / K
    for q in range(Q):
        shrink[q] = 0.0
    for k in range(K):
        base = math.exp(kept(found.bias[k] + found.leaning[h, k] + found.attention[h, k] * evidence[k]))
        for q in range(Q):
            v = base * factor[k, q]
            odds[k, q] = v
            shrink[q] += v
    for q in range(Q):
        shrink[q] = 1.0 / shrink[q]
        weight[q] *= sober * odds[vote, q] * shrink[q] + stray


@summing_kernel
def log_likelihood(theta: Floats, model: Model, data: Data, slope: bool, gradient: Floats) -> float:
    """Log-likelihood of all cases; with `slope`, its gradient is added to `gradient` (D,)."""
    K, H, M, R = model.shape
    nodes = model.nodes
    Q = nodes.weight.shape[0]
    found = natural(theta, model.shape, model.B, model.prior, model.alone)
    factors = tabulate(found, nodes, data.counts)
    by = no_slopes(K, H, M, R)
    odds, shrink = np.empty((H, K, Q)), np.empty((H, Q))
    weight, part, evidence = np.empty(Q), np.empty(Q), np.empty(K)
    answer = 0.0
    for i in range(data.votes.shape[0]):
        if data.power[i] == 0.0:
            continue
        seen_evidence(found, data.scores[i], evidence)
        for q in range(Q):
            weight[q] = nodes.weight[q]
        for h in range(H):
            vote = data.votes[i, h]
            if vote >= 0:
                weigh(found, h, vote, evidence, factors[data.regime[i], h], odds[h], shrink[h], weight)
        whole = 0.0
        for q in range(Q):
            whole += weight[q]
        answer += data.power[i] * math.log(whole)
        if slope:
            for q in range(Q):
                weight[q] *= data.power[i] / whole
            add_slopes(found, nodes, data, i, evidence, odds, shrink, weight, part, by)
    if slope:
        pull_back(theta, found, model, by, gradient)
    return answer


@summing_kernel
def add_slopes(
    found: Natural,
    nodes: Nodes,
    data: Data,
    i: int,
    evidence: Floats,
    odds: Floats,
    shrink: Floats,
    weight: Floats,
    part: Floats,
    by: Slopes,
) -> None:
    """Add one case's derivatives; `weight` (Q,) is the posterior of its nodes."""
    H, K, Q = odds.shape
    r = data.regime[i]
    for h in range(H):
        y = data.votes[i, h]
        if y < 0:
            continue
        sober, stray, lapsed = 1.0 - found.lapse[h], found.lapse[h] / K, 0.0
        hit, hit_eta, hit_zeta = 0.0, 0.0, 0.0
        for q in range(Q):
            share = odds[h, y, q] * shrink[h, q]
            pressed = weight[q] / (sober * share + stray)
            v = pressed * sober * share
            lapsed += pressed * (1.0 / K - share)
            hit += v
            hit_eta += v * nodes.eta[y, q]
            hit_zeta += v * nodes.zeta[y, q]
            part[q] = v * shrink[h, q]
        by.lapse[h] += lapsed
        for k in range(K):
            plain, along_eta, along_zeta = 0.0, 0.0, 0.0
            for q in range(Q):
                v = part[q] * odds[h, k, q]
                plain -= v
                along_eta -= v * nodes.eta[k, q]
                along_zeta -= v * nodes.zeta[k, q]
            if k == y:
                plain += hit
                along_eta += hit_eta
                along_zeta += hit_zeta
            heed = found.attention[h, k]
            by.liking[h, k] += plain
            by.attention[h, k] += evidence[k] * plain + found.sigma[r, k] * along_eta
            by.sigma[r, k] += heed * along_eta
            by.residual[h] += along_zeta
            by.evidence[k] += heed * plain
    for k in range(K):
        for m in range(data.scores.shape[1]):
            t, c = data.scores[i, m, k], found.bend[m]
            g = bent(t, c)
            by.beta[m, k] += g * by.evidence[k]
            by.log_bend[m] += found.beta[m, k] * (g - t / math.sqrt(1.0 + (t / c) ** 2)) * by.evidence[k]
        by.evidence[k] = 0.0


@kernel
def pull_back(theta: Floats, found: Natural, model: Model, by: Slopes, gradient: Floats) -> None:
    """Add the derivatives by the standard normals that the parameters are made of."""
    K, H, M, R = model.shape
    B, prior, rest = model.B, model.prior, model.shape.classes - 1
    for k in range(K):
        liked = 0.0
        for h in range(H):
            liked += by.liking[h, k]
        wide = 0.0
        for r in range(1 + R):
            v = by.sigma[r, k] * found.sigma[r, k]
            wide += v
            if r > 0:
                gradient[regime_at(model.shape, r - 1)] += prior.missing_sd * v
        gradient[0] += prior.sigma_sd * wide
        for j in range(rest):
            gradient[GLOBAL + j] += prior.bias_sd * B[k, j] * liked
            gradient[GLOBAL + rest + j] += prior.class_sd * B[k, j] * wide
    for m in range(M):
        at = classifier_at(model.shape, m)
        gradient[at + 1] += prior.bend_sd * by.log_bend[m]
        for k in range(K):
            v = by.beta[m, k] * found.beta[m, k]
            gradient[at] += prior.trust_sd * v
            for j in range(rest):
                gradient[at + 2 + j] += prior.class_sd * B[k, j] * v
    for h in range(H):
        at = expert_at(model.shape, h)
        gradient[at + 1] += by.lapse[h] * found.lapse[h] * (1.0 - found.lapse[h]) * prior.lapse_sd
        gradient[at + 2] += by.residual[h] * found.residual_scale
        gradient[3] += by.residual[h] * found.residual[h] * prior.residual_sd
        for k in range(K):
            v = by.attention[h, k] * found.attention[h, k]
            gradient[at] += v * found.attention_scale
            gradient[2] += v * found.attention_scale * theta[at] * prior.attention_sd
            gradient[1] += by.liking[h, k] * found.leaning[h, k] * prior.leaning_sd
            for j in range(rest):
                gradient[at + 3 + j] += by.liking[h, k] * found.leaning_scale * B[k, j]
                gradient[at + 2 + K + j] += v * prior.class_sd * B[k, j]
