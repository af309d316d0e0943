"""Everything that runs while the service does: its studies, the clock that watches them, and the worker that learns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from quorate.errors import NotFoundError, QuorateError, StudyError
from quorate.service.access import Access
from quorate.service.board import Board, board
from quorate.service.live import LiveStudy, Watcher
from quorate.service.stream import Hub
from quorate.service.worker import Worker, local_pool
from quorate.storage import studies
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database

LOG = logging.getLogger("quorate.service")
TICK = 1.0
"""Seconds between two looks at the clock."""


@dataclass
class Hall:
    """The studies of a database, live."""

    db: Database
    access: Access
    make_executor: Callable[[], Executor] = local_pool
    hub: Hub = field(default_factory=Hub)
    worker: Worker = field(init=False)
    ready: bool = field(default=False, init=False)
    _lives: dict[str, LiveStudy] = field(default_factory=dict, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _clock: threading.Thread | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.worker = Worker(self.make_executor)

    def names(self) -> list[str]:
        """All studies, in the order they were created."""
        return studies.names(self.db)

    def study(self, name: str) -> LiveStudy:
        """A study by its name; it is loaded the first time it is asked for."""
        with self._lock:
            if name not in self._lives:
                self._check_there(name)
                self._lives[name] = self._live(studies.load(self.db, name))
            return self._lives[name]

    def _check_there(self, name: str) -> None:
        """Refuse the name of no study, without the address of the database."""
        if name not in self.names():
            raise NotFoundError(f"no study {name!r}")

    def _live(self, stored: studies.StoredStudy) -> LiveStudy:
        for note in stored.notes:
            LOG.warning(note)
        live = LiveStudy(stored, Watcher(self.hub.changed))
        live.wake = lambda: self.worker.look(live)
        live.start()
        return live

    def create(self, name: str, config: StudyConfig) -> LiveStudy:
        """A new study."""
        with self._lock:
            if name in self.names():  # said without the address of the database
                raise StudyError(f"study {name!r} exists already; choose another name")
            live = self._lives[name] = self._live(studies.create(self.db, name, config))
            return live

    def delete(self, name: str) -> None:
        """Delete a study with everything that belongs to it."""
        with self._lock:
            self._check_there(name)
            studies.delete(self.db, name)
            self._lives.pop(name, None)
            self.worker.forget(name)

    def board(self, name: str) -> Board:
        """A study at a glance."""
        live = self.study(name)
        return board(live, running=self.worker.busy(name), problem=self.worker.problem(name))

    def start(self) -> None:
        """Load every study, go on with its cases, and watch the clock from then on."""
        for name in self.names():
            try:
                self.study(name)
            except QuorateError as error:  # the others go on
                LOG.warning("a study could not be loaded", extra={"fields": {"study": name, "why": str(error)}})
        self.ready = True
        self._clock = threading.Thread(target=self._watch, name="quorate-clock", daemon=True)
        self._clock.start()

    def _watch(self) -> None:
        while not self._stop.wait(TICK):
            for name, live in list(self._lives.items()):
                try:
                    live.tick()
                except NotFoundError:  # deleted by another program
                    with self._lock:
                        self._lives.pop(name, None)
                except QuorateError as error:  # the next tick tries again
                    LOG.warning("a study could not go on", extra={"fields": {"study": name, "why": str(error)}})

    def stop(self) -> None:
        """Stop asking and learning; everything that was acknowledged is stored already."""
        self.ready = False
        self._stop.set()
        self.hub.close()
        if self._clock is not None:
            self._clock.join()
        self.worker.close()
        self.db.close()
