"""The error that audits find: what cases would have settled as, held against the votes of the whole panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quorate.assurance.calibration import Bin, reliability
from quorate.assurance.summary import exact_interval


@dataclass(frozen=True)
class Checked:
    """One audited case: the probability it would have settled with, and the panel's share of that outcome."""

    probability: float
    stated_error: float
    right: float  # 1 where the whole panel decided the same, between 0 and 1 where it tied


@dataclass(frozen=True)
class Audit:
    """What audits came to: errors made and stated, and the range in which the error lies with 95 per cent."""

    cases: int
    errors: float
    stated: float  # errors that were to be expected by what was stated
    rate: float | None
    low: float
    high: float
    bins: tuple[Bin, ...]

    @property
    def honest(self) -> bool:
        """Whether the stated error lies within the range that the audits leave, or above it."""
        return not self.cases or self.stated / self.cases >= self.low


def audited(checked: Sequence[Checked]) -> Audit:
    """The error of audited cases with its exact interval; a tie counts as the share that it misses, rounded up.

    >>> found = audited([Checked(0.99, 0.01, 1.0)] * 99 + [Checked(0.97, 0.03, 0.0)])
    >>> found.errors, round(found.stated, 2), round(found.low, 4), round(found.high, 4)
    (1.0, 1.02, 0.0003, 0.0545)
    """
    errors = math.fsum(1 - one.right for one in checked)
    low, high = exact_interval(math.ceil(errors - 1e-9), len(checked))
    return Audit(
        cases=len(checked),
        errors=errors,
        stated=math.fsum(one.stated_error for one in checked),
        rate=errors / len(checked) if checked else None,
        low=low,
        high=high,
        bins=reliability([one.probability for one in checked], [one.right for one in checked]) if checked else (),
    )
