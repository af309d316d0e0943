"""How often each classifier and each expert is right about what the panel decides, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.assembly import read_target
from quorate.data.cells import ABSENT
from quorate.data.table import Table


@dataclass(frozen=True)
class Accuracy:
    """Counts of cases by agent and by the class that the panel decides; ties are left out."""

    agents: tuple[str, ...]  # classifiers first
    classes: tuple[str, ...]
    seen: tuple[tuple[int, ...], ...]  # (A, K)
    right: tuple[tuple[int, ...], ...]  # (A, K)
    ties: int


def accuracy(table: Table, rows: Sequence[int] | None = None) -> Accuracy:
    """Accuracy of a table's agents, or over some of its rows.

    >>> from quorate.data.table import table_from_arrays
    >>> table = table_from_arrays([[0, 0, 1], [1, 1, 1]], [[0.7, 0.3], [0.6, 0.4]])
    >>> found = accuracy(table)
    >>> found.agents[-1], found.right[-1], found.right[0]
    ('expert_3', (0, 1), (1, 0))
    """
    panel, target = table.panel, read_target("consensus", table.panel)
    agents, classes = (*panel.classifiers, *panel.experts), panel.classes
    seen = np.zeros((len(agents), len(classes)), dtype=np.int64)
    right, ties = np.zeros_like(seen), 0
    for row in range(len(table)) if rows is None else rows:
        shares = target.weights(table.votes[row])
        truth = int(shares.argmax())
        if shares[truth] < 1:
            ties += 1
            continue
        scores, votes = table.probabilities[row], table.votes[row]  # (M, K), (H,)
        named = np.array([*np.where(np.isnan(scores).any(axis=1), ABSENT, scores.argmax(axis=1)), *votes])
        seen[:, truth] += named != ABSENT
        right[:, truth] += named == truth
    return Accuracy(agents, classes, _tuples(seen.tolist()), _tuples(right.tolist()), ties)


def _tuples(rows: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in rows)
