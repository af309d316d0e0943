"""Learning beside the service: fits run in an executor, one at a time for a study, and are adopted when ready."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from math import inf

from quorate.core.protocols import Predictor
from quorate.errors import QuorateError, StaleJournalError, StorageError
from quorate.processes import LocalProcesses
from quorate.service.live import LiveStudy
from quorate.study.method import Job

LOG = logging.getLogger("quorate.service")
NEVER = -1
"""Stands for a number of events that no study has: what failed is tried again."""


def run_job(job: Job) -> Predictor:
    """Run a fit; this is what happens in the other process."""
    return job.run()


def local_pool() -> LocalProcesses:
    """One process that learns, and ends with the service however that ends."""
    return LocalProcesses(1, niceness=10)  # who asks and who votes come first


def _said(error: BaseException) -> str:
    """An error in words; those that are not ours say less without their kind."""
    return str(error) if isinstance(error, QuorateError) else f"{type(error).__name__}: {error}"


def _adopted(live: LiveStudy, job: Job, done: Future[Predictor]) -> tuple[str | None, bool]:
    """Adopt what was learned; says why that was not possible, if it was not, and whether the same would fail again."""
    if done.cancelled() or isinstance(done.exception(), BrokenExecutor):
        return "the learning process has ended", False
    failed = done.exception()
    if failed is not None:  # whatever a fit stumbled over, asking goes on
        return _said(failed), True
    try:
        live.adopt(job, done.result())
    except (StorageError, StaleJournalError) as error:  # the database comes back, others do not write all the time
        return str(error), False
    except QuorateError as error:
        return str(error), True
    return None, False


@dataclass
class Worker:
    """Runs what is due; `make` gives an executor, again when the one before has broken."""

    make: Callable[[], Executor] = local_pool
    rest: float = 0.0  # seconds from one fit of a study to the next, at least: to adopt one takes time too
    gap: float = 0.0  # seconds from one fit to the next of any study
    _executor: Executor | None = field(default=None, init=False)
    _running: dict[str, Future[Predictor]] = field(default_factory=dict, init=False)
    _failed: dict[str, tuple[int, str]] = field(default_factory=dict, init=False)  # events seen, and why
    _begun: dict[str, float] = field(default_factory=dict, init=False)  # when the last fit of each study began
    _waiting: dict[str, threading.Timer] = field(default_factory=dict, init=False)  # studies that rest
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _closed: bool = field(default=False, init=False)

    def look(self, live: LiveStudy) -> None:
        """Start the fit of a study that is due, unless one is running or the same has failed before.

        One that comes too soon after the last is looked for again in a moment. What keeps a fit from starting is kept
        as the study's problem, and the next look tries again.
        """
        try:
            self._look(live)
        except Exception as error:  # a vote that is stored must be answered, whatever learning meets
            reason = _said(error)
            with self._lock:
                known = self._failed.get(live.name)
                self._failed[live.name] = (NEVER, reason)
            if known != (NEVER, reason):  # said once, however often it is tried
                LOG.warning("a fit could not be started", exc_info=error, extra={"fields": {"study": live.name}})

    def _look(self, live: LiveStudy) -> None:
        if self._closed or live.name in self._running or live.name in self._waiting:
            return
        job = live.due()  # outside the lock: whoever holds the study's may be waiting for ours
        with self._lock:
            failed = self._failed.get(live.name)
            if job is None and failed and failed[0] == NEVER:  # what was to be tried again is not due any more
                del self._failed[live.name]
            if job is None or self._closed or live.name in self._running or (failed and failed[0] == job.seen):
                return
            now = time.monotonic()
            wait = max(self._begun.get(live.name, -inf) + self.rest, max(self._begun.values(), default=-inf) + self.gap)
            if wait > now:
                self._look_again(live, wait - now)
                return
            self._begun[live.name] = now
            future = self._running[live.name] = self._submit(job)
        future.add_done_callback(lambda done: self._done(live, job, done))

    def _look_again(self, live: LiveStudy, wait: float) -> None:
        """Look after a while, once; with the lock held."""
        if live.name in self._waiting:
            return

        def rested() -> None:
            with self._lock:
                self._waiting.pop(live.name, None)
            self.look(live)

        timer = threading.Timer(wait, rested)
        timer.daemon = True
        timer.start()  # may fail: what never ends must not be waited for
        self._waiting[live.name] = timer

    def _submit(self, job: Job) -> Future[Predictor]:
        if self._executor is None:
            self._executor = self.make()
        try:
            return self._executor.submit(run_job, job)
        except BrokenExecutor:
            LOG.warning("the learning process has ended; starting another")
            self._executor = self.make()
            return self._executor.submit(run_job, job)
        except Exception:
            self._executor = None  # not closed: a cluster's is the same again, and others may be learning in it
            raise

    def _done(self, live: LiveStudy, job: Job, done: Future[Predictor]) -> None:
        """Adopt what was learned; what failed is said once, and tried again when there is more to learn from."""
        if self._closed:
            return
        reason: str | None = "adopting it failed"
        lasting = True
        try:
            reason, lasting = _adopted(live, job, done)
        finally:
            with self._lock:
                self._running.pop(live.name, None)
                self._failed.pop(live.name, None)
                if reason is not None:
                    self._failed[live.name] = (job.seen if lasting else NEVER, reason)
        if reason is None:
            self.look(live)
        else:
            LOG.warning("a fit was not adopted", extra={"fields": {"study": live.name, "fit": job.fit, "why": reason}})

    def forget(self, study: str) -> None:
        """Forget what failed in a study that is gone, and look for it no more; another may come by its name."""
        with self._lock:
            self._failed.pop(study, None)
            self._begun.pop(study, None)
            timer = self._waiting.pop(study, None)
            if timer is not None:
                timer.cancel()

    def problem(self, study: str) -> str | None:
        """Why the last fit of a study was not adopted, if it was not."""
        found = self._failed.get(study)
        return None if found is None else found[1]

    def busy(self, study: str) -> bool:
        """Whether a fit of a study is running."""
        return study in self._running

    def close(self) -> None:
        """Stop learning; a fit that is running is lost."""
        with self._lock:
            self._closed = True
            for timer in self._waiting.values():
                timer.cancel()
            executor, self._executor = self._executor, None
        if isinstance(executor, LocalProcesses):
            executor.abandon()
        elif executor is not None:
            executor.shutdown(wait=False)  # that of a cluster knows no more words
