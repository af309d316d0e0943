"""Learning beside the service: what fails is said, stops nobody, and is tried again."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from quorate.service.arrivals import Arrival
from quorate.service.worker import Worker, local_pool
from quorate.storage.database import Database
from tests.service.conftest import Inline, serving
from tests.service.fits import LONG, Full, Gone, Manual, end_rest, learn, made_in_turn, study, unmade, until


def test_a_failing_fit_is_reported_and_stops_nobody(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    with caplog.at_level(logging.WARNING, "quorate.service"):
        executor.jobs[0][0].set_exception(ValueError("not a number"))
    assert worker.problem("heart") == "ValueError: not a number"
    assert not worker.busy("heart")
    assert [record.message for record in caplog.records] == ["a fit was not adopted"]
    live.open([Arrival("c1", {"net": (0.5, 0.5)})])
    assert live.study.pending("c1"), "somebody is asked all the same"
    jobs = len(executor.jobs)
    worker.look(live)
    worker.look(live)
    assert len(executor.jobs) == jobs <= 2, "what has failed is not tried again and again"
    learn(live)
    future, run = executor.jobs[-1]
    future.set_result(run())
    assert worker.problem("heart") is None
    assert live.study.state.fits == 1


def test_an_executor_that_has_broken_is_replaced(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    made: list[Executor] = []

    def make() -> Executor:
        made.append(Gone() if not made else Inline())
        return made[-1]

    live, worker = study(database), Worker(make)
    live.wake = lambda: worker.look(live)
    with caplog.at_level(logging.WARNING, "quorate.service"):
        learn(live)
    assert live.study.state.fits == 1
    assert [type(one) for one in made] == [Gone, Inline]
    assert "starting another" in caplog.text


def test_a_fit_whose_process_dies_is_tried_again(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    executor.jobs[0][0].set_exception(BrokenExecutor("killed"))
    assert worker.problem("heart") == "the learning process has ended"
    worker.look(live)
    assert len(executor.jobs) == 2
    future, run = executor.jobs[1]
    future.set_result(run())
    assert live.study.state.fits == 1
    assert worker.problem("heart") is None


@pytest.mark.parametrize("first", [Full, unmade, made_in_turn(Gone)])
def test_a_fit_that_cannot_be_started_stops_no_vote_and_is_tried_again(
    database: Database, first: Callable[[], Executor], caplog: pytest.LogCaptureFixture
) -> None:
    live, worker = study(database), Worker(made_in_turn(first, first, first, first, Inline))
    live.wake = lambda: worker.look(live)
    with caplog.at_level(logging.WARNING, "quorate.service"):
        learn(live)
        assert live.study.state.fits == 0
        assert str(worker.problem("heart")).split(":")[0] in ("OSError", "BrokenProcessPool")
        assert not worker.busy("heart")
        live.open([Arrival("c1", {"net": (0.5, 0.5)})])
        (asked,) = live.study.pending("c1")
        live.vote("c1", asked, "yes")
    assert live.study.state.known("c1").voted(live.study.panel.expert(asked)) == 1
    assert caplog.text.count("a fit could not be started") == 1, "said once"
    for _ in range(4):
        worker.look(live)
    assert live.study.state.fits >= 1
    assert worker.problem("heart") is None


def test_an_error_of_the_study_keeps_the_executor(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Manual()
    live, worker = study(database), Worker(made_in_turn(lambda: executor, unmade))
    learn(live)
    worker.look(live)
    future, run = executor.jobs[0]
    future.set_result(run())
    monkeypatch.setattr(live, "due", unmade)
    worker.look(live)
    assert worker.problem("heart") == "OSError: cannot allocate memory"
    monkeypatch.undo()
    worker.look(live)
    assert worker.problem("heart") is None, "nothing is due"
    learn(live)
    worker.look(live)
    assert len(executor.jobs) == 2


def test_an_error_while_a_study_rests_does_not_end_its_learning(database: Database) -> None:
    live, worker = study(database), Worker(made_in_turn(Inline, unmade, Inline), rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    assert live.study.state.fits == 1
    learn(live)  # too soon: a timer will look, in a thread of its own
    worker._executor = None  # and finds no room for another process
    end_rest(worker)
    assert worker.problem("heart") == "OSError: cannot allocate memory"
    assert live.study.state.fits == 1
    worker.look(live)
    assert live.study.state.fits == 2
    assert worker.problem("heart") is None


def test_a_rest_that_cannot_begin_does_not_end_learning(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Timer, "start", lambda _: unmade())
        learn(live)
    assert worker.problem("heart") == "OSError: cannot allocate memory"
    worker.rest = 0.0
    worker.look(live)
    assert live.study.state.fits == 2
    assert worker.problem("heart") is None


def test_a_real_process_that_is_killed_is_replaced(database: Database) -> None:
    made: list[Executor] = []

    def make() -> Executor:
        made.append(local_pool())
        return made[-1]

    live, worker = study(database), Worker(make)
    live.wake = lambda: worker.look(live)
    try:
        made.append(local_pool())
        worker._executor = made[0]
        with pytest.raises(BrokenProcessPool):
            made[0].submit(os._exit, 1).result(60)
        learn(live)
        until(lambda: live.study.state.fits == 1 or worker.problem("heart") is not None, 120)
        assert worker.problem("heart") is None
        assert len(made) == 2
    finally:
        worker.close()


def test_what_failed_is_forgotten_with_its_study(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    learn(live)
    worker.look(live)
    executor.jobs[0][0].set_exception(ValueError("no"))
    worker.forget("heart")
    assert worker.problem("heart") is None


def test_a_service_says_why_it_does_not_learn(tmp_path: Path) -> None:
    executor = Manual()
    with serving(tmp_path / "quorate.db", lambda: executor) as service:
        live = service.create()
        learn(live)
        until(lambda: bool(executor.jobs))
        assert service.get("/api/studies/heart/report")["learning"]["running"]
        executor.jobs[0][0].set_exception(ValueError("not a number"))
        learning = service.get("/api/studies/heart/report")["learning"]
        assert learning["problem"] == "ValueError: not a number"
        assert not learning["running"]


def test_a_vote_is_answered_although_nothing_can_be_learned(tmp_path: Path) -> None:
    with serving(tmp_path / "quorate.db", unmade) as service:
        live = service.create()
        learn(live)
        service.open("c1")
        (asked,) = live.study.pending("c1")
        answer = service.vote("c1", asked, "normal")
        assert answer.status_code == 200, answer.text
        problem = service.get("/api/studies/heart/report")["learning"]["problem"]
        assert problem == "OSError: cannot allocate memory"
