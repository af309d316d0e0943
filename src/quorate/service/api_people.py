"""Users, their seats and tokens over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import Field, StringConstraints

from quorate.errors import NotFoundError
from quorate.service.access import Access, Identity, Who, access_of, may_manage_token
from quorate.service.api_studies import can
from quorate.service.forms import Form
from quorate.service.paging import After, Limit, following
from quorate.service.rights import Right
from quorate.service.tokens import link_address
from quorate.storage.addresses import LONGEST_NAME, PRINTABLE
from quorate.storage.people import Token, User

router = APIRouter(prefix="/api", tags=["people"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Written = Annotated[str, Path(max_length=LONGEST_NAME, pattern=PRINTABLE)]
RoleName = Literal["admin", "manager", "expert"]


class UserIn(Form):
    """Somebody who may sign in."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=PRINTABLE)]
    role: RoleName = "expert"


class UserChange(Form):
    """What may change about a user."""

    role: RoleName | None = None
    disabled: bool | None = None


class TokenIn(Form):
    """A token for a program."""

    label: Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    days: Annotated[int, Field(ge=1, le=3650)] | None = None


@dataclass(frozen=True)
class SeatView:
    """Which expert of which study a user votes as."""

    study: str
    expert: str


@dataclass(frozen=True)
class UserView:
    """A user, without anything secret."""

    id: int
    name: str
    role: str
    disabled: bool
    seats: list[SeatView]


@dataclass(frozen=True)
class UserPage:
    """Users in the order they came; `next` is the `after` of the next page."""

    items: list[UserView]
    next: int | None


@dataclass(frozen=True)
class LinkView:
    """A sign-in link that works once."""

    user: int
    link: str


@dataclass(frozen=True)
class TokenView:
    """A token, without its secret."""

    id: int
    user: int
    label: str
    created_at: str
    expires_at: str | None
    revoked: bool


@dataclass(frozen=True)
class TokenPage:
    """Tokens in the order they were made; `next` is the `after` of the next page."""

    items: list[TokenView]
    next: int | None


@dataclass(frozen=True)
class NewToken:
    """A token with its secret, which is shown this once."""

    token: TokenView
    secret: str


def user_view(access: Access, user: User) -> UserView:
    """A user as others may see them."""
    seats = [SeatView(seat.study, seat.expert) for seat in access.accounts.seats(user_id=user.id)]
    return UserView(user.id, user.name, user.role, user.disabled, seats)


def token_view(token: Token) -> TokenView:
    """A token as its owner may see it."""
    return TokenView(
        token.id,
        token.user_id,
        token.label,
        token.created_at.isoformat(),
        None if token.expires_at is None else token.expires_at.isoformat(),
        token.revoked_at is not None,
    )


@router.get("/users", dependencies=[can(Right.MANAGE_USERS)])
def list_users(request: Request, after: After = 0, limit: Limit = 100) -> UserPage:
    """Everybody who may sign in, in the order they came."""
    access = access_of(request)
    found = access.accounts.page_of_users(after=after, limit=limit)
    return UserPage([user_view(access, user) for user in found], following(found, limit, lambda one: one.id))


@router.post("/users", status_code=201, dependencies=[can(Right.MANAGE_USERS)])
def create_user(body: UserIn, request: Request) -> LinkView:
    """Make a user, who sets a password after signing in by the link that is answered."""
    access = access_of(request)
    user = access.accounts.create_user(body.name, body.role)
    return _link(access, user)


@router.patch("/users/{user}", dependencies=[can(Right.MANAGE_USERS)])
def change_user(user: Number, body: UserChange, request: Request) -> UserView:
    """Change a user's role, or shut them out; their tokens are dead at once."""
    access = access_of(request)
    found = access.accounts.user(user)
    if body.role is not None:
        found = access.accounts.change_role(user, body.role)
    if body.disabled is not None:
        found = access.accounts.disable(user) if body.disabled else access.accounts.enable(user)
    return user_view(access, found)


@router.post("/users/{user}/link", status_code=201, dependencies=[can(Right.MANAGE_USERS)])
def new_link(user: Number, request: Request) -> LinkView:
    """A new sign-in link; those given out before stop working."""
    access = access_of(request)
    return _link(access, access.accounts.user(user))


def _link(access: Access, user: User) -> LinkView:
    return LinkView(user.id, link_address(access.base_url, access.tokens.issue_link(user.id).secret))


@router.put("/users/{user}/seats/{study}/{expert}", dependencies=[can(Right.MANAGE_USERS)])
def give_seat(user: Number, study: Written, expert: Written, request: Request) -> UserView:
    """A user votes as an expert of a study."""
    access = access_of(request)
    access.accounts.give_seat(user, study, expert)
    return user_view(access, access.accounts.user(user))


@router.delete("/users/{user}/seats/{study}/{expert}", dependencies=[can(Right.MANAGE_USERS)])
def take_seat(user: Number, study: Written, expert: Written, request: Request) -> UserView:
    """A user does not vote as an expert any more."""
    access = access_of(request)
    access.accounts.take_seat(user, study, expert)
    return user_view(access, access.accounts.user(user))


@router.get("/tokens")
def list_tokens(request: Request, who: Who, after: After = 0, limit: Limit = 100) -> TokenPage:
    """One's own tokens, in the order they were made."""
    accounts = access_of(request).accounts
    found = accounts.tokens(user_id=who.user_id, kinds=("api",), after=after, limit=limit)
    return TokenPage([token_view(token) for token in found], following(found, limit, lambda one: one.id))


@router.post("/tokens", status_code=201)
def create_token(body: TokenIn, request: Request, who: Who) -> NewToken:
    """A token for a program that acts for oneself; one that is made with another token ends no later than that."""
    access = access_of(request)
    lifetime = None if body.days is None else timedelta(days=body.days)
    issued = access.tokens.issue_api(who.user_id, label=body.label, lifetime=lifetime, until=_latest_end(access, who))
    return NewToken(token_view(issued.token), issued.secret)


def _latest_end(access: Access, who: Identity) -> datetime | None:
    """When a token must end that somebody makes now: with the one they came in with, else a leaked one never ends."""
    if who.via == "session":
        return None
    used = {one.id: one for one in access.accounts.tokens(user_id=who.user_id, kinds=("api",))}.get(who.token_id)
    return access.accounts.clock() if used is None else used.expires_at  # one that is gone by now opens nothing


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: Number, request: Request, who: Who) -> Response:
    """End a token."""
    accounts = access_of(request).accounts
    mine = {one.id: one for one in accounts.tokens(kinds=("api",))}.get(token)
    if mine is None or not may_manage_token(who, mine.user_id):  # nobody learns of other people's tokens
        raise NotFoundError(f"no token {token}")
    accounts.revoke(token)
    return Response(status_code=204)
