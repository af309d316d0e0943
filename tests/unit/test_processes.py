"""Processes of an executor, which end when they are told to, whatever they are at."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor

from quorate.processes import LocalProcesses

LONG = 600.0
"""Seconds that no test waits for."""


def test_who_abandons_its_processes_waits_for_none_of_them() -> None:
    pool = LocalProcesses(1)
    assert pool.submit(abs, -1).result(LONG) == 1
    future = pool.submit(time.sleep, LONG)
    while not future.running():
        time.sleep(0.01)
    began = time.monotonic()
    pool.abandon()
    assert time.monotonic() - began < LONG / 10
    assert isinstance(future.exception(), BrokenExecutor)
