"""Who comes in, and what they may do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal
from urllib.parse import quote, urlsplit

from fastapi import Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool

from quorate.errors import SettingsError
from quorate.service.problems import ApiError
from quorate.service.rights import (
    RIGHTS,
    Identity,
    Right,
    Role,
    entered,
    may,
    may_change_vote,
    may_enter,
    may_manage_token,
    may_see_inbox,
    may_set_away,
    may_vote,
)
from quorate.service.tokens import same_text

if TYPE_CHECKING:
    from fastapi.responses import Response

    from quorate.service.limits import SignInLimits
    from quorate.service.passwords import Passwords
    from quorate.service.tokens import Issued, Tokens
    from quorate.storage.accounts import Accounts
    from quorate.storage.people import Grant

__all__ = [
    "RIGHTS",
    "Access",
    "Identity",
    "PageWho",
    "Right",
    "Role",
    "Visitor",
    "Who",
    "access_of",
    "entered",
    "holding",
    "install",
    "local_path",
    "may",
    "may_change_vote",
    "may_enter",
    "may_manage_token",
    "may_see_inbox",
    "may_set_away",
    "may_vote",
    "on_page",
    "page_holding",
    "refuse",
    "signed_in",
    "visitor",
]

SESSION_COOKIE: Final = "quorate_session"
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf"
HASHES_AT_ONCE: Final = 2  # each takes much memory; those who wait for their turn hold no thread
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_TYPES: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
Via = Literal["session", "api"]
LOCAL: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def refuse(what: str, *, unless: bool) -> None:
    """Refuse what is not allowed; do so before looking whether a thing is there, so that it tells nothing of it."""
    if not unless:
        raise ApiError(403, "forbidden", f"you may not {what}; ask an admin for a role or a seat that may")


@dataclass(frozen=True)
class Access:
    """All that the way in is made of; an application holds one as `app.state.access`."""

    accounts: Accounts
    tokens: Tokens
    passwords: Passwords
    limits: SignInLimits
    base_url: str  # as browsers see the service
    hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(HASHES_AT_ONCE), repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise SettingsError(f"base_url = {self.base_url!r} is no address; expected http://HOST or https://HOST")

    @property
    def https(self) -> bool:
        """Whether browsers come by an encrypted connection alone."""
        return urlsplit(self.base_url).scheme == "https"

    def identify(self, request: Request) -> Identity | None:
        """Who a request says it is, by its Authorization header if it has one, else by its cookie; None for neither."""
        shown = _shown(request)
        grant = None if shown is None else self.tokens.read(*shown)
        if shown is not None and grant is not None:
            return self._identity(grant, shown[0])
        if shown is not None and shown[0] == "api":
            raise ApiError(
                401,
                "unauthorized",
                "the token is unknown, expired or revoked; expected `Authorization: Bearer quo_...`",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        return None

    def recall(self, request: Request) -> Identity | None:
        """The same of somebody who came a moment ago, at once; None where it is not known."""
        shown = _shown(request)
        grant = None if shown is None else self.tokens.recall(*shown)
        return None if shown is None or grant is None else self._identity(grant, shown[0])

    def _identity(self, grant: Grant, via: Via) -> Identity:
        seats: dict[str, set[str]] = {}
        for seat in grant.seats:
            seats.setdefault(seat.study, set()).add(seat.expert)
        return Identity(
            grant.user.id,
            grant.user.name,
            Role(grant.user.role),
            MappingProxyType({study: frozenset(experts) for study, experts in seats.items()}),
            via,
            grant.token.id,
            self.tokens.csrf(grant.token.digest) if via == "session" else None,
            by_link=via == "session" and grant.token.label == "link",
        )

    def begin_session(self, response: Response, issued: Issued) -> None:
        """Give a browser its session.

        SameSite is Lax, not Strict: a link to a case in a mail must open for somebody who is signed in. Nothing is
        changed by the requests that Lax lets through, and all others need the session's CSRF token besides.
        """
        expires, created = issued.token.expires_at, issued.token.created_at
        response.set_cookie(
            SESSION_COOKIE,
            issued.secret,
            max_age=None if expires is None else int((expires - created).total_seconds()),
            path="/",
            secure=self.https,
            httponly=True,
            samesite="lax",
        )

    def end_session(self, response: Response) -> None:
        """Take the session from a browser."""
        response.delete_cookie(SESSION_COOKIE, path="/", secure=self.https, httponly=True, samesite="lax")


def _shown(request: Request) -> tuple[Via, str] | None:
    """The secret that a request comes with."""
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        return "api", secret.strip() if scheme.lower() == "bearer" else ""
    cookie = request.cookies.get(SESSION_COOKIE)
    return ("session", cookie) if cookie else None


def install(app: FastAPI, access: Access) -> None:
    """Let the dependencies below find the way in."""
    app.state.access = access


def access_of(request: Request) -> Access:
    """The way in of the application that a request came to."""
    access: Access = request.app.state.access
    return access


async def visitor(request: Request) -> AsyncIterator[Identity | None]:
    """Who makes a request, None for a stranger; an unsafe one that came by cookie must carry the CSRF token."""
    access = access_of(request)
    who = access.recall(request) or await run_in_threadpool(access.identify, request)
    if who is not None:
        request.state.user_id = who.user_id
    try:
        if who is not None and who.csrf is not None and request.method not in SAFE_METHODS:
            await _check_proof(request, who.csrf)
        yield who
    finally:
        await request.close()  # files that came with a form


async def _check_proof(request: Request, expected: str) -> None:
    given = request.headers.get(CSRF_HEADER)
    if given is None and request.headers.get("content-type", "").partition(";")[0].strip().lower() in FORM_TYPES:
        entry = (await request.form()).get(CSRF_FIELD)
        given = entry if isinstance(entry, str) else None
    if given is None or not same_text(expected, given):
        raise ApiError(
            403,
            "csrf",
            f"the request lacks its page's proof; expected the header {CSRF_HEADER} or the form field "
            f"{CSRF_FIELD!r}: load the page again",
        )


Visitor = Annotated[Identity | None, Depends(visitor)]


async def signed_in(who: Visitor) -> Identity:
    """Who makes a request; strangers are told to bring a token."""
    if who is None:
        raise ApiError(
            401,
            "unauthorized",
            "sign in, or send a token as `Authorization: Bearer quo_...`",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return who


async def on_page(request: Request, who: Visitor) -> Identity:
    """Who looks at a page; strangers are led to sign in, and back to the page they wanted."""
    if who is None:
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        place = f"/sign-in?next={quote(wanted, safe='')}" if request.method == "GET" else "/sign-in"
        if request.headers.get("HX-Request"):  # a part of a page must not be replaced by the whole sign-in page
            raise ApiError(401, "unauthorized", "sign in again", headers={"HX-Redirect": "/sign-in"})
        raise ApiError(303, "unauthorized", "sign in first", headers={"Location": place})
    return who


Who = Annotated[Identity, Depends(signed_in)]
PageWho = Annotated[Identity, Depends(on_page)]


def holding(right: Right) -> Callable[[Identity], Awaitable[Identity]]:
    """A dependency: who makes a request, refused without a right."""

    async def holder(who: Who) -> Identity:
        refuse(right.value, unless=may(who, right))
        return who

    return holder


def page_holding(right: Right) -> Callable[[Identity], Awaitable[Identity]]:
    """The same for pages."""

    async def holder(who: PageWho) -> Identity:
        refuse(right.value, unless=may(who, right))
        return who

    return holder


def local_path(wanted: str | None) -> str:
    """Where to go after signing in: an address of this service, else its front page.

    >>> local_path("/studies/cxr?page=2"), local_path("//elsewhere.example")
    ('/studies/cxr?page=2', '/')
    """
    return wanted if wanted is not None and LOCAL.fullmatch(wanted) else "/"
