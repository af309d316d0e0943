"""Signing in with a password or a one-time link, signing out, and the own password."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from quorate.errors import InputError
from quorate.service.access import (
    SESSION_COOKIE,
    Access,
    Identity,
    PageWho,
    Visitor,
    access_of,
    local_path,
)
from quorate.service.problems import ApiError
from quorate.service.rendering import make_templates
from quorate.service.tokens import new_secret

if TYPE_CHECKING:
    from quorate.service.tokens import Issued
    from quorate.storage.people import User

FORM_COOKIE: Final = "quorate_form"
NONCE: Final = re.compile(r"[\w-]{43}", re.ASCII)
EXPIRED_FORM: Final = "The page was too old, or cookies are turned off. Please try again."
DEAD_LINK: Final = "This link was used already, or it has expired. Ask for a new one."

Next = Annotated[str, Query(alias="next")]

router = APIRouter(include_in_schema=False)


def templates_of(request: Request) -> Jinja2Templates:
    """The application's templates (`app.state.templates`), or new ones."""
    found = getattr(request.app.state, "templates", None)
    return found if isinstance(found, Jinja2Templates) else _bare()


@router.get("/sign-in")
async def show_sign_in(request: Request, who: Visitor, wanted: Next = "/") -> Response:
    """The page that asks for name and password."""
    if who is not None:
        return RedirectResponse(local_path(wanted), 303)
    return _form(request, "sign_in.html", {"next": local_path(wanted)})


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Begin a session: from the form, or from a program that sends JSON and gets its CSRF token back."""
    if _media(request) == "application/json":
        name, password = await _json_credentials(request)
        issued, user = await _checked(request, name, password)
        body = {"name": user.name, "role": user.role, "csrf": access_of(request).tokens.csrf(issued.token.digest)}
        return await _begin(request, issued, JSONResponse(body))
    form = await _texts(request)
    shown = {"next": local_path(form.get("next")), "name": form.get("name", "")[:200]}
    if not _form_fits(request, form):
        return _form(request, "sign_in.html", shown | {"problem": EXPIRED_FORM}, status=403)
    try:
        issued, _ = await _checked(request, form.get("name", ""), form.get("password", ""))
    except ApiError as error:
        response = _form(request, "sign_in.html", shown | {"problem": error.message}, status=error.status)
        response.headers.update(error.headers)
        return response
    return await _begin(request, issued, RedirectResponse(shown["next"], 303))


@router.get("/sign-in/{secret}")
async def show_link(request: Request, secret: str) -> Response:
    """The page of a one-time link: a button, so that a program that looks at links does not use them up."""
    grant = await run_in_threadpool(access_of(request).tokens.read, "link", secret)
    if grant is None:
        return _form(request, "sign_in_link.html", {"problem": DEAD_LINK}, status=410)
    return _form(request, "sign_in_link.html", {"name": grant.user.name})


@router.post("/sign-in/{secret}")
async def use_link(request: Request, secret: str) -> Response:
    """Begin a session with a one-time link; who has no password is led to choose one."""
    if not _form_fits(request, await _texts(request)):
        return _form(request, "sign_in_link.html", {"name": "", "problem": EXPIRED_FORM, "retry": True}, status=403)
    spent = await run_in_threadpool(access_of(request).tokens.spend_link, secret)
    if spent is None:
        return _form(request, "sign_in_link.html", {"problem": DEAD_LINK}, status=410)
    issued, grant = spent
    place = "/account" if grant.user.password is None else "/"
    return await _begin(request, issued, RedirectResponse(place, 303))


@router.post("/sign-out")
async def sign_out(request: Request, who: Visitor) -> Response:
    """End the session, on the server and in the browser."""
    access = access_of(request)
    if who is not None and who.via == "session":
        await run_in_threadpool(access.accounts.revoke, who.token_id)
    response = RedirectResponse("/sign-in", 303)
    access.end_session(response)
    return response


@router.get("/account")
async def show_account(request: Request, who: PageWho, saved: bool = False) -> Response:
    """The page of one's own account."""
    return await _account(request, who, {"saved": saved})


@router.post("/account")
async def set_password(request: Request, who: PageWho) -> Response:
    """Set the own password; all other sessions of the user end."""
    access, form = access_of(request), await _texts(request)
    if who.via != "session":
        raise ApiError(403, "forbidden", "a token cannot set a password; sign in with a browser")
    try:
        async with access.hashing:
            await run_in_threadpool(_replace_password, access, who, form, _address(request))
    except (InputError, ApiError) as error:
        status, headers = (error.status, error.headers) if isinstance(error, ApiError) else (422, {})
        response = await _account(request, who, {"problem": str(error)}, status=status)
        response.headers.update(headers)
        return response
    return RedirectResponse("/account?saved=true", 303)


async def _checked(request: Request, name: str, password: str) -> tuple[Issued, User]:
    access = access_of(request)
    async with access.hashing:
        return await run_in_threadpool(_session_by_password, access, name, password, _address(request))


def _session_by_password(access: Access, name: str, password: str, address: str) -> tuple[Issued, User]:
    """A session for whoever knows the password; the same answer for all who do not, users or not."""
    user = access.accounts.named(name)
    key = user.name if user is not None else name.strip().casefold()
    _slow_down(access, key, address)
    stored = user.password if user is not None else None
    fits = access.passwords.verify(stored, password)
    if not fits or user is None or stored is None or user.disabled:
        raise ApiError(401, "unauthorized", "Name or password is wrong.")
    access.limits.succeeded(key, address)
    if access.passwords.outdated(stored):
        access.accounts.refresh_password(user.id, stored, access.passwords.hash(password))
    return access.tokens.issue_session(user.id, by="password"), user


def _replace_password(access: Access, who: Identity, form: dict[str, str], address: str) -> None:
    """Set a password, after the one before unless the session began with a link: then it may be forgotten."""
    if form.get("password", "") != form.get("repeat", ""):
        raise InputError("the two passwords differ; type the new one twice")
    user = access.accounts.user(who.user_id)
    if user.password is not None and not who.by_link:
        _slow_down(access, user.name, address)
        if not access.passwords.verify(user.password, form.get("current", "")):
            raise ApiError(403, "forbidden", "The current password is wrong.", "current")
        access.limits.succeeded(user.name, address)
    access.accounts.set_password(user.id, access.passwords.hash(form.get("password", "")), keep=who.token_id)


def _slow_down(access: Access, name: str, address: str) -> None:
    wait = math.ceil(access.limits.attempt(name, address))
    if wait > 0:
        message = f"Too many attempts. Try again in {wait} {'second' if wait == 1 else 'seconds'}."
        raise ApiError(429, "too_many_requests", message, headers={"Retry-After": str(wait)})


async def _begin(request: Request, issued: Issued, response: Response) -> Response:
    """Hand out a session; the one that the browser had before ends."""
    access = access_of(request)
    before = request.cookies.get(SESSION_COOKIE)
    grant = await run_in_threadpool(access.tokens.read, "session", before) if before else None
    if grant is not None:
        await run_in_threadpool(access.accounts.revoke, grant.token.id)
    access.begin_session(response, issued)
    response.delete_cookie(FORM_COOKIE, path="/sign-in", secure=access.https, httponly=True, samesite="strict")
    return response


async def _account(request: Request, who: Identity, shown: dict[str, object], *, status: int = 200) -> Response:
    user = await run_in_threadpool(access_of(request).accounts.user, who.user_id)
    needs_current = user.password is not None and not who.by_link
    context = {"who": who, "csrf": who.csrf, "has_password": user.password is not None, "needs_current": needs_current}
    return templates_of(request).TemplateResponse(request, "account.html", context | shown, status_code=status)


def _form(request: Request, template: str, shown: dict[str, object] | dict[str, str], *, status: int = 200) -> Response:
    """A form for strangers; its proof is bound to a cookie that other sites can neither read nor send along."""
    access = access_of(request)
    nonce = _nonce(request) or new_secret()
    context = {"who": None, "csrf": access.tokens.form_proof(nonce), **shown}
    response = templates_of(request).TemplateResponse(request, template, context, status_code=status)
    response.set_cookie(FORM_COOKIE, nonce, path="/sign-in", secure=access.https, httponly=True, samesite="strict")
    return response


def _nonce(request: Request) -> str | None:
    found = request.cookies.get(FORM_COOKIE, "")
    return found if NONCE.fullmatch(found) else None


def _form_fits(request: Request, form: dict[str, str]) -> bool:
    nonce = _nonce(request)
    return nonce is not None and access_of(request).tokens.form_fits(nonce, form.get("csrf", ""))


async def _texts(request: Request) -> dict[str, str]:
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


async def _json_credentials(request: Request) -> tuple[str, str]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):  # no JSON, or one too deep or with a number too long to be read
        raise ApiError(422, "invalid", "the body is no JSON; expected an object with name and password") from None
    found = [body.get(field) if isinstance(body, dict) else None for field in ("name", "password")]
    if not all(isinstance(text, str) for text in found):
        raise ApiError(422, "invalid", "expected an object with the texts name and password")
    return str(found[0]), str(found[1])


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""


@cache
def _bare() -> Jinja2Templates:
    return make_templates()
