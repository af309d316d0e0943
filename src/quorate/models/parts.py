"""Work on many things at once, a part to each thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

THREADS = 2
_threads = [THREADS]

Done = TypeVar("Done")


def in_parts(work: Callable[[int, int], Done], count: int, *, threads: int | None = None) -> list[Done]:
    """Let each thread do a part of so many, from a start up to a stop; what each of them gives.

    >>> in_parts(lambda start, stop: stop - start, 8)
    [4, 4]
    """
    number = threads or _threads[0]
    if number == 1:
        return [work(0, count)]
    cuts = np.linspace(0, count, number + 1).round().astype(int).tolist()
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, cuts[:-1], cuts[1:]))


def work_alone() -> None:
    """From now on let this process split no work: where many ask at once, threads of one would only hold up others."""
    _threads[0] = 1
