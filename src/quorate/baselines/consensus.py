"""What the rivals of the paper share: their one target, what of it the votes show, and one classifier out of many."""

from __future__ import annotations

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.history import History
from quorate.core.protocols import Target
from quorate.core.target import Weighted
from quorate.errors import SettingsError


def consensus_only(method: str, target: Target) -> Weighted:
    """The target, if it is the consensus of experts who count alike, under any tie rule; else an error."""
    if isinstance(target, Weighted) and len(set(target.weight)) == 1:
        return target
    raise SettingsError(
        f"method {method!r} forecasts the consensus only, and the target is {target.name!r}; "
        "aim at consensus or consensus:worst=CLASS, or take method bayes"
    )


def mean_probabilities(rows: Floats) -> Floats:
    """Mean over the classifiers that are there, uniform where none is: (..., M, K) to (..., K).

    >>> mean_probabilities(np.array([[0.2, 0.8], [np.nan, np.nan]])).tolist()
    [0.2, 0.8]
    """
    there = ~np.isnan(rows).any(axis=-1, keepdims=True)
    number = there.sum(axis=-2)
    total = np.where(there, rows, 0.0).sum(axis=-2)
    mean: Floats = np.where(number > 0, total / np.maximum(number, 1), 1 / rows.shape[-1])
    return mean


def tallies(votes: Ints, classes: int) -> Ints:
    """Votes for each class, -1 being none: (..., H) to (..., K).

    >>> tallies(np.array([0, 1, 1, -1]), 3).tolist()
    [1, 2, 0]
    """
    counts: Ints = (votes[..., None] == np.arange(classes)).sum(axis=-2)
    return counts


def ranked(tally: Ints, target: Weighted) -> Floats:
    """Tallies with half a vote more for the class that wins ties: (..., K)."""
    score: Floats = tally.astype(np.float64)
    if target.worst is not None:
        score[..., target.worst] += 0.5
    return score


def leaders(tally: Ints, target: Weighted) -> Floats:
    """The consensus of complete tallies as shares, a tie being shared unless a rule breaks it: (..., K)."""
    score = ranked(tally, target)
    lead = score == score.max(axis=-1, keepdims=True)
    shares: Floats = lead / lead.sum(axis=-1, keepdims=True)
    return shares


def observed(history: History, target: Weighted) -> Floats:
    """The consensus of each past case as shares (N, K), a row of 0 where its votes do not determine it.

    The same answers as `Target.forced`, for a whole history at once.
    """
    votes = history.votes()
    there = np.array([case.available for case in history], dtype=bool).reshape(votes.shape)
    left = (there & (votes < 0)).sum(axis=1)
    tally = tallies(votes, len(target.outcomes))
    top = np.sort(ranked(tally, target), axis=1)
    # Strictly more than the votes outstanding: with equality the second could still draw level.
    determined = (left == 0) | (top[:, -1] - top[:, -2] > left)
    shares: Floats = np.where((determined & (tally.sum(axis=1) > 0))[:, None], leaders(tally, target), 0.0)
    return shares
