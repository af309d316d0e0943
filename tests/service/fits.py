"""What tests of learning share: a study with something to learn, and executors that a test leads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from quorate.assembly import Options
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.changing import Watcher
from quorate.service.importing import PastCase
from quorate.service.live import LiveStudy
from quorate.service.worker import Worker
from quorate.storage import studies
from quorate.storage.config import ServiceSettings, StudyConfig
from quorate.storage.database import Database

EXPERTS = ("ann", "ben", "cho")


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
