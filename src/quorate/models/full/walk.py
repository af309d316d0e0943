"""The walk over a case's experts under one posterior draw: given the classifiers, those who voted, then the others.

Arrays of latents have one column for each of R latents, so that the inner loops run over them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.models.compiled import kernel
from quorate.models.full.chances import add_log_chance, write_chances
from quorate.models.full.conditioned import noise_scale, prepare, propose
from quorate.models.full.linear import cholesky, solve_lower
from quorate.models.full.truncated import quantile


class Question(NamedTuple):
    """What is asked of the draws about one case: agents in order, what the first of them said, who is still to vote."""

    order: Ints  # (known + (V + U)(K-1),) log-ratios of the classifiers that are there, of voters, of the unasked
    observed: Floats  # (known,) log-ratios of the classifiers
    votes: Ints  # (V,)
    unasked: int
    classes: int
    tempered: bool
    tabled: bool  # all patterns of the unasked experts' votes, or one sampled pattern for each latent


class Room(NamedTuple):
    """The arrays that one thread works in, used again for every draw."""

    square: Floats  # (2, known + E, known + E)
    line: Floats  # (known + E,)
    mean: Floats  # (E,) of the experts' log-ratios given the classifiers
    root: Floats  # (E, E) the factor of their covariance
    u: Floats  # (points, R)
    e: Floats  # (E, R) normals
    z: Floats  # (E, R) log-ratios
    chance: Floats  # (U K, R)
    ahead: Floats  # (K-1,)
    path: Floats  # (K-1,)
    small: Floats  # (4, K-1, K-1)
    weight: Floats  # (R,)
    left: Floats  # (K^(U/2), R)
    right: Floats  # (K^(U - U/2), R)
    left_turned: Floats
    right_turned: Floats


@kernel
def make_room(question: Question, points: int, R: int) -> Room:
    """Room for R latents that take so many points of the unit interval each."""
    K, U, size = question.classes, question.unasked, question.order.shape[0]
    E = size - question.observed.shape[0]
    wide = K ** (U // 2) if question.tabled else 1
    rest = K ** (U - U // 2) if question.tabled else 1
    return Room(
        np.empty((2, size, size)),
        np.empty(size),
        np.empty(E),
        np.zeros((E, E)),
        np.empty((points, R)),
        np.empty((E, R)),
        np.empty((E, R)),
        np.empty((U * K, R)),
        np.empty(K - 1),
        np.empty(K - 1),
        np.zeros((4, K - 1, K - 1)),
        np.empty(R),
        np.empty((wide, R)),
        np.empty((rest, R)),
        np.empty((R, wide)),
        np.empty((R, rest)),
    )


@kernel
def given_classifiers(question: Question, mu: Floats, s: Floats, omega: Floats, room: Room) -> bool:
    """Mean and factor of the experts' log-ratios given the classifiers'; False where Omega is far from one.

    Log-ratios that are not in the order are integrated out by being left out.
    """
    order, known, jitter = question.order, question.observed.shape[0], 1e-15
    A, L = room.square[0], room.square[1]
    for a in range(order.shape[0]):
        for b in range(a + 1):
            A[a, b] = omega[order[a], order[b]]
    while not cholesky(A, L):  # a correlation matrix can be singular to the last digit
        jitter *= 10.0
        if not jitter < 0.5:
            return False
        for a in range(order.shape[0]):
            A[a, a] = 1.0 + jitter
    noise = room.line[:known]
    for a in range(known):
        noise[a] = (question.observed[a] - mu[order[a]]) / s[order[a]]
    solve_lower(L, noise)
    for a in range(known, order.shape[0]):
        c = order[a]
        pull = 0.0
        for b in range(known):
            pull += L[a, b] * noise[b]
        room.mean[a - known] = mu[c] + s[c] * pull
        for b in range(known, a + 1):
            room.root[a - known, b - known] = s[c] * L[a, b]
    return True


@kernel
def _add_normals(room: Room, a: int, last: int, count: int) -> None:
    """Add to row a of the latents what it has of so many rows of the normals before `last`."""
    for b in range(last - count, last):
        slope = room.root[a, b]
        for r in range(room.z.shape[1]):
            room.z[a, r] += slope * room.e[b, r]


@kernel
def walk_voters(question: Question, tau: float, room: Room, log_weight: Floats) -> bool:
    """Propose the latents of the experts who voted, one after the other; their log weights (R,)."""
    K = question.classes
    block, sigma = K - 1, noise_scale(K, tau, question.tempered)
    W, T, U, A = room.small[0], room.small[1], room.small[2], room.small[3]
    for v in range(question.votes.shape[0]):
        first, vote, at = v * block, question.votes[v], v * (2 * block + 1)
        if not prepare(room.root, first, vote, sigma, W, T, U, A):
            return False
        for a in range(first, first + block):
            _add_normals(room, a, first, first)
        propose(room.u, at, room.z, first, vote, sigma, W, T, U, room.ahead, room.path, room.e, log_weight)
        for a in range(first, first + block):
            _add_normals(room, a, a + 1, a + 1 - first)
        spare = (question.unasked - 1) * K  # rows that are written later
        add_log_chance(room.z, first, vote, tau, question.tempered, K, room.chance, spare, log_weight)
    return True


@kernel
def walk_unasked(question: Question, tau: float, room: Room) -> int:
    """Latents of the experts who have not voted, and how they would vote; returns how many points were taken."""
    K, voters = question.classes, question.votes.shape[0]
    at: int = voters * (2 * K - 1)
    for a in range(voters * (K - 1), room.z.shape[0]):
        for r in range(room.z.shape[1]):
            room.e[a, r] = quantile(room.u[at, r])
        at += 1
        _add_normals(room, a, a + 1, a + 1)
    for h in range(question.unasked):
        write_chances(room.z, (voters + h) * (K - 1), tau, question.tempered, K, room.chance, h * K)
    return at
