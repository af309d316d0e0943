"""Numbers that a user gives by name."""

from __future__ import annotations

import math

from quorate.errors import InputError


def at_least_0(kind: str, whose: str, given: float, error: type[InputError]) -> float:
    """A finite number of at least 0; what is wrong with it is said of its kind and of whose it is.

    >>> at_least_0("cost", "expert 'ann'", 2, InputError)
    2.0
    """
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise error(f"{kind} {given!r} of {whose} is not a number; expected one of at least 0") from None
    if not 0 <= number < math.inf:  # NaN fails too
        raise error(f"{kind} {given:g} of {whose} is out of range; expected a number of at least 0")
    return number
