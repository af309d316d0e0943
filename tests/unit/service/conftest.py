"""A small service with real accounts: time stands still unless a test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from quorate.service import problems
from quorate.service.access import Access, Identity, PageWho, Right, Visitor, Who, holding, install
from quorate.service.limits import SignInLimits
from quorate.service.passwords import Passwords
from quorate.service.signin import router
from quorate.service.tokens import Tokens
from quorate.storage.accounts import Accounts
from quorate.storage.database import Database

PASSWORD = "correct horse battery"
KEY = bytes(range(32))


class Body(BaseModel):
    """A vote as programs send it."""

    vote: int


@dataclass
class Clock:
    """One time for tokens and limits."""

    now: datetime = field(default_factory=lambda: datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts(tmp_path: Path, clock: Clock) -> Iterator[Accounts]:
    with Database.open(f"sqlite:///{tmp_path}/quorate.db", create=True) as db:
        yield Accounts(db, clock=clock)


@pytest.fixture
def tokens(accounts: Accounts) -> Tokens:
    return Tokens(accounts, KEY)


@pytest.fixture(scope="session")
def passwords() -> Passwords:
    return Passwords(time_cost=1, memory_kib=64)


@pytest.fixture
def access(accounts: Accounts, tokens: Tokens, passwords: Passwords, clock: Clock) -> Access:
    return Access(accounts, tokens, passwords, SignInLimits(clock=clock.seconds), "http://testserver")


def small_app(access: Access) -> FastAPI:
    """What the parts of access are tried on."""
    app = FastAPI(docs_url=None, redoc_url=None)
    install(app, access)
    problems.install(app)
    app.include_router(router)
    raised: dict[str, Exception] = {}
    app.state.raised = raised

    @app.get("/api/me")
    def me(who: Who) -> dict[str, object]:
        return {
            "name": who.name,
            "role": who.role,
            "via": who.via,
            "seats": {s: sorted(e) for s, e in who.seats.items()},
        }

    @app.get("/api/anyone")
    def anyone(who: Visitor) -> dict[str, object]:
        return {"name": None if who is None else who.name}

    @app.post("/api/change")
    def change(who: Who) -> dict[str, object]:
        return {"changed_by": who.name}

    @app.post("/api/cases/{case}/votes")
    def vote(case: str, body: Body, who: Who) -> dict[str, object]:
        return {"case": case, "vote": body.vote, "by": who.name}

    @app.get("/api/users")
    def users(who: Annotated[Identity, Depends(holding(Right.MANAGE_USERS))]) -> dict[str, object]:
        return {"by": who.name}

    @app.get("/api/raise/{name}")
    def fail(name: str) -> None:
        raise raised[name]

    @app.get("/page")
    def page(who: PageWho) -> dict[str, object]:
        return {"name": who.name}

    return app


@pytest.fixture
def app(access: Access) -> FastAPI:
    return small_app(access)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


def csrf_in(page: str) -> str:
    """The proof that a page's form carries."""
    return page.split('name="csrf" value="', 1)[1].split('"', 1)[0]
