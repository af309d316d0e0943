"""What can happen in a study; its journal is a list of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from quorate.core.case import Case, Show
from quorate.core.health import Health

IF_ANY: Final[Mapping[str, bool]] = MappingProxyType({"if_any": True})
"""Marks a field that is stored only where it is not None: events without it keep their text, and their hash."""


@dataclass(frozen=True)
class Opened:
    """A case arrived."""

    case: Case
    audit: bool = False  # once it would settle, everyone is asked all the same
    show: Show | None = None  # what experts are shown of it


@dataclass(frozen=True)
class Voted:
    """An expert voted on a case, before it settled or after."""

    key: str
    expert: int
    vote: int
    by: str | None = field(default=None, metadata=IF_ANY)  # the user who did it for the expert; None: nobody else


@dataclass(frozen=True)
class Amended:
    """An expert changed a vote, before the case settled or after."""

    key: str
    expert: int
    vote: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Withdrawn:
    """An expert took a vote back, before the case settled or after."""

    key: str
    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Why:
    """Why somebody was asked: what was expected then, and what each candidate's vote was worth."""

    reason: str
    outcome: str
    stated_error: float
    measure: str  # what the gains are in
    gains: tuple[tuple[int, float], ...]  # (expert, gain), the best first


@dataclass(frozen=True)
class Leased:
    """An expert was asked about a case; the vote is on its way."""

    key: str
    expert: int
    until: float | None = None  # when the question lapses, in seconds since 1970; None where it does not
    why: Why | None = None


@dataclass(frozen=True)
class Expired:
    """An expert who was asked about a case did not vote in time; nobody is asked twice about one case."""

    key: str
    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)  # the user who took it back; None: time, or the study itself


@dataclass(frozen=True)
class Abstained:
    """An expert cannot tell: they leave the case's panel, and are not asked about it again."""

    key: str
    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Audited:
    """A case that is audited would have settled; from here on everyone is asked."""

    key: str
    outcome: str
    probability: float
    stated_error: float
    reason: str
    kept: bool
    human_votes: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Reopened:
    """A settled case is asked about again; `whole`, which an open one can be too: until everyone has voted.

    Where more votes are wanted than it has, whoever let the question pass may be asked again.
    """

    key: str
    whole: bool = False
    votes: int = 0  # it does not settle with fewer, if its panel has them
    by: str | None = field(default=None, metadata=IF_ANY)  # the user who wanted it


@dataclass(frozen=True)
class Away:
    """An expert cannot be asked for now."""

    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)  # the user who said so for the expert; None: nobody else


@dataclass(frozen=True)
class Back:
    """An expert who was away can be asked again."""

    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Settled:
    """Asking about a case stopped."""

    key: str
    outcome: str
    probability: float
    stated_error: float
    reason: str
    kept: bool = True  # False: a limit or the budget ended it before it was sure enough
    human_votes: int = 0  # votes it settled with: where it is 0, no person saw the case
    interval: tuple[float, float] | None = None  # 95 % of the outcome's probability over the draws


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
    digest: str = ""  # of what was learned, where that is kept


@dataclass(frozen=True)
class Joined:
    """A new expert joined the panel, last in its order."""

    expert: str
    cost: float = 1.0  # of a vote
    by: str | None = field(default=None, metadata=IF_ANY)  # the user who changed the panel; None: nobody is known


@dataclass(frozen=True)
class Retired:
    """An expert is not asked any more."""

    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Returned:
    """A retired expert may be asked again."""

    expert: int
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Replaced:
    """A classifier gave way to a new one, last in the panel's order."""

    old: int
    new: str
    by: str | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True)
class Restored:
    """A classifier gave way to one that was replaced before."""

    old: int
    new: int
    by: str | None = field(default=None, metadata=IF_ANY)


OfCase = Opened | Voted | Amended | Withdrawn | Leased | Expired | Abstained | Audited | Settled | Reopened | Imported
"""What happens to one case."""

OfPanel = Adopted | Joined | Retired | Returned | Away | Back | Replaced | Restored
"""What happens to the panel, and what was learned about it."""

Event = OfCase | OfPanel
