"""Learning beside the service: what is due is run and adopted, and what fails stops nobody."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.arrivals import Arrival
from quorate.service.changing import Watcher
from quorate.service.importing import PastCase
from quorate.service.live import LiveStudy
from quorate.service.worker import Worker, local_pool
from quorate.storage import studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database
from tests.service.conftest import Inline, serving

EXPERTS = ("ann", "ben", "cho")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path}/quorate.db", create=True) as db:
        yield db


def study(database: Database, name: str = "heart") -> LiveStudy:
    config = StudyConfig(
        Panel(["no", "yes"], EXPERTS, ["net"]),
        Options(max_error=0.05, rules=Rules(min_votes=1)),
        service=ServiceSettings(max_open=50),
    )
    live = LiveStudy(studies.create(database, name, config), Watcher(lambda _study, _experts: None))
    live.start()
    return live


def learn(live: LiveStudy, number: int = 3) -> None:
    """Give a study something to learn from."""
    known = len(live.study.history)
    votes = dict.fromkeys(EXPERTS, live.study.panel.classes[1])
    live.import_cases([PastCase(f"past{known + n}", {"net": (0.2, 0.8)}, votes) for n in range(number)])


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


LONG = 600.0
"""Seconds of a rest that no test waits for, however slow the machine is."""


def end_rest(worker: Worker, study: str = "heart") -> None:
    """What happens when a study has rested, now, and in a thread as then."""
    timer = worker._waiting[study]
    timer.cancel()
    worker.rest = worker.gap = 0.0
    rested = threading.Thread(target=timer.function)
    rested.start()
    rested.join()


class Manual(Executor):
    """Fits that a test finishes by itself."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.jobs.append((future, lambda: fn(*args, **kwargs)))
        return future


class Gone(Executor):
    """An executor whose process has ended."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise BrokenProcessPool("it has ended")


def test_what_is_due_is_learned_and_adopted(database: Database) -> None:
    live, worker = study(database), Worker(Inline)
    live.wake = lambda: worker.look(live)
    worker.look(live)
    assert live.study.state.fits == 0, "there is nothing to learn from yet"
    learn(live)
    assert live.study.state.fits == 1
    assert live.study.state.learned == 3
    assert live.due() is None
    assert worker.problem("heart") is None
    assert not worker.busy("heart")
    again = studies.load(database, "heart")
    assert again.notes == ()
    assert again.study.predictor is not None
    assert again.study.state == live.study.state


def test_asking_goes_on_while_a_fit_runs_and_only_one_runs_for_a_study(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    assert worker.busy("heart")
    live.open([Arrival("c1", {"net": (0.5, 0.5)})])
    (first,) = live.study.pending("c1")
    live.vote("c1", first, "yes")
    learn(live)
    assert len(executor.jobs) == 1
    future, run = executor.jobs[0]
    future.set_result(run())
    assert live.study.state.fits == 1
    assert len(executor.jobs) == 2, "what came meanwhile is learned next"
    assert worker.busy("heart")


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


def test_a_fit_that_comes_too_late_is_not_adopted(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    live.wake = lambda: worker.look(live)
    learn(live)
    other = studies.load(database, "heart")
    job = other.study.due()
    assert job is not None
    other.adopt(job, job.run())
    future, run = executor.jobs[0]
    future.set_result(run())
    assert "out of turn" in str(worker.problem("heart"))
    live.follow()
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


class Full(Executor):
    """An executor on a machine that has no room for another process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise OSError("cannot allocate memory")


def made_in_turn(*makers: Callable[[], Executor]) -> Callable[[], Executor]:
    """What makes one executor after the other, and then the last kind again and again."""
    left = list(makers)
    return lambda: (left.pop(0) if len(left) > 1 else left[0])()


def unmade() -> Executor:
    raise OSError("cannot allocate memory")


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


def test_a_study_rests_between_two_fits(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    assert live.study.state.fits == 1
    learn(live)
    learn(live)
    assert live.study.state.fits == 1, "not before it has rested"
    end_rest(worker)
    assert live.study.state.fits == 2
    assert live.study.state.learned == 9, "and then of everything that came meanwhile"
    assert live.due() is None


def test_a_rest_ends_by_itself(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor, rest=0.3)
    learn(live)
    worker._begun["heart"] = time.monotonic()
    worker.look(live)
    assert executor.jobs == []
    until(lambda: len(executor.jobs) == 1)


def test_fits_of_different_studies_keep_their_distance(database: Database) -> None:
    first, second, worker = study(database, "one"), study(database, "two"), Worker(Inline, gap=LONG)
    for live in (first, second):
        learn(live)
        worker.look(live)
    assert (first.study.state.fits, second.study.state.fits) == (1, 0)
    end_rest(worker, "two")
    assert second.study.state.fits == 1


def test_who_rests_does_not_wake_once_it_is_closed(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    learn(live)
    worker.close()
    assert worker._waiting["heart"].finished.is_set()
    end_rest(worker)  # it was about to
    assert live.study.state.fits == 1


def test_nothing_starts_once_it_is_closed(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    learn(live)
    worker.close()
    worker.look(live)
    assert executor.jobs == []


def test_what_failed_is_forgotten_with_its_study(database: Database) -> None:
    executor = Manual()
    live, worker = study(database), Worker(lambda: executor)
    learn(live)
    worker.look(live)
    executor.jobs[0][0].set_exception(ValueError("no"))
    worker.forget("heart")
    assert worker.problem("heart") is None


def test_a_study_that_is_gone_is_not_looked_for_after_its_rest(database: Database) -> None:
    live, worker = study(database), Worker(Inline, rest=LONG)
    live.wake = lambda: worker.look(live)
    learn(live)
    learn(live)
    timer = worker._waiting["heart"]
    worker.forget("heart")
    assert timer.finished.is_set()
    assert live.study.state.fits == 1
    learn(live)
    assert live.study.state.fits == 2, "another of its name does not rest"


def test_studies_learn_beside_each_other(database: Database) -> None:
    executor = Manual()
    first, second, worker = study(database, "one"), study(database, "two"), Worker(lambda: executor)
    for live in (first, second):
        learn(live)
        worker.look(live)
    assert worker.busy("one")
    assert worker.busy("two")
    assert len(executor.jobs) == 2


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
