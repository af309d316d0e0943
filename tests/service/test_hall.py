"""A service with a study that cannot be read, with a clock that fails, and with tokens that ended long ago."""

from __future__ import annotations

import gc
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.exc import DatabaseError

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.errors import StorageError
from quorate.service.arrivals import Arrival
from quorate.service.hall import set_aside
from quorate.storage.config import StudyConfig
from tests.service.conftest import Service, serving

FILE = "quorate.db"
SEATS = (("heart", "ann"), ("lung", "ben"))


def edit(folder: Path, change: Callable[[str], str], study: str = "heart") -> str:
    """Change an event behind the service's back; gives what was there."""
    where = "WHERE kind = 'Opened' AND study_id = (SELECT id FROM studies WHERE name = ?)"
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        ((before,),) = connection.execute(f"SELECT body FROM events {where}", [study])  # noqa: S608  # nothing given
        connection.execute(f"UPDATE events SET body = ? {where}", [change(before), study])  # noqa: S608  # as above
    return str(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two studies with a case each."""
    with serving(tmp_path / FILE) as service:
        for name in ("heart", "lung"):
            panel = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["net"])
            live = service.hall.create(name, StudyConfig(panel, Options(max_error=0.05, rules=Rules(min_votes=1))))
            live.open([Arrival("c1", {"net": (0.5, 0.5)})])
    return tmp_path


CHANGES: dict[str, Callable[[str], str]] = {
    "no JSON": lambda body: body[:-1],
    "no event": lambda _: '{"case": 7}',
    "an event that the others do not fit": lambda body: body.replace('"c1"', '"c9"'),
}


@pytest.fixture(params=CHANGES)
def damaged(folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Service, str]]:
    """A service that started with one of the studies edited, and what was there before."""
    before = edit(folder, CHANGES[request.param])
    with serving(folder / FILE) as service:
        yield service, before


def test_the_others_are_listed_and_the_damaged_one_is_named(damaged: tuple[Service, str]) -> None:
    service, _ = damaged
    assert list(service.hall.unreadable) == ["heart"]
    listed = service.ask("GET", "/api/studies")
    assert listed.status_code == 200
    assert [one["name"] for one in listed.json()["items"]] == ["lung"]
    assert listed.headers["Quorate-Unreadable"] == "heart"
    numbers = service.ask("GET", "/metrics").text
    assert "quorate_studies_unreadable 1.0" in numbers
    assert 'study="lung"' in numbers
    assert 'study="heart"' not in numbers
    assert service.client.get("/readyz").status_code == 200
    home = service.ask("GET", "/").text
    assert "The study heart cannot be loaded; run <code>quorate db verify</code>" in home
    assert 'href="/studies/lung"' in home
    users = service.ask("GET", "/users")
    assert users.status_code == 200
    assert "ann in lung" in users.text
    assert "ann in heart" not in users.text


def test_who_asks_for_the_damaged_one_is_told_what_to_do(damaged: tuple[Service, str]) -> None:
    service, _ = damaged
    for path in ("/api/studies/heart", "/api/studies/heart/cases", "/api/studies/heart/report", "/studies/heart"):
        answer = service.ask("GET", path)
        assert answer.status_code == 503, path
        error = answer.json()["error"]
        assert error["code"] == "unreadable"
        assert "study 'heart' cannot be loaded" in error["message"]
        assert "`quorate db verify`" in error["message"]
        assert "sqlite" not in error["message"], "the address of the database is for the log"


def test_an_expert_of_the_damaged_one_is_told_and_goes_on_elsewhere(damaged: tuple[Service, str]) -> None:
    service, _ = damaged
    service.join("both", seats=SEATS)
    service.join("one", seats=SEATS[:1])
    service.join("elsewhere", seats=SEATS[1:])
    both, one = service.ask("GET", "/", by="both").text, service.ask("GET", "/", by="one").text
    for page in (both, one):
        assert "The study heart cannot be loaded; tell an admin." in page
        assert 'href="/studies/heart/inbox/ann"' in page
    assert 'href="/studies/lung/inbox/ben"' in both
    assert "No inbox yet" not in one
    assert service.ask("GET", "/", by="elsewhere").headers["location"] == "/studies/lung/inbox/ben"
    assert "Quorate-Unreadable" not in service.ask("GET", "/api/studies", by="elsewhere").headers
    assert service.ask("GET", "/api/studies", by="both").headers["Quorate-Unreadable"] == "heart"
    assert service.ask("GET", "/studies/heart/inbox/ann", by="one").status_code == 503


def test_one_that_was_repaired_is_loaded_when_it_is_asked_for(damaged: tuple[Service, str], folder: Path) -> None:
    service, before = damaged
    edit(folder, lambda _: before)
    assert service.get("/api/studies/heart")["counts"]["open"] == 1
    assert not service.hall.unreadable
    listed = service.ask("GET", "/api/studies")
    assert "Quorate-Unreadable" not in listed.headers
    assert [one["name"] for one in listed.json()["items"]] == ["heart", "lung"]


def test_one_that_cannot_be_loaded_can_be_deleted(damaged: tuple[Service, str]) -> None:
    service, _ = damaged
    assert service.ask("DELETE", "/api/studies/heart").status_code == 204
    assert "Quorate-Unreadable" not in service.ask("GET", "/api/studies").headers
    assert service.ask("GET", "/api/studies/heart").status_code == 404


def test_one_that_another_program_deletes_is_not_named_any_more(damaged: tuple[Service, str], folder: Path) -> None:
    service, _ = damaged
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        connection.execute("DELETE FROM studies WHERE name = 'heart'")
    assert "Quorate-Unreadable" not in service.ask("GET", "/api/studies").headers


def test_the_log_says_once_why(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    edit(folder, CHANGES["no JSON"])
    with serving(folder / FILE) as service:
        for _ in range(3):
            assert service.ask("GET", "/api/studies/heart").status_code == 503
    said = [record for record in caplog.records if record.message == "a study could not be loaded"]
    assert len(said) == 1


def readiness(service: Service) -> tuple[int, str]:
    answer = service.client.get("/readyz")
    body = answer.json()
    return answer.status_code, body["status"] if answer.status_code == 200 else body["error"]["message"]


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def failing() -> None:
    raise DatabaseError("SELECT 1", None, sqlite3.DatabaseError("database disk image is malformed"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.service.hall.TICK", 0.02)


@pytest.mark.usefixtures("quick")
def test_the_clock_goes_on_after_an_error_of_any_kind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(folder / FILE) as service:
        heart, lung = service.hall.study("heart"), service.hall.study("lung")
        monkeypatch.setattr(heart, "tick", failing)
        until(lambda: "a study could not go on" in caplog.text)
        assert readiness(service) == (200, "ready"), "the other one goes on"
        (question,) = (one for name in lung.study.experts for one in lung.questions(name))
        monkeypatch.setattr(lung, "clock", lambda: time.time() + 1e9)
        until(lambda: question.expert not in lung.study.pending("c1"))
        monkeypatch.setattr(lung, "tick", failing)
        until(lambda: readiness(service)[0] == 503)
        assert readiness(service) == (503, "no study could go on; the log says why")
        monkeypatch.undo()
        until(lambda: readiness(service) == (200, "ready"))


@pytest.mark.usefixtures("quick")
def test_a_database_that_does_not_answer_is_named_however_long_it_lasts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> list[str]:
        raise StorageError("no answer from 10.0.0.1")

    with serving(folder / FILE) as service:
        for name in ("heart", "lung"):
            monkeypatch.setattr(service.hall.study(name), "tick", down)
        until(lambda: service.hall.trouble() is not None)
        monkeypatch.setattr("quorate.storage.studies.names", down)
        answer = service.client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "storage"
        assert "10.0.0.1" not in answer.text
        monkeypatch.undo()
        until(lambda: readiness(service) == (200, "ready"))


@pytest.mark.usefixtures("quick")
def test_a_service_whose_clock_has_stopped_is_not_ready(service: Service) -> None:
    assert readiness(service) == (200, "ready")
    service.hall._stop.set()
    until(lambda: readiness(service) == (503, "the clock has stopped; restart the service"))


@pytest.mark.usefixtures("quick")
def test_tokens_that_ended_long_ago_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / FILE) as service:
        accounts, tokens = service.hall.access.accounts, service.hall.access.tokens
        user = accounts.create_user("ann", "admin")
        monkeypatch.setattr(accounts, "clock", lambda: datetime.now(UTC) - timedelta(days=40))
        old = [tokens.issue_api(user.id, lifetime=timedelta(days=days)).token.id for days in (5, 20)]
        endless = tokens.issue_api(user.id).token.id
    with serving(tmp_path / FILE) as service:
        accounts = service.hall.access.accounts
        until(lambda: len(accounts.tokens()) < 3)
        assert [token.id for token in accounts.tokens()] == [old[1], endless]


@pytest.mark.usefixtures("quick")
def test_the_clock_goes_on_where_old_tokens_cannot_be_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("quorate.service.hall.CLEARED_EVERY", 0.0)
    monkeypatch.setattr("quorate.storage.accounts.Accounts.purge", lambda _self, _before: failing())
    with serving(folder / FILE) as service:
        until(lambda: caplog.text.count("old tokens could not be deleted") > 1)
        assert readiness(service) == (200, "ready")


def test_what_lasts_is_left_out_of_searches_for_garbage_until_the_next_time(folder: Path) -> None:
    class Node:
        other: Node

    with serving(folder / FILE):
        until(lambda: gc.get_freeze_count() > 0)  # the clock has done so once
    one, two = Node(), Node()
    one.other, two.other = two, one
    alive = weakref.ref(one)
    set_aside()
    del one, two
    gc.collect()
    assert alive() is not None, "it was set aside, and is not searched"
    set_aside()
    assert alive() is None, "nothing is set aside for ever"
    gc.unfreeze()
