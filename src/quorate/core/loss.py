"""How grave it is to miss each outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorate.core.numbers import at_least_0
from quorate.errors import SettingsError


def gravity_of(loss: Mapping[str, float] | None, outcomes: Sequence[str]) -> tuple[float, ...] | None:
    """How grave it is to miss each outcome, 1 where it is not told: (J,); None where nothing is told.

    >>> gravity_of({"yes": 5}, ("no", "yes"))
    (1.0, 5.0)
    """
    if not loss:
        return None
    found = dict.fromkeys(outcomes, 1.0)
    for name, weight in loss.items():
        if name not in found:
            raise SettingsError(f"no outcome {name!r} to have a loss; the target has {', '.join(outcomes)}")
        found[name] = at_least_0("loss", repr(name), weight, SettingsError)
    if not any(found.values()):
        raise SettingsError("every outcome has a loss of 0, so nothing can be wrong; expected at least one above 0")
    return tuple(found.values())
