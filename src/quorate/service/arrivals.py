"""Cases as they come in, and whether one that comes again is the same."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.case import Show
from quorate.errors import StudyError
from quorate.storage.studies import StoredStudy
from quorate.study.verbs import Probabilities

ROUNDING = 1e-3
"""What a probability may be off by on its way through other programs."""


@dataclass(frozen=True)
class Arrival:
    """A case as it comes in."""

    key: str
    probabilities: Probabilities
    available: tuple[str, ...] | None = None
    show: Show | None = None


def check_same(stored: StoredStudy, arrival: Arrival, before: Arrival | None) -> None:
    """Refuse a case that is another one than that which a study has under its key.

    That may have come `before` in the same request, and is not stored yet then.
    """
    key, panel, known = arrival.key, stored.study.panel, stored.study.state.known(arrival.key)
    rows = {name: row for name, row in zip(panel.classifiers, known.probabilities, strict=True) if row is not None}
    given = {name: row for name, row in arrival.probabilities.items() if row is not None}
    same = rows.keys() == given.keys() and all(
        len(row) == len(given[name]) and all(abs(a - b) < ROUNDING for a, b in zip(row, given[name], strict=True))
        for name, row in rows.items()
    )
    if not same:
        raise StudyError(
            f"case {key!r} exists already in study {stored.name!r} with other probabilities; "
            "each case needs its own key"
        )
    if arrival.show is None:
        return
    if arrival.show != (stored.shown([key])[key] if before is None else before.show):
        raise StudyError(
            f"case {key!r} exists already in study {stored.name!r} and shows something else; what experts are shown "
            "cannot be changed, open it under another key"
        )
