"""Users and tokens as pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from quorate.errors import NotFoundError, QuorateError
from quorate.service.access import Identity, PageWho, access_of, page_holding
from quorate.service.api_people import user_view
from quorate.service.api_studies import TheHall
from quorate.service.hall import Hall
from quorate.service.problems import ApiError, as_api_error
from quorate.service.rendering import render
from quorate.service.rights import Right
from quorate.service.tokens import link_address

router = APIRouter(include_in_schema=False)
Admin = Annotated[Identity, Depends(page_holding(Right.MANAGE_USERS))]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Text = Annotated[str, Form()]
LONGEST = 3650
"""Days that a token may live at most."""


def _users(
    request: Request, hall: Hall, who: Identity, shown: dict[str, Any] | None = None, *, status: int = 200
) -> Response:
    access = access_of(request)
    users = access.accounts.users()
    seats = [(name, expert) for name, live in hall.readable().items() for expert in live.study.experts]
    known = {
        "users": [(user, user_view(access, user)) for user in users],
        "seats": seats,
        "here": "users",
        "given": {},
    }
    return render(request, "users.html", {**known, **(shown or {})}, who=who, status=status)


def _done(
    request: Request, hall: Hall, who: Identity, act: Callable[[], dict[str, Any] | None], given: dict[str, str]
) -> Response:
    """Do something to users and show them again, with what came of it."""
    try:
        shown = act()
    except QuorateError as error:
        problem = as_api_error(error)
        return _users(request, hall, who, {"problem": problem.message, "given": given}, status=problem.status)
    return RedirectResponse("/users", 303) if shown is None else _users(request, hall, who, shown)


@router.get("/users")
def show_users(request: Request, hall: TheHall, who: Admin) -> Response:
    """Everybody who may sign in."""
    return _users(request, hall, who)


@router.post("/users")
def create_user(request: Request, hall: TheHall, who: Admin, name: Text, role: Text, seat: Text = "") -> Response:
    """Make a user, give a seat if one was chosen, and show the link by which they first sign in."""
    access = access_of(request)

    def act() -> dict[str, Any]:
        place = _seat(seat) if seat else None
        user = access.accounts.create_user(name, role)
        if place is not None:
            access.accounts.give_seat(user.id, *place)
        link = link_address(access.base_url, access.tokens.issue_link(user.id).secret)
        return {"link": link, "invited": user.name}

    return _done(request, hall, who, act, {"name": name, "role": role, "seat": seat})


@router.post("/users/{user}/link")
def new_link(user: Number, request: Request, hall: TheHall, who: Admin) -> Response:
    """A new sign-in link; those given out before stop working."""
    access = access_of(request)

    def act() -> dict[str, Any]:
        link = link_address(access.base_url, access.tokens.issue_link(user).secret)
        return {"link": link, "invited": access.accounts.user(user).name}

    return _done(request, hall, who, act, {})


@router.post("/users/{user}/role")
def change_role(user: Number, request: Request, hall: TheHall, who: Admin, role: Text) -> Response:
    """Another role."""
    accounts = access_of(request).accounts

    def act() -> None:
        accounts.change_role(user, role)

    return _done(request, hall, who, act, {})


@router.post("/users/{user}/disable")
def disable(user: Number, request: Request, hall: TheHall, who: Admin) -> Response:
    """Keep a user out."""
    accounts = access_of(request).accounts

    def act() -> None:
        accounts.disable(user)

    return _done(request, hall, who, act, {})


@router.post("/users/{user}/enable")
def enable(user: Number, request: Request, hall: TheHall, who: Admin) -> Response:
    """Let a user in again."""
    accounts = access_of(request).accounts

    def act() -> None:
        accounts.enable(user)

    return _done(request, hall, who, act, {})


@router.post("/users/{user}/give")
def give_seat(user: Number, request: Request, hall: TheHall, who: Admin, seat: Text) -> Response:
    """Let a user vote as an expert."""
    accounts = access_of(request).accounts

    def act() -> None:
        accounts.give_seat(user, *_seat(seat))

    return _done(request, hall, who, act, {})


@router.post("/users/{user}/take")
def take_seat(user: Number, request: Request, hall: TheHall, who: Admin, seat: Text) -> Response:
    """Take a seat from a user."""
    accounts = access_of(request).accounts

    def act() -> None:
        accounts.take_seat(user, *_seat(seat))

    return _done(request, hall, who, act, {})


def _seat(text: str) -> tuple[str, str]:
    """A seat as a form sends it: the study and the expert; neither holds a slash."""
    study, slash, expert = text.partition("/")
    if not slash:
        raise NotFoundError(f"no seat {text!r}; expected a study and an expert")
    return study, expert


def _tokens(request: Request, who: Identity, shown: dict[str, Any] | None = None, *, status: int = 200) -> Response:
    accounts = access_of(request).accounts
    now = accounts.clock()
    tokens = [(token, token.live(now)) for token in accounts.tokens(user_id=who.user_id, kinds=("api",))]
    known = {"tokens": tokens, "here": "account", "label": "", "days": "90"}
    return render(request, "tokens.html", {**known, **(shown or {})}, who=who, status=status)


@router.get("/account/tokens")
def show_tokens(request: Request, who: PageWho) -> Response:
    """One's own tokens."""
    return _tokens(request, who)


@router.post("/account/tokens")
def create_token(request: Request, who: PageWho, label: Text = "", days: Text = "") -> Response:
    """A token for a program that acts for oneself; its secret is shown this once."""
    access = access_of(request)
    given: dict[str, Any] = {"label": label, "days": days}
    if who.via != "session":
        raise ApiError(403, "forbidden", "a token cannot make tokens on this page; sign in with a browser")
    known = days.strip().isascii() and days.strip().isdigit() and len(days.strip()) < 5
    if days.strip() and not (known and 1 <= int(days) <= LONGEST):
        wrong = {"problem": f"{days[:20]!r} is no number of days; expected 1 to {LONGEST}, or nothing for no end"}
        return _tokens(request, who, given | wrong, status=422)
    lifetime = timedelta(days=int(days)) if days.strip() else None
    try:
        issued = access.tokens.issue_api(who.user_id, label=label.strip(), lifetime=lifetime)
    except QuorateError as error:
        return _tokens(request, who, given | {"problem": str(error)}, status=as_api_error(error).status)
    return _tokens(request, who, {"secret": issued.secret})


@router.post("/account/tokens/{token}/revoke")
def revoke_token(token: Number, request: Request, who: PageWho) -> Response:
    """End one of one's own tokens."""
    accounts = access_of(request).accounts
    if token not in {one.id for one in accounts.tokens(user_id=who.user_id, kinds=("api",))}:
        raise NotFoundError(f"no token {token} of yours")
    accounts.revoke(token)
    return RedirectResponse("/account/tokens", 303)
