"""From particles to the votes of one case: a table of all patterns, or sampled votes of a large panel."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel
from quorate.models.evidence.density import Model, kept, seen_evidence
from quorate.models.evidence.layout import Natural, natural
from quorate.models.evidence.nodes import Nodes
from quorate.models.parts import in_parts
from quorate.models.products import add_patterns, pick


class Question(NamedTuple):
    """What is asked about one case."""

    scores: Floats  # (M, K) logits, 0 where a classifier is missing
    regime: int
    experts: Ints  # (A,) whose votes are wanted
    row: Ints  # (H,) votes seen, -1 where there is none


@kernel
def write_factors(found: Natural, nodes: Nodes, regime: int, experts: Ints, at: Ints, factor: Floats) -> None:
    """Odds factors of some experts at some nodes (N,), classifiers and leanings left out: (H K, N)."""
    K = found.attention.shape[1]
    for h in experts:
        for k in range(K):
            pull = found.attention[h, k] * found.sigma[regime, k]
            for q in range(at.shape[0]):
                x = pull * nodes.eta[k, at[q]] + found.residual[h] * nodes.zeta[k, at[q]]
                factor[h * K + k, q] = math.exp(kept(x))


@kernel
def write_chances(found: Natural, scores: Floats, experts: Ints, factor: Floats, N: int, chance: Floats) -> None:
    """How probable each vote of some experts is at the first N nodes of their odds factors (H K, .): (A K, .)."""
    K = found.attention.shape[1]
    evidence, total = np.empty(K), np.empty(N)
    seen_evidence(found, scores, evidence)
    for a in range(experts.shape[0]):
        h = experts[a]
        for q in range(N):
            total[q] = 0.0
        for k in range(K):
            base = math.exp(kept(found.bias[k] + found.leaning[h, k] + found.attention[h, k] * evidence[k]))
            for q in range(N):
                odds = base * factor[h * K + k, q]
                chance[a * K + k, q] = odds
                total[q] += odds
        sober, stray = 1.0 - found.lapse[h], found.lapse[h] / K
        for q in range(N):
            total[q] = sober / total[q]
        for k in range(K):
            for q in range(N):
                chance[a * K + k, q] = chance[a * K + k, q] * total[q] + stray


@kernel
def fill_factors(theta: Floats, model: Model, regime: int, factors: Floats) -> None:
    """Odds factors (P, H K, Q) of everyone at all nodes under each particle."""
    experts, everywhere = np.arange(model.shape.experts), np.arange(model.nodes.weight.shape[0])
    for p in range(theta.shape[0]):
        found = natural(theta[p], model.shape, model.B, model.prior, model.alone)
        write_factors(found, model.nodes, regime, experts, everywhere, factors[p])


@kernel
def fill(theta: Floats, weight: Floats, factors: Floats, model: Model, question: Question, mass: Floats) -> None:
    """Add to tables (P, K^A) of vote patterns what each particle says, by its weight.

    `factors` are (P, H K, Q), or (0, H K, Q) where they are not known yet.
    """
    K, A, Q = model.shape.classes, question.experts.shape[0], model.nodes.weight.shape[0]
    half = A // 2
    left, right = np.empty((K**half, Q)), np.empty((K ** (A - half), Q))
    left_turned, right_turned = np.empty((Q, K**half)), np.empty((Q, K ** (A - half)))
    chance, own, everywhere = np.empty((A * K, Q)), np.empty(Q), np.arange(Q)
    factor = np.empty((model.shape.experts * K, Q))
    for p in range(theta.shape[0]):
        found = natural(theta[p], model.shape, model.B, model.prior, model.alone)
        if factors.shape[0] > 0:
            factor = factors[p]
        else:
            write_factors(found, model.nodes, question.regime, question.experts, everywhere, factor)
        write_chances(found, question.scores, question.experts, factor, Q, chance)
        for q in range(Q):
            own[q] = weight[p] * model.nodes.weight[q]
        add_patterns(chance, own, K, left, right, left_turned, right_turned, mass[p])


@kernel
def draw(
    theta: Floats, model: Model, question: Question, voters: Ints, start: Floats, u: Floats, seen: Floats, votes: Ints
) -> None:
    """Votes (P, R, U) of some experts given the votes seen, whose probability under each particle is `seen` (P,).

    `start` (P,) and `u` (P, R, U) are points of the unit interval.
    """
    K, Q, R = model.shape.classes, model.nodes.weight.shape[0], votes.shape[1]
    chance, known = np.empty((question.experts.shape[0] * K, min(Q, R))), np.empty((voters.shape[0] * K, Q))
    own, everywhere = np.empty(Q), np.arange(Q)
    factor = np.empty((model.shape.experts * K, Q))
    reached, at = np.empty(min(Q, R), dtype=np.int64), np.empty(R, dtype=np.int64)
    for p in range(theta.shape[0]):
        found = natural(theta[p], model.shape, model.B, model.prior, model.alone)
        write_factors(found, model.nodes, question.regime, voters, everywhere, factor)
        write_chances(found, question.scores, voters, factor, Q, known)
        total = 0.0
        for q in range(Q):
            own[q] = model.nodes.weight[q]
            for v in range(voters.shape[0]):
                own[q] *= known[v * K + question.row[voters[v]], q]
            total += own[q]
        seen[p] = total
        node, below, many = 0, own[0], 0
        for r in range(R):
            while node < Q - 1 and below < total * (r + start[p]) / R:
                node += 1
                below += own[node]
            if many == 0 or reached[many - 1] != node:
                reached[many] = node
                many += 1
            at[r] = many - 1
        write_factors(found, model.nodes, question.regime, question.experts, reached[:many], factor)
        write_chances(found, question.scores, question.experts, factor, many, chance)
        for r in range(R):
            for a in range(question.experts.shape[0]):
                votes[p, r, a] = pick(chance, a * K, K, at[r], u[p, r, a])


def odds_factors(theta: Floats, model: Model, regime: int) -> Floats:
    """What everyone's votes owe to what is not seen of a case, the same for all cases of a regime: (P, H K, Q)."""
    factors = np.empty((len(theta), model.shape.experts * model.shape.classes, len(model.nodes.weight)))
    in_parts(lambda a, b: fill_factors(theta[a:b], model, regime, factors[a:b]), len(theta))
    return factors


def table(theta: Floats, weight: Floats, model: Model, question: Question, factors: Floats | None = None) -> Floats:
    """Probability of every pattern of the experts' votes by particle, times its weight: (P, K^A).

    Odds factors that are known already save most of the work.
    """
    mass = np.zeros((len(theta), model.shape.classes ** len(question.experts)))
    none = np.empty((0, 1, 1))

    def part(start: int, stop: int) -> None:
        known = none if factors is None else factors[start:stop]
        fill(theta[start:stop], weight[start:stop], known, model, question, mass[start:stop])

    in_parts(part, len(theta))
    return mass


def sampled(
    rng: np.random.Generator, theta: Floats, model: Model, question: Question, repeats: int
) -> tuple[Floats, Ints]:
    """Probability of the votes seen under each particle (P,), and votes (P, R, U) of the experts given them."""
    P, U = len(theta), len(question.experts)
    voters = np.flatnonzero(question.row >= 0)
    begin, u = rng.random(P), rng.random((P, repeats, U))
    seen, votes = np.zeros(P), np.zeros((P, repeats, U), dtype=np.int64)

    def part(start: int, stop: int) -> None:
        here = slice(start, stop)
        draw(theta[here], model, question, voters, begin[here], u[here], seen[here], votes[here])

    in_parts(part, P)
    return seen, votes
