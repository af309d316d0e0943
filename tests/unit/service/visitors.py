"""The whole service on a real SQLite file, and people who come to it with a browser's cookies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from quorate.assembly import Options
from quorate.core.case import Show
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.access import SESSION_COOKIE
from quorate.service.app import create_app, open_hall
from quorate.service.arrivals import Arrival
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from quorate.storage.config import ServiceSettings, StudyConfig

EXPERTS = ("ann", "ben", "cho")


class Idle(Executor):
    """Takes fits and never runs them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


@dataclass
class Visitor:
    """Somebody who is signed in."""

    client: TestClient
    csrf: str

    def get(self, path: str, **headers: str) -> Response:
        """A page."""
        found: Any = self.client.get(path, headers={"Accept": "text/html", **headers})
        return found  # type: ignore[no-any-return]

    def page(self, path: str) -> str:
        """The text of a page that must be there."""
        found = self.get(path)
        assert found.status_code == 200, (found.status_code, found.text)
        return found.text

    def post(self, path: str, files: Any = None, **fields: str) -> Response:
        """A form that is sent with its proof."""
        found: Any = self.client.post(
            path, data={"csrf": self.csrf, **fields}, files=files, headers={"Accept": "text/html"}
        )
        return found  # type: ignore[no-any-return]


@dataclass
class House:
    """A service with its people."""

    hall: Hall
    client: TestClient

    def visitor(self, name: str, role: str = "expert", *seats: tuple[str, str]) -> Visitor:
        """A new user who is signed in."""
        access = self.hall.access
        user = access.accounts.create_user(name, role)
        for study, expert in seats:
            access.accounts.give_seat(user.id, study, expert)
        issued = access.tokens.issue_session(user.id, by="password")
        client = TestClient(self.client.app, base_url="http://testserver", follow_redirects=False)
        client.cookies.set(SESSION_COOKIE, issued.secret)
        return Visitor(client, access.tokens.csrf(issued.token.digest))

    def study(
        self,
        name: str = "heart",
        *,
        experts: tuple[str, ...] = EXPERTS,
        min_votes: int = 1,
        max_error: float = 0.05,
        audit_share: float = 0.0,
        about: str = "",
    ) -> LiveStudy:
        """A new study."""
        panel = Panel(["normal", "abnormal"], experts, ["net"])
        options = Options(max_error=max_error, rules=Rules(min_votes=min_votes))
        service = ServiceSettings(audit_share=audit_share, about=about, max_open=50)
        return self.hall.create(name, StudyConfig(panel, options, service=service))


def arrival(key: str, *to: str, p: float = 0.4, show: Show | None = None) -> Arrival:
    """A case for some experts."""
    return Arrival(key, {"net": (1 - p, p)}, to or None, show)


@contextmanager
def house(folder: Path) -> Iterator[House]:
    """A service that learns nothing, so that it behaves the same each time."""
    hall = open_hall(f"sqlite:///{folder}/quorate.db", base_url="http://testserver", make_executor=Idle)
    with TestClient(create_app(hall), base_url="http://testserver", follow_redirects=False) as client:
        yield House(hall, client)
