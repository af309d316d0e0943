"""The whole service on a free port of this computer, as a browser meets it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from quorate.assembly import Options
from quorate.core.case import Show
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.app import create_app, open_hall
from quorate.service.arrivals import Arrival
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from quorate.storage.config import ServiceSettings, StudyConfig

PASSWORD = "correct horse battery"
CLASSES = ("normal", "abnormal")
EXPERTS = ("ann", "ben", "cho")


@dataclass
class Server:
    """A running service."""

    base: str
    hall: Hall

    def join(self, name: str, role: str, *seats: tuple[str, str]) -> None:
        """A user with a password, who sits somewhere."""
        access = self.hall.access
        user = access.accounts.create_user(name, role, password=access.passwords.hash(PASSWORD))
        for study, expert in seats:
            access.accounts.give_seat(user.id, study, expert)

    def create(
        self,
        name: str,
        *,
        classes: tuple[str, ...] = CLASSES,
        min_votes: int = 1,
        max_error: float = 0.05,
        audit_share: float = 0.0,
        about: str = "Is there anything that needs a second look?",
    ) -> LiveStudy:
        """A study of three experts, one of whom costs more."""
        panel = Panel(classes, EXPERTS, ["net"], {"ann": 3.0})
        options = Options(max_error=max_error, rules=Rules(min_votes=min_votes))
        service = ServiceSettings(lease_seconds=3600.0, max_open=20, audit_share=audit_share, about=about)
        return self.hall.create(name, StudyConfig(panel, options, service=service))


def arrivals(*keys: str, to: tuple[str, ...] = ("ann",), p: float = 0.4, show: Show | None = None) -> list[Arrival]:
    """Cases whose panels are as small as a test wants, so that it is known who is asked."""
    return [
        Arrival(key, {"net": (1 - p, p)}, to, show or Show(text=f"Chest film {key}, frontal view.")) for key in keys
    ]


@contextmanager
def serving(folder: Path, *, demo: bool = False) -> Iterator[Server]:
    """The service on a database in a folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    base = f"http://127.0.0.1:{port}"
    hall = open_hall(f"sqlite:///{folder}/quorate.db", base_url=base)
    if demo:
        hall.access.accounts.create_user("admin", "admin", password=hall.access.passwords.hash(PASSWORD))
    config = uvicorn.Config(
        create_app(hall, demo=demo),
        host="127.0.0.1",
        port=port,
        log_config=None,  # uvicorn's own would change the logging of all tests in this process
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=1,  # event streams end only when somebody ends them
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="uvicorn")
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the service did not start; see what it logged")
            time.sleep(0.02)
        yield Server(base, hall)
    finally:
        server.should_exit = True
        thread.join()
