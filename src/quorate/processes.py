"""Local processes that work for this one: started afresh, so that they share nothing with it, and gone when it is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Event


class LocalProcesses(ProcessPoolExecutor):
    """An executor of so many processes, none of which outlives this one, however it ends; each may prepare itself.

    The higher their niceness, the more they stand back where others need the processors too.
    """

    def __init__(self, number: int, *, niceness: int = 0, prepare: Callable[[], None] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._left = context.Event()
        super().__init__(number, mp_context=context, initializer=_begin, initargs=(niceness, prepare, self._left))

    def abandon(self) -> None:
        """End the processes at once; what they were at is lost."""
        self._left.set()
        self.shutdown(wait=True, cancel_futures=True)


def _begin(niceness: int, prepare: Callable[[], None] | None, left: Event) -> None:
    """End this worker, without a word, on an interrupt, when it is abandoned, and when who started it is gone."""
    os.nice(niceness)
    if prepare is not None:
        prepare()
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # a terminal interrupts workers too; the parent speaks
    parent = multiprocessing.parent_process()

    def watch_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    def watch_word() -> None:
        left.wait()
        os._exit(1)

    for watch in (watch_parent, watch_word):
        threading.Thread(target=watch, daemon=True).start()
