"""Experts built from anonymous annotators (the paper's appendix on CIFAR-10H and ImageNet-16H).

A data set with many labels a case but no identity behind them has no experts. The paper makes some: each built expert
owns a block of annotators' columns, is right in most classes (the majority of the first of its labels) and has a class
of weakness, where it says what a minority of all its labels says.

Readings chosen where the appendix is silent:

- Which rule applies to a case depends on the case's class: the consensus of *all* annotators, or a class given by the
  caller (such as the true label), so that a case is the weak one of the same experts whoever is asked.
- "The first 10 of these labels" are the first ten that are there, in column order: an annotator who skipped the case
  gives no label.
- The minority opinion is one label drawn at random among the expert's labels that differ from the leading one, so a
  class that more annotators chose is more likely; where several classes lead, none of them is a minority. If all labels
  are part of the consensus, the vote is the consensus.
- A tie is broken at random.
- Classes are merged before the experts are built, as the appendix tells it. To merge afterwards instead, give the
  original classes of the weak group as `weak` and call `merge_classes` on the votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorate.core.arrays import Bools, Floats, Ints
from quorate.data.cells import ABSENT
from quorate.errors import InputError


@dataclass(frozen=True)
class BuiltExpert:
    """How one expert is made of annotators' columns."""

    columns: tuple[int, ...]  # the annotators it is made of, in order
    weak: frozenset[int]  # classes where it gives a minority opinion
    first: int | None = None  # labels whose majority it gives elsewhere; None = all of them

    def __init__(self, columns: Sequence[int], weak: Sequence[int], first: int | None = None) -> None:
        if not len(columns):
            raise InputError("a built expert needs at least one annotator's column")
        if first is not None and first < 1:
            raise InputError(f"first = {first} is too small; expected the majority of at least 1 label")
        object.__setattr__(self, "columns", tuple(int(column) for column in columns))
        object.__setattr__(self, "weak", frozenset(int(k) for k in weak))
        object.__setattr__(self, "first", first)


CIFAR10H_GROUPS = ((0, 1, 2), (3, 4, 5), (6, 7, 8, 9))
"""The paper's three groups of the ten CIFAR-10 classes."""

CIFAR10H_EXPERTS = (
    BuiltExpert(range(15), weak=[1], first=10),
    BuiltExpert(range(15, 31), weak=[2], first=10),
    BuiltExpert(range(31, 46), weak=[0], first=10),
)
"""The paper's three experts of CIFAR-10H: 15, 16 and 15 of the annotators' columns."""


def merge_classes(labels: ArrayLike, groups: Sequence[Sequence[int]]) -> Ints:
    """Labels of many classes as labels of a few: group j holds the classes that become class j; -1 stays.

    >>> merge_classes([[0, 3], [2, -1]], [(0, 1), (2, 3)]).tolist()
    [[0, 1], [1, -1]]
    """
    given = _labels(labels)
    merged = {old: new for new, group in enumerate(groups) for old in group}
    if len(merged) < sum(len(group) for group in groups):
        raise InputError("a class is in two groups; each class must be in one")
    out = np.full_like(given, ABSENT)
    for old in np.unique(given[given != ABSENT]).tolist():
        if old not in merged:
            raise InputError(f"class {old} is in no group; each class must be in one")
        out[given == old] = merged[old]
    return out


def merge_probabilities(probabilities: ArrayLike, groups: Sequence[Sequence[int]]) -> Floats:
    """Probabilities of many classes as those of a few, summed over each group: (..., K) to (..., groups).

    >>> merge_probabilities([[0.5, 0.25, 0.25]], [(0, 2), (1,)]).tolist()
    [[0.75, 0.25]]
    """
    given = np.asarray(probabilities, dtype=np.float64)
    every = sorted(k for group in groups for k in group)
    if every != list(range(given.shape[-1])):
        raise InputError(f"groups hold the classes {every}; expected each of 0 to {given.shape[-1] - 1} once")
    return np.stack([given[..., list(group)].sum(axis=-1) for group in groups], axis=-1)


def combine_annotators(
    rng: np.random.Generator, labels: ArrayLike, experts: Sequence[BuiltExpert], *, classes: ArrayLike | None = None
) -> Ints:
    """Votes (N, H) of experts built from annotators' labels (N, A), -1 where an annotator gave none.

    `classes` (N,) are the cases' classes; without them each case is of the class that most annotators chose.

    >>> labels = [[0, 0, 1, 0], [1, 1, 0, 1]]
    >>> pair = [BuiltExpert([0, 1], weak=[]), BuiltExpert([1, 2, 3], weak=[1])]
    >>> combine_annotators(np.random.default_rng(0), labels, pair).tolist()
    [[0, 0], [1, 0]]
    """
    given = _labels(labels)
    annotators = given.shape[1]
    for number, expert in enumerate(experts, start=1):
        outside = [column for column in expert.columns if not 0 <= column < annotators]
        if outside:
            raise InputError(f"expert {number}: no column {outside[0]}; the labels have columns 0 to {annotators - 1}")
    of_case = majority(rng, given) if classes is None else np.asarray(classes)
    if of_case.shape != (len(given),):
        raise InputError(f"classes have shape {of_case.shape}; expected one for each of {len(given)} cases")
    votes = np.full((len(given), len(experts)), ABSENT, dtype=np.int64)
    for h, expert in enumerate(experts):
        for row, own in enumerate(given[:, expert.columns]):
            there = own[own != ABSENT]
            if int(of_case[row]) in expert.weak:
                votes[row, h] = _minority(rng, there)
            else:
                votes[row, h] = _leader(rng, there[: expert.first])
    return votes


def majority(rng: np.random.Generator, labels: ArrayLike) -> Ints:
    """The class that most labels of each row name (N,), a tie broken at random; -1 where a row has none."""
    return np.array([_leader(rng, row[row != ABSENT]) for row in _labels(labels)], dtype=np.int64)


def undivided(votes: ArrayLike) -> Bools:
    """Rows where one class leads alone (N,): the paper's sets hold no others."""
    return np.array([len(_leaders(row[row != ABSENT])) == 1 for row in _labels(votes)], dtype=bool)


def _labels(given: ArrayLike) -> Ints:
    array = np.asarray(given)
    if array.ndim != 2:
        raise InputError(f"labels have shape {array.shape}; expected (cases, annotators)")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels are of type {array.dtype}; expected whole numbers, -1 where there is none")
    if array.size and array.min() < ABSENT:
        raise InputError(f"label {array.min()} is no class; expected 0 or more, or -1 where there is none")
    return array.astype(np.int64)


def _leaders(labels: Ints) -> Ints:
    kinds, counts = np.unique(labels, return_counts=True)
    leaders: Ints = kinds[counts == counts.max()] if len(kinds) else kinds
    return leaders


def _leader(rng: np.random.Generator, labels: Ints) -> int:
    leaders = _leaders(labels)
    return int(rng.choice(leaders)) if len(leaders) else ABSENT


def _minority(rng: np.random.Generator, labels: Ints) -> int:
    others = labels[~np.isin(labels, _leaders(labels))]
    return int(rng.choice(others)) if len(others) else _leader(rng, labels)
