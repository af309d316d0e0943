"""Replays as arrays of numbers a case: what intervals and comparisons between methods are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.assurance.scored import Scored
from quorate.core.arrays import Floats, Ints
from quorate.errors import InputError

TIE = -1


@dataclass(frozen=True, eq=False)
class Run:
    """One replay, a number a case; `rows` says which row of the table each case is, since runs share rows."""

    rows: Ints
    queries: Ints
    cost: Floats  # queries, or what they cost where experts cost differently
    error: Floats  # 0 right, 1 wrong, a share where the truth is a tie
    probability: Floats  # of the outcome when the case settled
    stated: Floats  # stated error
    truth: Ints  # index of the outcome of all votes, -1 where they tie

    def __len__(self) -> int:
        return len(self.rows)


def run_of(
    scored: Sequence[Scored], rows: Sequence[int], outcomes: Sequence[str], costs: dict[str, float] | None = None
) -> Run:
    """A run from settled cases and the rows they came from."""
    if len(scored) != len(rows):
        raise InputError(f"{len(scored)} settled cases and {len(rows)} rows; expected one row a case")
    price = costs or {}
    return Run(
        rows=np.array(rows, dtype=np.int64),
        queries=np.array([case.human_votes for case in scored], dtype=np.int64),
        cost=np.array([sum(price.get(name, 1.0) for name in case.asked) for case in scored], dtype=np.float64),
        error=np.array([case.error for case in scored]),
        probability=np.array([case.probability for case in scored]),
        stated=np.array([case.stated_error for case in scored]),
        truth=np.array([TIE if case.tied else outcomes.index(case.truth[0]) for case in scored], dtype=np.int64),
    )
