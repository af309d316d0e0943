"""From posterior draws to the votes of one case: weighted latents by the thousand, compiled, over two threads."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.errors import HealthError
from quorate.models.compiled import kernel
from quorate.models.full.walk import Question, given_classifiers, make_room, walk_unasked, walk_voters
from quorate.models.parts import in_parts
from quorate.models.points import even_steps
from quorate.models.products import add_patterns, pick

LEAST_POINT = 1e-16
"""Points of the unit interval stay above it, so that they have a logarithm."""


class Posterior(NamedTuple):
    """Draws of the parameters, chain after chain."""

    mu: Floats  # (S, d)
    s: Floats  # (S, d)
    omega: Floats  # (S, d, d)
    tau: Floats  # (S,)


class Answer(NamedTuple):
    """Latents of one case weighted by the votes seen, up to one common factor."""

    weight: Floats  # (S, R), the largest is 1
    mass: Floats  # (S, K^U) mean over a draw's latents, if tabled
    votes: Ints  # (S, R, U) if not
    log_scale: float  # log of the factor: a draw's mean weight times it is the probability of the votes seen


@kernel
def fill(
    question: Question, draws: Posterior, steps: Floats, shifts: Floats, log_weight: Floats, mass: Floats, votes: Ints
) -> bool:
    """Log weights (S, R), and the table (S, K^U) of each draw relative to its largest weight, or votes (S, R, U)."""
    S, R = log_weight.shape
    room = make_room(question, steps.shape[0], R)
    for i in range(S):
        tau = draws.tau[i]
        if not given_classifiers(question, draws.mu[i], draws.s[i], draws.omega[i], room):
            return False
        for j in range(steps.shape[0]):
            for r in range(R):
                x = shifts[i, j] + r * steps[j]
                room.u[j, r] = max(x - math.floor(x), LEAST_POINT)
        for a in range(room.z.shape[0]):
            for r in range(R):
                room.z[a, r] = room.mean[a]
        if not walk_voters(question, tau, room, log_weight[i]):
            return False
        at = walk_unasked(question, tau, room)
        if question.tabled:
            top = log_weight[i, 0]
            for r in range(R):
                top = max(top, log_weight[i, r])
            for r in range(R):
                room.weight[r] = math.exp(log_weight[i, r] - top)
            add_patterns(
                room.chance,
                room.weight,
                question.classes,
                room.left,
                room.right,
                room.left_turned,
                room.right_turned,
                mass[i],
            )
        else:
            for h in range(question.unasked):
                for r in range(R):
                    votes[i, r, h] = pick(room.chance, h * question.classes, question.classes, r, room.u[at + h, r])
    return True


def answer(
    rng: np.random.Generator, question: Question, draws: Posterior, *, repeats: int, threads: int | None = None
) -> Answer:
    """Weighted latents of one case, `repeats` for each draw; the number of threads changes nothing but the time.

    The latents of a draw come from evenly spread points, randomly shifted for each draw by itself: the noise is that
    of several times as many random ones, and the draws stay independent of each other.
    """
    S, K, V, U = len(draws.tau), question.classes, len(question.votes), question.unasked
    steps = even_steps(V * (2 * K - 1) + U * (K - 1) + (0 if question.tabled else U))
    shifts = rng.random((S, len(steps)))
    log_weight = np.zeros((S, repeats))
    mass = np.zeros((S, K**U if question.tabled else 0))
    votes = np.zeros((S, 0 if question.tabled else repeats, U), dtype=np.int64)

    def part(start: int, stop: int) -> bool:
        here = slice(start, stop)
        own = Posterior(*(array[here] for array in draws))
        return fill(question, own, steps, shifts[here], log_weight[here], mass[here], votes[here])

    if not all(in_parts(part, S, threads=threads)):
        raise HealthError("a correlation matrix is so far from positive definite that nothing can be simulated from it")
    top = log_weight.max(axis=1, keepdims=True)
    mass *= np.exp(top - top.max()) / repeats
    return Answer(np.exp(log_weight - top.max()), mass, votes, float(top.max()))
