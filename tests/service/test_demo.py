"""The demo goes on whatever somebody opens in its study."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from quorate.service import demo
from quorate.service.access import SESSION_COOKIE
from quorate.service.app import create_app, open_hall
from quorate.service.arrivals import Arrival
from quorate.service.hall import Hall
from quorate.service.live import LiveStudy
from tests.service.conftest import ADDRESS, Idle


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little was there before, and nobody thinks long."""
    for name, value in (("BEFORE", 3), ("PAUSE", 0.01), ("EVERY", 0.3), ("THINKING", (0.0, 0.02)), ("LEASE", 2.0)):
        monkeypatch.setattr(demo, name, value)


@contextmanager
def playing(folder: Path) -> Iterator[tuple[Hall, TestClient]]:
    hall = open_hall(f"sqlite:///{folder}/quorate.db", base_url=ADDRESS, make_executor=Idle)
    if not hall.access.accounts.users():
        hall.access.accounts.create_user("root", "admin")
    with TestClient(create_app(hall, demo=True), base_url=ADDRESS, follow_redirects=False) as client:
        until(lambda: demo.NAME in hall.names() and len(hall.study(demo.NAME).study.state.places) >= 4)
        yield hall, client


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def cases(live: LiveStudy) -> int:
    return len(live.study.state.places)


def seen_by_all(live: LiveStudy, key: str) -> bool:
    """Whether no simulated expert is left with a question on a case, and none will be asked about it."""
    return not {*demo.PLAYERS} & {*live.study.pending(key), *live.desk.standing(key).experts}


FOREIGN: dict[str, dict[str, Any]] = {
    "my-case": {"counter": (0.3, 0.7)},
    "nothing-known": {},
    "dots-9999": {"counter": (0.5, 0.5)},
    "dots-0012": {"counter": (0.123, 0.877)},
}


def test_players_go_on_with_cases_of_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with playing(tmp_path) as (hall, client):
        live = hall.study(demo.NAME)
        live.open([Arrival(key, probabilities) for key, probabilities in FOREIGN.items()])
        until(lambda: all(seen_by_all(live, key) for key in FOREIGN))
        known = live.study.state.known("my-case")
        assert any(known.voted(live.study.panel.expert(name)) is not None for name in demo.PLAYERS)
        until(lambda: cases(live) > 3 + len(FOREIGN) + 2)
        assert client.get("/demo/my-case.svg").status_code == 404
    with playing(tmp_path) as (hall, _):
        live = hall.study(demo.NAME)
        before = cases(live)
        until(lambda: cases(live) >= before + 3)
    assert "the demo" not in caplog.text


def test_the_page_of_the_one_who_plays_along_shows_a_case_of_others(tmp_path: Path) -> None:
    with playing(tmp_path) as (hall, client):
        live = hall.study(demo.NAME)
        live.open([Arrival(key, probabilities, (demo.YOU,)) for key, probabilities in FOREIGN.items()])
        until(lambda: any(one.case in FOREIGN for one in live.questions(demo.YOU)))
        access = hall.access
        (admin,) = access.accounts.users()
        client.cookies.set(SESSION_COOKIE, access.tokens.issue_session(admin.id, by="password").secret)
        for path in ("/studies/demo/inbox/you", "/studies/demo", "/studies/demo/cases/my-case", "/studies/demo/cases"):
            answer = client.get(path, headers={"Accept": "text/html"})
            assert answer.status_code == 200, (path, answer.text)


def test_players_take_up_where_others_have_opened_the_next_case(tmp_path: Path) -> None:
    with playing(tmp_path) as (hall, _):
        live = hall.study(demo.NAME)
        following = demo.key_of(cases(live) + 1)
        live.open([Arrival(following, {"counter": (0.123, 0.877)})])
        until(lambda: demo.key_of(demo.row_of(following) + 1) in live.study.state.places)


def test_the_demo_ends_with_its_study_and_the_service_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with playing(tmp_path) as (hall, client):
        hall.delete(demo.NAME)
        until(lambda: "the demo has ended" in caplog.text)
        assert client.get("/readyz").status_code == 200


def test_one_trouble_is_said_once_and_does_not_end_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with playing(tmp_path) as (hall, _):
        live = hall.study(demo.NAME)
        live.change_panel(lambda study: study.replace_classifier("counter", "finder"))
        until(lambda: "the demo could not go on" in caplog.text)
        live.open([Arrival("my-case", {"finder": (0.5, 0.5)})])
        until(lambda: seen_by_all(live, "my-case"))
        time.sleep(0.5)
    assert caplog.text.count("the demo could not go on") == 1
    assert "the demo has ended" not in caplog.text
