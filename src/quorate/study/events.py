"""What can happen in a study; its journal is a list of these."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.case import Case
from quorate.core.health import Health


@dataclass(frozen=True)
class Opened:
    """A case arrived."""

    case: Case


@dataclass(frozen=True)
class Voted:
    """An expert voted on a case, before it settled or after."""

    key: str
    expert: int
    vote: int


@dataclass(frozen=True)
class Amended:
    """An expert changed a vote, before the case settled or after."""

    key: str
    expert: int
    vote: int


@dataclass(frozen=True)
class Withdrawn:
    """An expert took a vote back, before the case settled or after."""

    key: str
    expert: int


@dataclass(frozen=True)
class Leased:
    """An expert was asked about a case; the vote is on its way."""

    key: str
    expert: int


@dataclass(frozen=True)
class Expired:
    """An expert who was asked about a case did not vote in time; nobody is asked twice about one case."""

    key: str
    expert: int


@dataclass(frozen=True)
class Settled:
    """Asking about a case stopped."""

    key: str
    outcome: str
    probability: float
    stated_error: float
    reason: str
    kept: bool = True  # False: a limit or the budget ended it before it was sure enough


@dataclass(frozen=True)
class Imported:
    """A past case with its votes joined the history without being asked here."""

    case: Case


@dataclass(frozen=True)
class Adopted:
    """What was learned from the journal's first `seen` events is in force from here on."""

    fit: int
    seen: int
    cases: int  # in the history by then
    health: Health


@dataclass(frozen=True)
class Joined:
    """A new expert joined the panel, last in its order."""

    expert: str
    cost: float = 1.0  # of a vote


@dataclass(frozen=True)
class Retired:
    """An expert is not asked any more."""

    expert: int


@dataclass(frozen=True)
class Returned:
    """A retired expert may be asked again."""

    expert: int


@dataclass(frozen=True)
class Replaced:
    """A classifier gave way to a new one, last in the panel's order."""

    old: int
    new: str


@dataclass(frozen=True)
class Restored:
    """A classifier gave way to one that was replaced before."""

    old: int
    new: int


Event = (
    Opened
    | Voted
    | Amended
    | Withdrawn
    | Leased
    | Expired
    | Settled
    | Imported
    | Adopted
    | Joined
    | Retired
    | Returned
    | Replaced
    | Restored
)
