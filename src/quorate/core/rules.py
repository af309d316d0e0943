"""What is kept to whatever a forecast says: how many votes a case gets, whose they are, and what all may cost."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    due: bool  # somebody must be asked before it settles
    held: bool  # it must not settle yet: somebody must be asked, or a vote that it needs is on its way
    needed: int  # how many the rules call for
    room: int | None  # how many may be asked at most; None without a limit
    short: bool  # it lacks a vote that it should have and cannot get
    absent: tuple[str, ...]  # those who might be asked were they not away
    barrier: Barrier | None  # what keeps the others from being asked; the budget where it alone breaks a rule


@dataclass(frozen=True)
class Asked:
    """Experts who were asked about a case and have not voted.

    >>> "ann" in Asked(pending=("ann",))
    True
    """

    pending: tuple[str, ...] = ()  # their votes are on their way
    passed: tuple[str, ...] = ()  # they let the question pass, and are not asked again
    away: tuple[str, ...] = ()  # they cannot be asked for now, and may have been asked before they left
    until: tuple[float | None, ...] = ()  # when each pending question lapses, in seconds since 1970, if it does

    def __contains__(self, expert: object) -> bool:
        return expert in self.pending or expert in self.passed


NOBODY = Asked()


def _whole(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SettingsError(f"{name} {value!r} is out of range; expected a whole number of at least 0")


@dataclass(frozen=True)
class Guard:
    """More votes for cases that look grave: at least so many where any classifier gives a class more than so much.

    A case without any classifier is guarded too.

    >>> Guard("abnormal", above=0.3, votes=2).watches(Panel(["normal", "abnormal"], ["ann"]), ((0.6, 0.4),))
    True
    """

    name: str  # of the class
    above: float
    votes: int

    def __post_init__(self) -> None:
        _whole("votes of a guard", self.votes)
        if not 0 <= self.above <= 1:  # NaN fails too
            raise SettingsError(f"guard of {self.name!r}: probability {self.above:g} is not between 0 and 1")

    def watches(self, panel: Panel, probabilities: Sequence[Sequence[float] | None]) -> bool:
        """Whether a case with these rows of probabilities needs the guard's votes."""
        place = panel.class_(self.name)
        found = [row[place] for row in probabilities if row is not None]
        return not found or max(found) > self.above


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
    guards: Sequence[Guard] = ()  # cases that look grave do not settle with fewer

    def __post_init__(self) -> None:
        if isinstance(self.required, str):
            raise SettingsError(f"required must be a list of names, not the single text {self.required!r}")
        object.__setattr__(self, "required", tuple(dict.fromkeys(self.required)))
        read = tuple(Guard(**one) if isinstance(one, Mapping) else one for one in self.guards)
        object.__setattr__(self, "guards", read)
        _whole("min_votes", self.min_votes)
        if self.max_votes is not None:
            _whole("max_votes", self.max_votes)
            self._check_room(self.max_votes)
        if self.budget is not None and not 0 <= self.budget < math.inf:  # NaN fails too
            raise SettingsError(f"budget {self.budget:g} is out of range; expected a number of at least 0")

    def _check_room(self, most: int) -> None:
        if self.min_votes > most:
            raise SettingsError(f"min_votes {self.min_votes} is more than max_votes {most}; expected at most that")
        for guard in self.guards:
            if guard.votes > most:
                raise SettingsError(
                    f"guard of {guard.name!r}: {guard.votes} votes are more than max_votes {most}; expected fewer"
                )
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
        for guard in self.guards:
            if guard.name not in panel.classes:
                raise SettingsError(f"guard of {guard.name!r}: no such class; the panel has {', '.join(panel.classes)}")
            if guard.votes > len(panel.experts):
                raise SettingsError(
                    f"guard of {guard.name!r}: {guard.votes} votes are more than the panel has: "
                    f"{len(panel.experts)} experts, {names}"
                )
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

    def purse(self, left: float | None) -> float:
        """What experts asked now may cost together, where so much may still be spent."""
        return math.inf if left is None else left + ROUNDING * (self.budget or 0.0)

    def whole(self) -> Rules:
        """These rules for a case that everyone is to vote on: only the budget can keep from it."""
        return Rules(min_votes=sys.maxsize, budget=self.budget)

    def at_least(self, votes: int) -> Rules:
        """These rules for a case that must have so many votes, as one that is asked about again.

        >>> Rules(min_votes=1, max_votes=2).at_least(3).min_votes
        3
        """
        if votes <= self.min_votes:
            return self
        return replace(self, min_votes=votes, max_votes=None if self.max_votes is None else max(self.max_votes, votes))

    def least(self, panel: Panel, case: Case) -> int:
        """How many votes a case must have before it settles, if its panel has them."""
        guarded = [guard.votes for guard in self.guards if guard.watches(panel, case.probabilities)]
        return min(max(self.min_votes, *guarded, 0), sum(case.available))

    def terms(self, panel: Panel, case: Case, left: float | None = None, asked: Asked = NOBODY) -> Terms:
        """Who may be asked about a case, and whether it may settle; `left` is what may still be spent."""
        unasked = {panel.experts[h]: panel.costs[h] for h in case.unasked}
        pending = [name for name in asked.pending if name in unasked]
        askable = [name for name in unasked if name not in asked]
        purse = self.purse(left)
        paid = tuple(name for name in askable if unasked[name] <= purse)
        coming = len(case.votes) + len(pending)
        room = None if self.max_votes is None else max(self.max_votes - coming, 0)
        there = () if room == 0 else paid
        allowed = tuple(name for name in there if name not in asked.away)
        absent = tuple(name for name in there if name in asked.away)
        missing = [name for name in unasked if name in self.required]
        first = tuple(name for name in allowed if name in missing)
        least = self.least(panel, case)
        needed = min(max(least - coming, len(first)), len(allowed) if room is None else min(room, len(allowed)))
        due = needed > 0
        few = len(case.votes) < least
        hoped = [*pending, *absent]
        held = due or (bool(hoped) and (few or any(name in hoped for name in missing)))
        barrier: Barrier | None = None
        if len(there) < len(askable):
            poor = room != 0 or any(name not in paid for name in missing if name in askable)
            barrier = "budget" if poor else "limit"
        return Terms(first, allowed, due, held, needed, room, (few or bool(missing)) and not held, absent, barrier)


NO_RULES = Rules()
