"""What a classifier is worth in votes: how many votes of random experts tell as much about the panel's decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from quorate.core.arrays import Floats, Ints

GROUPS = 32
"""Draws are put into so many groups at random; each gives figures of its own."""

SUBSETS = 12
"""Sets of experts of one size that information is averaged over, where there are more."""

NORMAL = 1.96
"""Standard deviations to each end of a 95 % interval."""


@dataclass(frozen=True)
class Cast:
    """Votes of whole panels under one group of draws, over all cases."""

    weight: float  # of the group's draws
    draws: float  # effective number of them
    said: Floats  # (C, J) probability of each outcome of each case
    votes: Ints  # (N, H)
    mass: Floats  # (N,) probability of these votes, over all cases
    shares: Floats  # (N, J) outcome of these votes
    sampled: float  # panels that were sampled, over all cases: infinite where every pattern is listed

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Floats]:
        """Row, outcome and mass of whatever has a share: three (E,)."""
        row, outcome = np.nonzero(self.shares)
        return row, outcome, self.mass[row] * self.shares[row, outcome]


@dataclass(frozen=True)
class Worth:
    """Information about the panel's decision in nats, and the votes that tell as much as the classifiers."""

    votes: Floats  # (3,) how many, and both ends of the 95 % interval
    classifiers: float  # what the classifiers tell
    by_votes: tuple[float, ...]  # what 0, 1, 2 ... votes of random experts tell, until it is more


def worth(rng: np.random.Generator, groups: Sequence[Cast], classes: int) -> Worth:
    """What all classifiers together are worth, with an interval from the spread between groups of draws.

    Draws are in groups by chance, so that the spread between groups tells that between single draws: it is larger by
    the root of the draws in a group.
    """
    experts = groups[0].votes.shape[1]
    known = np.array([classifier_information(group) for group in groups])
    curves = [np.zeros(len(groups))]
    while len(curves) <= experts and (curves[-1] < known).any():
        chosen = _subsets(rng, experts, len(curves))
        told = [np.mean([vote_information(group, subset, classes) for subset in chosen]) for group in groups]
        curves.append(np.maximum(told, curves[-1]))  # more votes never tell less
    found = np.array([_crossing(level, curve) for level, curve in zip(known, np.array(curves).T, strict=True)])
    weight = np.array([group.weight for group in groups])
    weight = weight / weight.sum()
    mean = float(weight @ found)
    size = np.array([group.draws for group in groups])
    spread = float(np.sqrt(weight @ (size * (found - mean) ** 2) * len(groups) / max(len(groups) - 1, 1)))
    ends = np.clip([mean, mean - NORMAL * spread, mean + NORMAL * spread], 0.0, experts)
    return Worth(ends, float(weight @ known), tuple(float(weight @ told) for told in curves))


def _subsets(rng: np.random.Generator, experts: int, count: int) -> list[tuple[int, ...]]:
    """All sets of so many experts, or some of them by chance."""
    if comb(experts, count) <= SUBSETS:
        return list(combinations(range(experts), count))
    return [tuple(sorted(rng.permutation(experts)[:count].tolist())) for _ in range(SUBSETS)]


def _crossing(level: float, curve: Floats) -> float:
    """Where a rising curve over 0, 1, 2 ... reaches a level, its points joined by straight lines.

    >>> _crossing(0.25, np.array([0.0, 0.2, 0.3, 0.3])), _crossing(0.5, np.array([0.0, 0.2]))
    (1.5, 1.0)
    """
    at = int(np.searchsorted(curve, level))
    if at == 0 or at == len(curve):
        return float(min(at, len(curve) - 1))
    return float(at - 1 + (level - curve[at - 1]) / (curve[at] - curve[at - 1]))


def entropy(p: Floats) -> Floats:
    """Entropy in nats of probabilities along the last axis.

    >>> entropy(np.array([[0.5, 0.5], [0.9, 0.1]])).round(4).tolist()
    [0.6931, 0.3251]
    """
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    result: Floats = -(p * logs).sum(axis=-1)
    return result


def classifier_information(group: Cast) -> float:
    """How far the classifiers' scores lower the entropy of the outcome, on average over the cases."""
    told = float(entropy(group.said.mean(axis=0)) - entropy(group.said).mean())
    # Frequencies of a sample look surer than what they were sampled from: by so much, to first order.
    cases, seen = len(group.said), (group.said > 0).sum(axis=1)
    surplus = (cases * (seen.mean() - 1) - ((group.said > 0).any(axis=0).sum() - 1)) / (2 * group.sampled)
    return max(told - float(surplus), 0.0)


def vote_information(group: Cast, subset: tuple[int, ...], classes: int) -> float:
    """How far the votes of some experts lower the entropy of the outcome where no score is known."""
    row, outcome, mass = group.pairs
    code = group.votes[:, list(subset)] @ (classes ** np.arange(len(subset)))
    cells = classes ** len(subset)
    if cells > len(code):  # few of the cells can be filled
        kept, code = np.unique(code, return_inverse=True)
        cells = len(kept)
    outcomes = group.shares.shape[1]
    joint = np.bincount(code[row] * outcomes + outcome, mass, cells * outcomes).reshape(cells, outcomes)
    joint = joint / joint.sum()
    by_vote, by_outcome = joint.sum(axis=1), joint.sum(axis=0)
    told = float(entropy(by_vote) + entropy(by_outcome) - entropy(joint.reshape(-1)))
    filled = (joint > 0).sum() - (by_vote > 0).sum() - (by_outcome > 0).sum() + 1
    return max(told - float(filled) / (2 * group.sampled), 0.0)
