"""What a case is expected to cost until it settles, from the masses of all ways to vote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.outlook import Outlook
from quorate.policy.stopping import Rule
from quorate.policy.votes import given_votes, votes_of

Later = Callable[[list[int]], float]
"""What is expected to be spent after the votes of some experts, given by their places."""

FEW = 6
"""Candidates that are looked into where it is not."""


class Level(NamedTuple):
    """Every state in which so many experts were not asked, and the votes that may come next."""

    states: Ints  # (N,)
    experts: Ints  # (N, n) who can be asked
    first: Ints  # (N, n) the state after they vote for the first class
    step: Ints  # (N, n) how far apart the states after their other votes are


@lru_cache(maxsize=32)
def levels(classes: int, experts: int) -> tuple[Level, ...]:
    """All states of a panel by how many were not asked, from one to all.

    A state is a number to the base K + 1, a digit an expert, the last one fastest: the vote, or K if not asked.

    >>> [level.states.tolist() for level in levels(2, 2)]
    [[2, 5, 6, 7], [8]]
    """
    digits = np.indices((classes + 1,) * experts, dtype=np.int8).reshape(experts, -1)
    unasked = (digits == classes).T  # (states, U)
    steps = (classes + 1) ** np.arange(experts - 1, -1, -1)
    count = unasked.sum(axis=1)
    found = []
    for left in range(1, experts + 1):
        states = np.flatnonzero(count == left)
        who = np.nonzero(unasked[states])[1].reshape(len(states), left)
        found.append(Level(states, who, states[:, None] - classes * steps[who], steps[who]))
    return tuple(found)


def costs_left(rule: Rule, mass: Floats, price: Floats, toll: float = 0.0) -> tuple[Floats, Floats]:
    """Probability of every state, and the expected cost to settle from it on by the best policy, times that.

    The last state is that in which nobody was asked; masses come as (K^U, J).
    """
    experts, outcomes = len(price), mass.shape[1]
    classes = round(len(mass) ** (1 / experts))
    whole = mass.reshape((classes,) * experts + (outcomes,))
    for axis in range(experts):  # the last place of each axis: that expert was not asked
        whole = np.concatenate([whole, whole.sum(axis=axis, keepdims=True)], axis=axis)
    state = whole.reshape(-1, outcomes)
    reached = state.sum(axis=1)
    settled, left = settling(rule, state, toll)
    for level in levels(classes, experts):
        asking = asking_cost(level, classes, reached, left, price)
        left[level.states] = np.where(settled[level.states], left[level.states], asking.min(axis=1))
    return reached, left


def settling(rule: Rule, state: Floats, toll: float) -> tuple[Bools, Floats]:
    """Where a case settles, and what the error costs that it settles with, times the probability: (..., J) to (...).

    The toll is for all the error that is allowed.

    >>> from quorate.policy.stopping import ErrorBelow
    >>> [part.tolist() for part in settling(ErrorBelow(0.25), np.array([[0.5, 0.0], [0.375, 0.125]]), 1.0)]
    [[True, True], [0.0, 0.5]]
    """
    values = given_votes(state)
    settled = rule.enough(values)
    doubt: Floats = np.where(settled, toll * rule.used(values) * state.sum(axis=-1), 0.0)
    return settled, doubt


def asking_cost(level: Level, classes: int, reached: Floats, left: Floats, price: Floats) -> Floats:
    """What is expected to be spent if each expert who was not asked is asked next, times the state's probability."""
    asking: Floats = price[level.experts] * reached[level.states, None]
    for vote in range(classes):
        asking += left[level.first + vote * level.step]
    return asking


def costs_to_settle(rule: Rule, mass: Floats, price: Floats, toll: float = 0.0) -> Floats:
    """Expected cost to settle if each of U experts is asked first and the best one thereafter: (K^U, J) to (U,).

    >>> from quorate.policy.stopping import ErrorBelow
    >>> agree = np.array([[0.4, 0.0], [0.05, 0.05], [0.05, 0.05], [0.0, 0.4]])  # two experts, ties shared
    >>> costs_to_settle(ErrorBelow(0.01), agree, np.array([1.0, 3.0])).tolist()
    [4.0, 4.0]
    """
    classes = round(len(mass) ** (1 / len(price)))
    reached, left = costs_left(rule, mass, price, toll)
    first: Floats = asking_cost(levels(classes, len(price))[-1], classes, reached, left, price)[0] / reached[-1]
    return first


def two_votes_deep(
    rule: Rule, outlook: Outlook, experts: tuple[str, ...], price: Floats, gains: Floats, toll: float = 0.0
) -> Floats:
    """About what costs_to_settle gives, for the few experts of largest gain; the others follow them: (U,).

    A case that two votes do not settle is taken to cost the cheapest vote left.
    """
    few = np.sort(np.argsort(-gains, kind="stable")[:FEW])
    alone, together = pairs_of(outlook, [experts[place] for place in few])
    # A sampled way to vote that stands alone in its cell would look certain: count one more, like all of them.
    prior = np.zeros(alone.shape[-1]) if outlook.whole else outlook.mass.sum(axis=0) / len(outlook.mass)
    reached = alone.sum(axis=2)  # (F, K)
    settled, doubt = settling(rule, together + prior, toll)  # (F, F, K, K)
    unsettled = ~settled * together.sum(axis=4)
    then = _cheapest_left(price, few)[:, :, None] * unsettled.sum(axis=3) + doubt.sum(axis=3)
    ahead = price[few][None, :, None] * reached[:, None, :] + then  # (F, F, K)
    ahead[np.arange(len(few)), np.arange(len(few))] = np.inf if len(few) > 1 else 0.0  # nobody is asked twice
    settled, doubt = settling(rule, alone + prior, toll)  # (F, K)
    later = np.where(settled, doubt, ahead.min(axis=1)).sum(axis=1)
    found: Floats = np.full(len(price), np.inf)
    found[few] = price[few] + later
    return np.where(np.isfinite(found), found, found[few].max())


def pairs_of(outlook: Outlook, experts: Sequence[str]) -> tuple[Floats, Floats]:
    """Masses of each expert's vote and of each pair's votes together with each outcome: (F, K, J), (F, F, K, K, J).

    >>> outlook = Outlook(("ann", "ben"), np.array([[0, 1], [1, 1]]), np.array([[0.3, 0.0], [0.0, 0.7]]), whole=False)
    >>> [part.shape for part in pairs_of(outlook, ["ben", "ann"])]
    [(2, 2, 2), (2, 2, 2, 2, 2)]
    """
    rows, outcome = np.nonzero(outlook.mass)  # most ways have one outcome
    weight, outcomes = outlook.mass[rows, outcome], outlook.mass.shape[1]
    cast = outlook.votes[:, [outlook.experts.index(expert) for expert in experts]].T[:, rows]  # (F, N)
    classes = int(outlook.votes.max()) + 1
    size = len(experts)
    alone = np.zeros((size, classes, outcomes))
    together = np.zeros((size, size, classes, classes, outcomes))
    for one in range(size):
        own = cast[one] * outcomes + outcome
        alone[one] = np.bincount(own, weight, classes * outcomes).reshape(classes, outcomes)
        for other in range(one):
            both = np.bincount(cast[other] * (classes * outcomes) + own, weight, classes * classes * outcomes)
            together[other, one] = both.reshape(classes, classes, outcomes)
            together[one, other] = together[other, one].transpose(1, 0, 2)
    return alone, together


def _cheapest_left(price: Floats, few: Ints) -> Floats:
    """What the cheapest vote costs once both of a pair have voted; 0 where nobody else is left: (F, F)."""
    found = np.zeros((len(few), len(few)))
    for one, first in enumerate(few):
        for two, second in enumerate(few):
            found[one, two] = np.delete(price, [first, second]).min(initial=np.inf)
    return np.where(np.isfinite(found), found, 0.0)


def later_exactly(rule: Rule, outlook: Outlook, experts: tuple[str, ...], price: Floats, toll: float) -> Later:
    """By dynamic programming, one expert at a time."""
    reached, left = costs_left(rule, outlook.among(experts), price, toll)
    tensor = left.reshape((outlook.classes + 1,) * len(experts))

    def later(asked: list[int]) -> float:
        # the last place of an axis stands for somebody who was not asked
        index = tuple(slice(0, -1) if place in asked else -1 for place in range(len(experts)))
        return float(tensor[index].sum() / reached[-1])

    return later


def later_about(rule: Rule, outlook: Outlook, experts: tuple[str, ...], price: Floats, toll: float) -> Later:
    """For large panels: a case that is not settled then is taken to cost the cheapest vote left."""

    def later(asked: list[int]) -> float:
        joint = votes_of(outlook, [experts[place] for place in asked])
        settled, doubt = settling(rule, joint, toll)
        rest = np.delete(price, asked)
        cheapest = float(rest.min()) if len(rest) else 0.0
        return float(doubt.sum()) + cheapest * float(joint.sum(axis=1) @ ~settled)

    return later
