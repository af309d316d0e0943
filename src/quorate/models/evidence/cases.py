"""Cases as the shared-evidence model reads them: scores, who was missing, votes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.history import History

FLOOR = 1e-7
"""Probabilities are at least this: classifiers give exact 0 and 1."""


def logits(probabilities: Floats) -> Floats:
    """Log-odds of each class against all others, (..., K) to (..., K); a missing row (NaN) stays missing.

    >>> logits(np.array([0.8, 0.2])).round(3).tolist()
    [1.386, -1.386]
    """
    p = np.maximum(probabilities, FLOOR)
    p = p / p.sum(axis=-1, keepdims=True)
    others = p.sum(axis=-1, keepdims=True) - p
    result: Floats = np.log(p) - np.log(np.maximum(others, FLOOR))
    return result


@dataclass(frozen=True, eq=False)
class Cases:
    """Keys, scores, missing classifiers and votes of some cases."""

    keys: tuple[str, ...]
    scores: Floats  # (n, M, K) logits, 0 where missing
    missing: Ints  # (n,) the missing classifiers as bits of a number
    votes: Ints  # (n, H), -1 where there is none

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, history: History) -> Cases:
        """The cases of a history."""
        scores, missing = read_scores(history.probabilities())
        return cls(tuple(case.key for case in history), scores, missing, history.votes())

    def some(self, rows: Ints) -> Cases:
        """These rows alone."""
        keys = tuple(self.keys[row] for row in rows)
        return Cases(keys, self.scores[rows], self.missing[rows], self.votes[rows])

    def then(self, later: Cases) -> Cases:
        """These cases followed by others of the same panel."""
        return Cases(
            self.keys + later.keys,
            np.concatenate([self.scores, later.scores]),
            np.concatenate([self.missing, later.missing]),
            np.concatenate([self.votes, later.votes]),
        )

    def wider(self, classifiers: int, experts: int) -> Cases:
        """The same cases of a panel that has grown, read as they were: nobody new had a say in them.

        A case that missed nobody still does: its likelihood stays what it was until it is read anew.
        """
        n, before, classes = self.scores.shape
        scores = np.zeros((n, classifiers, classes))
        scores[:, :before] = self.scores
        votes = np.full((n, experts), -1, dtype=np.int64)
        votes[:, : self.votes.shape[1]] = self.votes
        absent = np.where(self.missing > 0, self.missing | newcomers(before, classifiers), 0)
        return Cases(self.keys, scores, absent, votes)


def read_scores(probabilities: Floats) -> tuple[Floats, Ints]:
    """Logits with 0 where a classifier is missing, and the missing ones as bits: (n, M, K) to (n, M, K) and (n,)."""
    there = np.asarray(np.isfinite(probabilities).all(axis=2))  # (n, M)
    scores = np.where(there[:, :, None], logits(np.where(there[:, :, None], probabilities, 0.5)), 0.0)
    bits = (~there).astype(np.int64) @ (1 << np.arange(probabilities.shape[1], dtype=np.int64))
    return np.ascontiguousarray(scores), bits


def newcomers(before: int, after: int) -> int:
    """The classifiers that came since there were so many, as bits of a number.

    >>> newcomers(1, 3)
    6
    """
    return (1 << after) - (1 << before)


def regimes_of(missing: Iterable[int]) -> tuple[int, ...]:
    """The ways in which classifiers were missing, in the order they came; nobody missing is none of them.

    >>> regimes_of([0, 2, 1, 2])
    (2, 1)
    """
    return tuple(dict.fromkeys(int(bits) for bits in missing if bits))


def regime_numbers(missing: Iterable[int], regimes: tuple[int, ...]) -> Ints:
    """Number of the regime of each case: 0 where nobody is missing.

    >>> regime_numbers([0, 2, 1, 2], (2, 1)).tolist()
    [0, 1, 2, 1]
    """
    numbers = {bits: number for number, bits in enumerate((0, *regimes))}
    return np.array([numbers[int(bits)] for bits in missing], dtype=np.int64)


def difference(before: Cases, after: Cases) -> tuple[Ints, Ints]:
    """Rows of `before` that are gone or changed, and rows of `after` that are new or changed."""
    at = {key: row for row, key in enumerate(before.keys)}
    source = np.array([at.get(key, -1) for key in after.keys], dtype=np.int64)
    known, old = source >= 0, np.maximum(source, 0)
    same = known.copy()
    if len(before):
        same &= (before.votes[old] == after.votes).all(axis=1) & (before.missing[old] == after.missing)
        same &= (before.scores[old] == after.scores).all(axis=(1, 2))
    stays = np.zeros(len(before), dtype=bool)
    stays[source[same]] = True
    return np.flatnonzero(~stays), np.flatnonzero(~same)
