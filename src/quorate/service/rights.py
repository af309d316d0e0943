"""Roles, seats, and who may do what; nothing here knows of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal


class Role(StrEnum):
    """What somebody is to the service; each may do what those before it may."""

    EXPERT = "expert"
    MANAGER = "manager"
    ADMIN = "admin"

    def covers(self, other: Role) -> bool:
        """Whether this role may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class Identity:
    """Who makes a request, by which of the two ways in."""

    user_id: int
    name: str
    role: Role
    seats: Mapping[str, frozenset[str]]  # the experts one votes as, by study
    via: Literal["session", "api"]
    token_id: int
    csrf: str | None = field(default=None, repr=False)  # what forms of this session must carry; None for programs
    by_link: bool = False  # the session began with a one-time link, not with a password

    def sits(self, study: str, expert: str) -> bool:
        """Whether one votes as an expert of a study."""
        return expert in self.seats.get(study, frozenset())

    def instead_of(self, study: str, expert: str) -> str | None:
        """One's name where one acts for an expert without the seat; None where one sits there."""
        return None if self.sits(study, expert) else self.name


class Right(StrEnum):
    """What a role alone decides."""

    SEE_STUDIES = "see studies"  # settings, cases, votes, forecasts, reports: everything an expert must not see
    CREATE_STUDIES = "create studies"
    DELETE_STUDIES = "delete studies"
    CHANGE_PANELS = "change panels"  # experts who come and go, classifiers that are replaced
    OPEN_CASES = "open cases"
    SEE_FORECASTS = "see forecasts"
    REOPEN_CASES = "reopen cases"
    EXPIRE_QUERIES = "expire queries"
    IMPORT_VOTES = "import votes"
    EXPORT_CASES = "export cases"
    SEE_METRICS = "see metrics"
    MANAGE_USERS = "manage users"  # users, seats, and tokens of others


RIGHTS: Final[Mapping[Right, Role]] = MappingProxyType(
    {right: Role.ADMIN if right is Right.MANAGE_USERS else Role.MANAGER for right in Right}
)
"""The least role that has each right."""


def may(who: Identity, right: Right) -> bool:
    """Whether somebody's role has a right."""
    return who.role.covers(RIGHTS[right])


def may_enter(who: Identity, study: str) -> bool:
    """Whether somebody may know that a study is there, and its classes: those who see studies, and its experts."""
    return may(who, Right.SEE_STUDIES) or bool(who.seats.get(study))


def entered(who: Identity, studies: Iterable[str]) -> list[str]:
    """Of some studies, those that somebody may know of."""
    return [study for study in studies if may_enter(who, study)]


def may_see_inbox(who: Identity, study: str, expert: str) -> bool:
    """Whether somebody may see what an expert is asked: that expert, and those who see studies."""
    return may(who, Right.SEE_STUDIES) or who.sits(study, expert)


def may_vote(who: Identity, study: str, expert: str, *, asked: bool) -> bool:
    """Whether somebody may cast an expert's vote on a case, or abstain.

    A vote is a person's word: a manager has none without a seat. A seat's vote is taken where the expert was asked,
    however late it comes; a vote that nobody asked for would choose its own cases.
    """
    return who.role is Role.ADMIN or (who.sits(study, expert) and asked)


def may_change_vote(who: Identity, study: str, expert: str) -> bool:
    """Whether somebody may amend or withdraw an expert's vote: that expert, and managers, who correct mistakes."""
    return who.sits(study, expert) or who.role.covers(Role.MANAGER)


def may_set_away(who: Identity, study: str, expert: str) -> bool:
    """Whether somebody may say that an expert is away or back."""
    return may_change_vote(who, study, expert)


def may_manage_token(who: Identity, owner_id: int) -> bool:
    """Whether somebody may see, make and revoke a user's tokens."""
    return who.user_id == owner_id or may(who, Right.MANAGE_USERS)
