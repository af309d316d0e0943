"""When to stop asking about a case."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.errors import SettingsError


@dataclass(frozen=True)
class ErrorBelow:
    """Stops as soon as the stated error is at most `max_error` (paper section 6).

    >>> ErrorBelow(0.01).max_error
    0.01
    """

    max_error: float

    def __post_init__(self) -> None:
        if not 0 <= self.max_error < 1:
            raise SettingsError(f"max error {self.max_error:g} is out of range; expected a number from 0 up to below 1")

    def settled(self, case: Case, forecast: Forecast) -> bool:
        """Whether the stated error is small enough."""
        del case  # only the forecast counts
        return forecast.error <= self.max_error


@dataclass(frozen=True)
class VotesSeen:
    """Stops once so many experts have voted; None asks on while anyone is left."""

    votes: int | None

    def settled(self, case: Case, forecast: Forecast) -> bool:
        """Whether enough experts have voted."""
        del forecast  # only the number of votes counts
        return self.votes is not None and len(case.votes) >= self.votes
