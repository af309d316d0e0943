"""Settled cases with the votes that were cast: what a learner learns from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.panel import Panel
from quorate.errors import SettingsError


@dataclass(frozen=True)
class History:
    """Settled cases in the order they settled; open cases do not teach."""

    panel: Panel
    cases: tuple[Case, ...] = ()

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def with_case(self, case: Case) -> History:
        """The history after one more settled case."""
        return History(self.panel, self.cases + (case,))  # noqa: RUF005  # unpacking takes several times as long

    def replaced(self, row: int, case: Case) -> History:
        """The history with another case in one row."""
        cases = list(self.cases)
        cases[row] = case
        return History(self.panel, tuple(cases))

    def without(self, row: int) -> History:
        """The history without one of its cases."""
        return History(self.panel, self.cases[:row] + self.cases[row + 1 :])

    def grown(self, panel: Panel) -> History:
        """The history of a panel that has grown."""
        return History(panel, tuple(case.grown(panel) for case in self.cases))

    def window(self, size: int | None) -> History:
        """The most recent cases (the paper's sliding window), or all of them."""
        if size is None:
            return self
        if size < 1:
            raise SettingsError(f"window {size} is too small; expected a whole number of at least 1")
        return History(self.panel, self.cases[-size:])

    def votes(self) -> Ints:
        """Votes by case and expert, -1 where there is none: shape (N, H)."""
        if not self.cases:
            return np.empty((0, len(self.panel.experts)), dtype=np.int64)
        return np.stack([case.vote_row() for case in self.cases])

    def probabilities(self) -> Floats:
        """Classifiers' probabilities, NaN rows where missing: shape (N, M, K)."""
        classes = len(self.panel.classes)
        if not self.cases:
            return np.empty((0, len(self.panel.classifiers), classes))
        return np.stack([case.probability_rows(classes) for case in self.cases])
