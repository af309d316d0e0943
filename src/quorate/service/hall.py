"""Everything that runs while the service does: its studies, the clock that watches them, and the worker that learns."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf

from quorate.errors import (
    NotFoundError,
    QuorateError,
    StaleJournalError,
    StorageError,
    StudyError,
    UnreadableError,
)
from quorate.service.access import Access
from quorate.service.board import Board, board
from quorate.service.changing import Watcher
from quorate.service.live import LiveStudy
from quorate.service.stream import Hub
from quorate.service.worker import Worker, local_pool
from quorate.storage import studies
from quorate.storage.config import StudyConfig
from quorate.storage.database import Database

LOG = logging.getLogger("quorate.service")
TICK = 1.0
"""Seconds between two looks at the clock."""
CLEARED_EVERY = 3600.0
"""Seconds between two looks for tokens that ended long ago, and for memory that nothing holds."""
KEPT = timedelta(days=30)
"""How long a token that has ended is kept, so that lists still show it."""
REST, GAP = 0.5, 0.25
"""Seconds between two fits of a study, and of any: what was learned is to be in force within a second of the vote."""


def set_aside() -> None:
    """Leave what is in memory out of the interpreter's searches for garbage until the next time.

    Studies last, and hold so many cases that every search through them would hold up each vote for a fifth of a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@dataclass
class Hall:
    """The studies of a database, live."""

    db: Database
    access: Access
    make_executor: Callable[[], Executor] = local_pool
    hub: Hub = field(default_factory=Hub)
    worker: Worker = field(init=False)
    ready: bool = field(default=False, init=False)
    unreadable: Mapping[str, str] = field(default_factory=dict, init=False)  # studies that failed to load, and why
    _lives: dict[str, LiveStudy] = field(default_factory=dict, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _clock: threading.Thread | None = field(default=None, init=False)
    _stuck: bool = field(default=False, init=False)  # at the last look at the clock, every study failed

    def __post_init__(self) -> None:
        self.worker = Worker(self.make_executor, rest=REST, gap=GAP)

    def names(self) -> list[str]:
        """All studies, in the order they were created."""
        return studies.names(self.db)

    def study(self, name: str) -> LiveStudy:
        """A study by its name; it is loaded the first time it is asked for, and each time until that works."""
        found = self._lives.get(name)  # those who want another study do not wait while one is loaded
        if found is not None:
            return found
        with self._lock:
            if name not in self._lives:
                self._check_there(name)
                self._lives[name] = self._loaded(name)
                self._forgive(name)
            return self._lives[name]

    def readable(self) -> dict[str, LiveStudy]:
        """All studies that can be loaded, by their names; one that could not is not tried again here."""
        names, found = self.names(), {}
        self._forgive(*self.unreadable.keys() - {*names})  # deleted by another program
        for name in names:
            if name in self.unreadable:
                continue
            try:
                found[name] = self.study(name)
            except (UnreadableError, NotFoundError):  # the others go on; it may have been deleted in this very moment
                continue
        return found

    def _loaded(self, name: str) -> LiveStudy:
        """Load a study; why that fails is kept and logged, since it may quote what only the log should hold."""
        try:
            return self._live(studies.load(self.db, name))
        except (StaleJournalError, StorageError):  # nothing is wrong with what is stored
            raise
        except Exception as error:  # what was edited by hand may fail anywhere, in any way
            self._check_there(name)  # it may have been deleted in this very moment
            why = str(error) if isinstance(error, QuorateError) else type(error).__name__
            if self.unreadable.get(name) != why:  # said once, however often it is asked for
                LOG.warning(
                    "a study could not be loaded", exc_info=error, extra={"fields": {"study": name, "why": why}}
                )
            self.unreadable = {**self.unreadable, name: why}  # replaced, never changed: others may be reading it
            raise UnreadableError(
                f"study {name!r} cannot be loaded, the log says why; run `quorate db verify` to see whether what is "
                "stored of it was changed or damaged, and bring back a backup if it was"
            ) from error

    def _forgive(self, *names: str) -> None:
        """Forget that studies could not be loaded."""
        with self._lock:
            self.unreadable = {name: why for name, why in self.unreadable.items() if name not in names}

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
            self.access.accounts.changed()  # its seats are gone
            self._lives.pop(name, None)
            self._forgive(name)
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
            except UnreadableError:  # the log has it already, and the others go on
                continue
            except QuorateError as error:  # loaded when it is asked for
                LOG.warning("a study could not be loaded", extra={"fields": {"study": name, "why": str(error)}})
        self.ready = True
        self._clock = threading.Thread(target=self._watch, name="quorate-clock", daemon=True)
        self._clock.start()

    def trouble(self) -> str | None:
        """Why the service cannot do its work now, in words that may be known to all; None where it can."""
        if not self.ready:
            return "starting"
        if self._clock is None or not self._clock.is_alive():
            return "the clock has stopped; restart the service"
        return "no study could go on; the log says why" if self._stuck else None

    def _watch(self) -> None:
        cleared = -inf
        while not self._stop.wait(TICK):
            lives = list(self._lives.items())
            went_on = [self._went_on(name, live) for name, live in lives]
            self._stuck = bool(lives) and not any(went_on)
            if time.monotonic() - cleared >= CLEARED_EVERY:
                cleared = time.monotonic()
                self._clear()
                set_aside()

    def _went_on(self, name: str, live: LiveStudy) -> bool:
        """Let a study do what time brings; says whether it could."""
        try:
            live.tick()
        except NotFoundError:  # deleted by another program
            with self._lock:
                if self._lives.get(name) is live:  # another may have its name by now
                    del self._lives[name]
                    self.worker.forget(name)
        except QuorateError as error:  # the next tick tries again
            LOG.warning("a study could not go on", extra={"fields": {"study": name, "why": str(error)}})
            return False
        except Exception:  # one clock for all, and a database may fail in any way: without it nothing lapses again
            LOG.exception("a study could not go on", extra={"fields": {"study": name}})
            return False
        return True

    def _clear(self) -> None:
        """Delete tokens that ended long ago; where that fails, there is another time."""
        accounts = self.access.accounts
        try:
            accounts.purge(accounts.clock() - KEPT)
        except Exception as error:  # as above: the clock goes on
            LOG.warning("old tokens could not be deleted", exc_info=error)

    def stop(self) -> None:
        """Stop asking and learning; everything that was acknowledged is stored already."""
        self.ready = False
        self._stop.set()
        self.hub.close()
        if self._clock is not None:
            self._clock.join()
        self.worker.close()
        gc.unfreeze()  # nothing is left that is worth it
        self.db.close()
