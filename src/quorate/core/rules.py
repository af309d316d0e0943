"""What is kept to whatever a forecast says: how many votes a case gets, whose they are, and what all may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quorate.core.case import Case
from quorate.core.panel import Panel
from quorate.errors import SettingsError

Barrier = Literal["limit", "budget"]
"""What keeps experts from being asked: `max_votes`, or the budget."""

ROUNDING = 1e-9
"""Share of a budget that sums of costs may be off by."""


@dataclass(frozen=True)
class Terms:
    """What the rules say of one case as it stands."""

    first: tuple[str, ...]  # required experts who may be asked: nobody else is asked before them
    allowed: tuple[str, ...]  # everyone who may be asked, in the order of the panel
    due: bool  # it must not settle yet
    short: bool  # it lacks a vote that it should have and cannot get
    barrier: Barrier | None  # what keeps the others from being asked; the budget where it alone breaks a rule


def _whole(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SettingsError(f"{name} {value!r} is out of range; expected a whole number of at least 0")


@dataclass(frozen=True)
class Rules:
    """Rules of a study; where two of them collide, the one named later in this list wins.

    >>> Rules(min_votes=1, required=["ann"], max_votes=3).required
    ('ann',)
    """

    min_votes: int = 0  # no case settles with fewer, or than its panel has
    required: Sequence[str] = ()  # no case settles without these, where they are on its panel
    max_votes: int | None = None  # no case gets more
    budget: float | None = None  # what all votes of the study may cost

    def __post_init__(self) -> None:
        if isinstance(self.required, str):
            raise SettingsError(f"required must be a list of names, not the single text {self.required!r}")
        object.__setattr__(self, "required", tuple(dict.fromkeys(self.required)))
        _whole("min_votes", self.min_votes)
        if self.max_votes is not None:
            _whole("max_votes", self.max_votes)
            self._check_room(self.max_votes)
        if self.budget is not None and not 0 <= self.budget < math.inf:  # NaN fails too
            raise SettingsError(f"budget {self.budget:g} is out of range; expected a number of at least 0")

    def _check_room(self, most: int) -> None:
        if self.min_votes > most:
            raise SettingsError(f"min_votes {self.min_votes} is more than max_votes {most}; expected at most that")
        if len(self.required) > most:
            raise SettingsError(
                f"required names {len(self.required)} experts, more than max_votes {most}; "
                "require fewer or allow more votes"
            )

    def check(self, panel: Panel) -> None:
        """Refuse rules that no case of a panel can keep to."""
        names = ", ".join(panel.experts)
        for name in self.required:
            if name not in panel.experts:
                raise SettingsError(f"required names no expert {name!r}; the panel has {names}")
        if self.min_votes > len(panel.experts):
            raise SettingsError(
                f"min_votes {self.min_votes} is more than the panel has: {len(panel.experts)} experts, {names}"
            )

    def left(self, spent: float) -> float | None:
        """What may still be spent; None without a budget.

        >>> Rules(budget=10).left(7.5)
        2.5
        """
        return None if self.budget is None else max(self.budget - spent, 0.0)

    def terms(self, panel: Panel, case: Case, left: float | None = None) -> Terms:
        """Who may be asked about a case, and whether it may settle; `left` is what may still be spent."""
        unasked = tuple(panel.experts[h] for h in case.unasked)
        purse = math.inf if left is None else left + ROUNDING * (self.budget or 0.0)
        paid = tuple(panel.experts[h] for h in case.unasked if panel.costs[h] <= purse)
        full = self.max_votes is not None and len(case.votes) >= self.max_votes
        allowed = () if full else paid
        missing = [name for name in unasked if name in self.required]
        first = tuple(name for name in allowed if name in missing)
        few = len(case.votes) < min(self.min_votes, sum(case.available))
        due = bool(first) or (few and bool(allowed))
        barrier: Barrier | None = None
        if len(allowed) < len(unasked):
            poor = not full or any(name not in paid for name in missing)
            barrier = "budget" if poor else "limit"
        return Terms(first, allowed, due, (few or bool(missing)) and not due, barrier)


NO_RULES = Rules()
