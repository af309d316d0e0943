"""What a chooser may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quorate.core.case import Case
from quorate.core.forecast import Forecast


@dataclass(frozen=True)
class Choice:
    """One choice of whom to ask: the case as it is forecast, and the experts among whom to choose."""

    case: Case
    forecast: Forecast
    candidates: tuple[str, ...]  # in the order of the panel
    costs: Mapping[str, float] | None = None  # of the case's panel; None where there is nothing to weigh
    pending: tuple[str, ...] = ()  # experts who were asked and have not voted yet
