"""What a target makes of votes seen and of all that may come: remembered, as a live panel meets the same again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar, get_args

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.protocols import Target
from quorate.core.target import AtLeast, Unanimous, Weighted, patterns

Lasting = Weighted | AtLeast | Unanimous
"""Targets that never change and are equal where they do the same; others may hold anything, and are asked each time."""
LARGEST: Final = 8192
"""Most votes, in all ways to complete a row, that are remembered."""
Array = TypeVar("Array", bound=np.ndarray[Any, Any])


class Completion(NamedTuple):
    """What a target makes of some votes and all that may still come; the arrays may be shared, and are not written."""

    votes: Ints  # (K^U, H) every way to complete the row
    weights: Floats  # (K^U, J) share of each outcome
    possible: Bools  # (J,) outcomes that some way gives


class Standing(NamedTuple):
    """How far some votes decide a target."""

    forced: Floats | None  # (J,) shares of the outcomes, where nothing can change them
    relevant: tuple[int, ...]  # unasked experts whose vote can still change the outcome


def completion(target: Target, row: Ints, unasked: tuple[int, ...], classes: int) -> Completion:
    """Every way to complete a row of votes, as a target weighs it.

    >>> target = Unanimous()
    >>> completion(target, np.array([1, -1]), (1,), 2).weights.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if _lasts(target) and classes ** len(unasked) * len(row) <= LARGEST:
        return _known_completion(target, tuple(row.tolist()), unasked, classes)
    return _completion(target, tuple(row.tolist()), unasked, classes)


def standing(target: Target, row: Ints, unasked: tuple[int, ...]) -> Standing:
    """How far a row of votes decides a target.

    >>> standing(Unanimous(), np.array([1, 0, -1]), (2,))
    Standing(forced=array([1., 0.]), relevant=())
    """
    if _lasts(target):
        return _known_standing(target, tuple(row.tolist()), unasked)
    return _standing(target, tuple(row.tolist()), unasked)


def _lasts(target: Target) -> TypeGuard[Lasting]:
    return type(target) in get_args(Lasting)  # one derived from them may hold more


def _completion(target: Target, row: tuple[int, ...], unasked: tuple[int, ...], classes: int) -> Completion:
    votes = patterns(np.array(row, dtype=np.int64), unasked, classes)
    weights = target.weights(votes)
    return Completion(votes, weights, weights.max(axis=0) > 0)


def _standing(target: Target, row: tuple[int, ...], unasked: tuple[int, ...]) -> Standing:
    votes = np.array(row, dtype=np.int64)
    return Standing(target.forced(votes, unasked), target.relevant(votes, unasked))


@lru_cache(maxsize=256)
def _known_completion(target: Lasting, row: tuple[int, ...], unasked: tuple[int, ...], classes: int) -> Completion:
    votes, weights, possible = _completion(target, row, unasked, classes)
    return Completion(_fixed(votes), _fixed(weights), _fixed(possible))


@lru_cache(maxsize=1024)
def _known_standing(target: Lasting, row: tuple[int, ...], unasked: tuple[int, ...]) -> Standing:
    forced, relevant = _standing(target, row, unasked)
    return Standing(None if forced is None else _fixed(forced), relevant)


def _fixed(array: Array) -> Array:
    array.setflags(write=False)
    return array
