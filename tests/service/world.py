"""Two studies and everybody who may come to them, as files that can be copied."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from httpx2 import Response
from starlette.routing import BaseRoute, Mount

from quorate.service.access import CSRF_HEADER, SESSION_COOKIE
from tests.service.conftest import Service, serving

HEART = {"study": "heart", "case": "c1", "expert": "ann"}
OTHERS = ("benedikta", "chiara")
ACTORS = ("nobody", "seated", "neighbour", "stranger", "manager", "admin", "revoked", "disabled")
FILE = "quorate.db"


@dataclass(frozen=True)
class Somebody:
    """A user by the ways in."""

    id: int = 0
    token: str | None = None
    token_id: int = 0
    session: str | None = None
    csrf: str = ""


@dataclass(frozen=True)
class World:
    """The files of a service, and who is who."""

    folder: Path
    people: Mapping[str, Somebody]

    def dump(self) -> list[str]:
        """Everything that is stored."""
        with sqlite3.connect(self.folder / FILE) as connection:
            found = list(connection.iterdump())
        connection.close()
        return found


@dataclass(frozen=True)
class Sample:
    """A plausible request to a route; what is sent is JSON, a form or a text."""

    body: object = None
    form: Mapping[str, str] | None = None
    content: str | None = None
    files: Mapping[str, tuple[str, bytes]] | None = None
    parts: Mapping[str, str] = field(default_factory=dict)


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Every method and path that the application answers to."""
    found = []
    for route in _walk(app.routes):
        if isinstance(route, Mount):
            found.append(("GET", f"{route.path}/{{path}}"))
            continue
        path, methods = str(getattr(route, "path", "?")), getattr(route, "methods", None) or ()
        found += [(method, path) for method in sorted(methods) if method != "HEAD"]
    return found


def _walk(found: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    for route in found:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield route
        else:
            yield from _walk(inner.routes)


def build(
    folder: Path,
    *,
    p: float = 0.8317,
    vote: str | None = "abnormal",
    alone: bool = False,
    abstains: bool = False,
) -> World:
    """Make a world: c1 is asked of ann and others, c2 not of ann, and on c3 ann has voted."""
    folder.mkdir()
    with serving(folder / FILE) as service:
        service.create(experts=["ann", *OTHERS], min_votes=3, in_flight=3, max_open=9)
        service.create("lung", experts=["dan", "eve"])
        service.open("c1", p=p, available=["ann"] if alone else None)
        service.open("c2", p=p, available=list(OTHERS))
        service.open("c3", p=0.5)
        service.vote("c3", "ann", "normal")
        if vote is not None and not alone:
            service.vote("c1", OTHERS[0], vote)
        if abstains and not alone:
            service.ask("POST", "/api/studies/heart/cases/c1/abstentions", {"expert": OTHERS[1]})
        return World(folder, dict(_people(service)))


@contextmanager
def entered(world: World) -> Iterator[Service]:
    """The service of a world."""
    with serving(world.folder / FILE) as service:
        service.hall.hub.close()  # streams end at once, so that they can be looked at
        yield service


def _people(service: Service) -> Iterator[tuple[str, Somebody]]:
    yield "nobody", Somebody()
    roles = {"manager": "manager", "revoked": "manager", "disabled": "manager", "admin": "admin"}
    seats = {"seated": ("heart", "ann"), "neighbour": ("lung", "dan")}
    access = service.hall.access
    for name in ACTORS[1:]:
        user = access.accounts.create_user(name, roles.get(name, "expert"))
        if name in seats:
            access.accounts.give_seat(user.id, *seats[name])
        token, session = access.tokens.issue_api(user.id), access.tokens.issue_session(user.id, by="password")
        csrf = access.tokens.csrf(session.token.digest)
        if name == "revoked":
            access.accounts.revoke_all(user.id)
        if name == "disabled":
            access.accounts.disable(user.id)
        yield name, Somebody(user.id, token.secret, token.token.id, session.secret, csrf)


def send(
    service: Service, who: Somebody, method: str, path: str, sample: Sample = Sample(), *, page: bool = False
) -> Response:
    """A request by token, or to a page by session."""
    headers = {"Accept": "text/html"} if page else {}
    client = service.client
    client.cookies.clear()
    if page and who.session is not None:
        headers[CSRF_HEADER] = who.csrf
        client.cookies.set(SESSION_COOKIE, who.session)
    elif who.token is not None:
        headers["Authorization"] = f"Bearer {who.token}"
    found: Any = client.request(
        method,
        path,
        json=sample.body,
        data=sample.form,
        content=sample.content,
        files=sample.files,
        headers=headers,
    )
    return found  # type: ignore[no-any-return]


VARIES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?"  # times
    r"|[0-9a-f]{64}|[0-9a-f]{32}|(?<=-)[0-9a-f]{8}\b"  # proofs, request ids, stamps
    r"|quo_[\w-]{43}|[\w-]{43}"  # secrets
)


def told(response: Response) -> tuple[int, str, str]:
    """What a response says, without times and secrets."""
    where = response.headers.get("location", "")
    return response.status_code, where, VARIES.sub("~", response.text)
