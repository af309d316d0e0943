"""Whether a fit or a forecast may be trusted: a value, never a log line."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Health:
    """What was checked of a fit or forecast; `reasons` is empty when it may settle a case.

    >>> Health().healthy, Health(reasons=("R-hat 1.31 is above 1.05",)).healthy
    (True, False)
    """

    reasons: tuple[str, ...] = ()
    rhat: float | None = None  # largest over all parameters; None where nothing was sampled
    ess: float | None = None  # smallest effective sample size over all parameters
    monte_carlo_error: float | None = None  # standard error of the stated error; None where it is exact
    divergences: int = 0

    @property
    def healthy(self) -> bool:
        """No check failed."""
        return not self.reasons

    def because(self, reason: str) -> Health:
        """The same with one more reason not to trust it."""
        return replace(self, reasons=(*self.reasons, reason))
