"""One case: what the classifiers said, who can be asked and who has voted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.panel import Panel
from quorate.errors import InputError

SUM_TOLERANCE = 1e-4
"""How far a row of probabilities may be from summing to 1 before it is refused."""

Row = tuple[float, ...] | None
"""One classifier's probabilities for a case; None where they are missing."""


def probability_row(given: Sequence[float], *, classes: int, what: str) -> tuple[float, ...]:
    """One classifier's probabilities, checked and normalised.

    >>> probability_row([0.25, 0.75], classes=2, what="densenet")
    (0.25, 0.75)
    """
    try:
        row = tuple(float(p) for p in given)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected {classes} numbers, got {given!r}") from None
    if len(row) != classes:
        raise InputError(f"{what}: expected {classes} probabilities, one a class, got {len(row)}")
    for p in row:
        if not 0.0 <= p <= 1.0:  # NaN fails too
            raise InputError(f"{what}: probability {p:g} is not between 0 and 1")
    total = math.fsum(row)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(f"{what}: probabilities sum to {total:.6g}, expected 1 within {SUM_TOLERANCE:g}")
    return tuple(p / total for p in row)


@dataclass(frozen=True)
class Show:
    """What an expert is shown of a case: a text, the address of an image, a link to where it can be seen whole."""

    text: str | None = None
    image: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class Case:
    """One case (the paper's "example") with the votes cast so far, in order; indices, not names."""

    key: str
    probabilities: tuple[Row, ...]  # (M,) rows of (K,)
    available: tuple[bool, ...]  # (H,) who belongs to this case's panel
    votes: tuple[tuple[int, int], ...] = ()  # (expert, class) as they came

    def voted(self, expert: int) -> int | None:
        """The class an expert voted for, or None."""
        return next((vote for who, vote in self.votes if who == expert), None)

    @property
    def unasked(self) -> tuple[int, ...]:
        """Experts who belong to the case and have not voted."""
        seen = {expert for expert, _ in self.votes}
        return tuple(h for h, there in enumerate(self.available) if there and h not in seen)

    def with_vote(self, expert: int, vote: int) -> Case:
        """The case after one more vote."""
        return replace(self, votes=(*self.votes, (expert, vote)))

    def amended(self, expert: int, vote: int) -> Case:
        """The case with an expert's vote changed; it keeps its place in the order they came."""
        return replace(self, votes=tuple((who, vote if who == expert else cast) for who, cast in self.votes))

    def without_vote(self, expert: int) -> Case:
        """The case as if an expert had not voted."""
        return replace(self, votes=tuple((who, cast) for who, cast in self.votes if who != expert))

    def without_expert(self, expert: int) -> Case:
        """The case whose panel an expert does not belong to."""
        there = tuple(on and h != expert for h, on in enumerate(self.available))
        return replace(self, available=there)

    def grown(self, panel: Panel) -> Case:
        """The case in its panel as that has grown: whoever came since has no part in it."""
        rows: tuple[Row, ...] = (None,) * (len(panel.classifiers) - len(self.probabilities))
        there = (False,) * (len(panel.experts) - len(self.available))
        return replace(self, probabilities=self.probabilities + rows, available=self.available + there)

    def within(self, panel: Panel) -> Case | None:
        """The case in its panel as that was before it grew; None where somebody who came since has a part in it."""
        experts, classifiers = len(panel.experts), len(panel.classifiers)
        if any(self.available[experts:]) or any(row is not None for row in self.probabilities[classifiers:]):
            return None
        return replace(self, probabilities=self.probabilities[:classifiers], available=self.available[:experts])

    def vote_row(self) -> Ints:
        """Votes by expert, -1 where there is none: shape (H,)."""
        row = np.full(len(self.available), -1, dtype=np.int64)
        for expert, vote in self.votes:
            row[expert] = vote
        return row

    def probability_rows(self, classes: int) -> Floats:
        """Classifiers' probabilities, NaN where missing: shape (M, K)."""
        return np.array([row if row is not None else (math.nan,) * classes for row in self.probabilities])


def open_case(
    panel: Panel,
    key: str,
    probabilities: Mapping[str, Sequence[float] | None],
    available: Sequence[str] | None = None,
) -> Case:
    """A case from names, checked against its panel; a classifier that is left out or None is missing.

    >>> panel = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
    >>> case = open_case(panel, "case-1", {"densenet": [0.2, 0.8]}, available=["ann", "cho"])
    >>> case.unasked
    (0, 2)
    """
    if not isinstance(key, str) or not key:
        raise InputError(f"a case's key must be a text that is not empty, got {key!r}")
    rows: list[Row] = [None] * len(panel.classifiers)
    for name, given in probabilities.items():
        index = panel.classifier(name)
        if given is not None:
            what = f"case {key!r}, classifier {name!r}"
            rows[index] = probability_row(given, classes=len(panel.classes), what=what)
    there = [True] * len(panel.experts)
    if available is not None:
        there = [False] * len(panel.experts)
        for name in available:
            there[panel.expert(name)] = True
    if not any(there):
        raise InputError(f"case {key!r} has no expert available; at least one is needed")
    return Case(key, tuple(rows), tuple(there))
