"""A whole service on a real SQLite file; nothing is learned unless a test lets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.access import Access
from quorate.service.app import create_app
from quorate.service.changing import Watcher
from quorate.service.hall import Hall
from quorate.service.keyfile import key_path, read_or_make_key
from quorate.service.limits import SignInLimits
from quorate.service.live import LiveStudy
from quorate.service.passwords import Passwords
from quorate.service.tokens import Tokens
from quorate.storage import studies
from quorate.storage.accounts import Accounts
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database
from tests.service.desks import EXPERTS, Make, Table, Time

ADDRESS = "http://testserver"


class Idle(Executor):
    """Takes fits and never runs them, so that a test sees the same forecasts however fast the machine is."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


class Inline(Executor):
    """Runs fits where they are asked for."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # as executors do
            future.set_exception(error)
        return future


@dataclass
class Service:
    """A service, and requests to it by anybody."""

    hall: Hall
    app: FastAPI
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)

    def join(self, name: str, role: str = "expert", *, seats: tuple[tuple[str, str], ...] = ()) -> str:
        """A new user who sits somewhere; gives the token."""
        access = self.hall.access
        user = access.accounts.create_user(name, role)
        for study, expert in seats:
            access.accounts.give_seat(user.id, study, expert)
        self.tokens[name] = access.tokens.issue_api(user.id).secret
        return self.tokens[name]

    @cached_property
    def _admin(self) -> str:
        return self.join("root", "admin")

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        by: str | None = None,
        content: str | bytes | None = None,
        params: dict[str, Any] | None = None,
    ) -> Response:
        """A request of a user by name, or of an admin."""
        token = self._admin if by is None else self.tokens[by]
        headers = {"Authorization": f"Bearer {token}"}
        found: Any = self.client.request(method, path, json=body, content=content, headers=headers, params=params)
        return found  # type: ignore[no-any-return]

    def get(self, path: str, *, by: str | None = None, **params: Any) -> Any:
        """What an address answers, which must be good."""
        response = self.ask("GET", path, by=by, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def create(self, name: str = "heart", **settings: Any) -> LiveStudy:
        """A study of three experts, unless told otherwise."""
        given = {
            "name": name,
            "classes": ["normal", "abnormal"],
            "experts": ["ann", "ben", "cho"],
            "classifiers": ["net"],
            "max_error": 0.05,
            "audit_share": 0,
        }
        response = self.ask("POST", "/api/studies", given | settings)
        assert response.status_code == 201, response.text
        return self.hall.study(name)

    def open(self, *keys: str, study: str = "heart", p: float = 0.5, **given: Any) -> None:
        """Cases arrive."""
        cases = [{"key": key, "probabilities": {"net": [1 - p, p]}, **given} for key in keys]
        response = self.ask("POST", f"/api/studies/{study}/cases", {"cases": cases})
        assert response.status_code == 201, response.text

    def vote(
        self, key: str, expert: str, vote: str, *, study: str = "heart", by: str | None = None, **more: Any
    ) -> Any:
        """A vote as it is answered."""
        body = {"expert": expert, "vote": vote, **more}
        return self.ask("POST", f"/api/studies/{study}/cases/{key}/votes", body, by=by)

    def case(self, key: str, study: str = "heart") -> Any:
        """All there is to know about a case."""
        return self.get(f"/api/studies/{study}/cases/{key}")


@contextmanager
def serving(database: Path | str, make_executor: Callable[[], Executor] = Idle) -> Iterator[Service]:
    """A service on a database file with its key beside it, or on a database by its URL."""
    url = f"sqlite:///{database}" if isinstance(database, Path) else database
    accounts = Accounts(Database.open(url, create=True))
    tokens = Tokens(accounts, read_or_make_key(key_path(url)) if isinstance(database, Path) else bytes(32))
    quick = Passwords(time_cost=1, memory_kib=64)  # each service hashes one when it starts
    hall = Hall(accounts.db, Access(accounts, tokens, quick, SignInLimits(), ADDRESS), make_executor)
    app = create_app(hall)
    with TestClient(app, base_url=ADDRESS, follow_redirects=False) as client:
        yield Service(hall, app, client)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "quorate.db") as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service with a study for many small tests that do not get in each other's way."""
    with serving(tmp_path_factory.mktemp("shared") / "quorate.db") as found:
        found.create(max_open=100)
        yield found


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path}/quorate.db", create=True) as db:
        yield db


@pytest.fixture
def make(database: Database) -> Make:
    def table(
        *,
        method: str = "all",
        experts: tuple[str, ...] = EXPERTS,
        in_flight: int = 1,
        max_open: int = 1,
        rules: Rules | None = None,
        lease_seconds: float = 100.0,
        costs: dict[str, float] | None = None,
    ) -> Table:
        config = StudyConfig(
            Panel(["no", "yes"], experts, ["net"], costs),
            Options(method, rules=rules or Rules(), in_flight=in_flight),
            service=ServiceSettings(lease_seconds=lease_seconds, max_open=max_open),
        )
        told: list[frozenset[str]] = []
        clock = Time()
        stored = studies.create(database, "heart", config)
        live = LiveStudy(stored, Watcher(lambda _, experts: told.append(experts)), clock=clock)
        live.start()
        return Table(live, clock, told)

    return table
