"""Local processes that work for this one: started afresh, so that they share nothing with it, and gone when it is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def local_processes(
    number: int, *, niceness: int = 0, prepare: Callable[[], None] | None = None
) -> ProcessPoolExecutor:
    """An executor of so many processes, none of which outlives this one, however it ends; each may prepare itself.

    The higher their niceness, the more they stand back where others need the processors too.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(number, mp_context=context, initializer=_begin, initargs=(niceness, prepare))


def _begin(niceness: int, prepare: Callable[[], None] | None) -> None:
    """End this worker, without a word, on an interrupt and when the process that started it is gone."""
    os.nice(niceness)
    if prepare is not None:
        prepare()
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # a terminal interrupts workers too; the parent speaks
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
