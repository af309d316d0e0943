"""Parts that the service needs fail while it runs: it says so, and goes on by itself when they are back."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests import postgres
from tests.faults import truth
from tests.faults.load import STUDIES, Load, check_shape
from tests.faults.served import Client, Service, eventually, path, runs
from tests.faults.test_kills import agrees_with_its_journal, goes_on

REPEATS = 3


def fits(admin: Client) -> dict[str, int]:
    """How many fits each study has adopted."""
    return {study: int(admin("GET", path(study, "report")).body["learning"]["fits"]) for study in STUDIES}


def test_learning_goes_on_after_its_process_was_killed(tmp_path: Path) -> None:
    with Service(f"sqlite:///{tmp_path / 'quorate.db'}", tmp_path) as service:
        service.start()
        served_by = service.pid
        load = Load(service, seed=1)
        load.prepare()
        load.begin()
        load.up.set()
        try:
            with service.client(load.admin) as admin:
                for _ in range(REPEATS):
                    eventually("a process learns", lambda: bool(service.children()))
                    children = service.children()
                    for child in children:
                        os.kill(child, signal.SIGKILL)
                    eventually("it has ended", lambda left=children: not any(map(runs, left)))  # type: ignore[misc]
                    before = fits(admin)
                    eventually(
                        "every study adopts another fit",
                        lambda seen=before: all(now > seen[study] for study, now in fits(admin).items()),  # type: ignore[misc]
                        every=0.2,
                    )
        finally:
            load.end()
        assert not load.surprises
        assert service.pid == served_by
        agrees_with_its_journal(service, load)
        children = service.children()
        service.stop()
        assert not any(map(runs, children))
    assert not truth.problems(service.url, load)


def test_the_service_outlives_its_database_server(tmp_path: Path) -> None:
    with postgres.serving() as server, server.database() as url, Service(url, tmp_path) as service:
        service.start()
        served_by = service.pid
        load = Load(service, seed=2)
        load.prepare()
        load.begin()
        load.up.set()
        try:
            for _ in range(REPEATS):
                before = load.acknowledged
                eventually("votes are acknowledged", lambda seen=before: load.acknowledged > seen + 5)  # type: ignore[misc]
                with server.down(), service.client(load.admin) as admin:
                    for place in ("/readyz", path("calm", "cases"), "/api/studies", "/metrics"):
                        answer = admin("GET", place)
                        assert answer.status == 503, (place, answer.body)
                        check_shape(answer, "storage")
                        assert "127.0.0.1" not in str(answer.body), "the database's address is for the log alone"
                    assert admin("GET", "/healthz").done
                eventually("the service is ready", service.ready)
            goes_on(service, load)
        finally:
            load.end()
        assert not load.surprises
        assert service.pid == served_by
        agrees_with_its_journal(service, load)
        assert not truth.problems(url, load)
