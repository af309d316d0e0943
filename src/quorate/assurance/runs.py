"""Replays as arrays of numbers a case: what intervals and comparisons between methods are computed from."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.arrays import Floats, Ints

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
