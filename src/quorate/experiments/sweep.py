"""Many cells through an executor, each finished one a line in a file: stopped at any moment, it goes on from there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quorate.cluster import dask_executor
from quorate.data.table import Table
from quorate.errors import InputError, SettingsError
from quorate.experiments.cell import Cell, Line, line_of, run_cell
from quorate.models.parts import THREADS, work_alone
from quorate.processes import LocalProcesses

Progress = Callable[[int, int], None]
"""Called with the number of cells done and of all cells."""


@dataclass(frozen=True)
class Failure:
    """A cell that could not be run, and why."""

    cell: Cell
    reason: str


@dataclass(frozen=True)
class Sweep:
    """What a sweep came to: a line for every cell that worked, in the order of the cells."""

    lines: tuple[Line, ...]
    failures: tuple[Failure, ...]


def read_results(path: Path) -> dict[str, Line]:
    """Finished cells by id; a last line cut short by a kill is passed over."""
    if not path.exists():
        return {}
    found: dict[str, Line] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a file of results ({error}); name another folder") from None
    whole, _, _cut = text.rpartition("\n")
    for number, one in enumerate(whole.splitlines(), start=1):
        try:
            line = line_of(one)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: not a result of a sweep ({error})") from None
        found[line.id] = line
    return found


@contextmanager
def results_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Append whole lines that survive a kill; what a kill cut short is cut off first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab+")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: another sweep is writing to it; wait for it or name another folder") from None
        file.seek(0)
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)

        def keep(line: str) -> None:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

        yield keep


def sweep(
    cells: Sequence[Cell],
    tables: Mapping[str, Table],
    *,
    results: Path,
    executor: Executor,
    progress: Progress | None = None,
    known: Mapping[str, Line] | None = None,
) -> Sweep:
    """Run the cells that have no line yet; a cell that fails is reported and does not stop the rest.

    `tables` holds each table by its digest; `known` are lines by id that were finished elsewhere.
    """
    done = {**(known or {}), **read_results(results)}
    missing = [cell for cell in dict.fromkeys(cells) if cell.id not in done]
    failures = []
    with results_file(results) as keep:
        jobs = {executor.submit(run_cell, cell, tables[cell.digest]): cell for cell in missing}
        finished = len(set(cells)) - len(missing)
        for job in as_completed(jobs) if jobs else ():
            error = job.exception()
            if error is None:
                line = job.result()
                keep(line)
                done[jobs[job].id] = line_of(line)
            else:
                failures.append(Failure(jobs[job], f"{type(error).__name__}: {error}"))
            finished += 1
            if progress is not None:
                progress(finished, len(set(cells)))
    return Sweep(tuple(_unique(done[cell.id] for cell in cells if cell.id in done)), tuple(failures))


def _unique(lines: Iterable[Line]) -> list[Line]:
    return list({line.id: line for line in lines}.values())


@contextmanager
def open_executor(*, jobs: int | None = None, cluster: str | None = None) -> Iterator[Executor]:
    """Local processes, or a Dask cluster by its address: one interface for both."""
    if cluster is not None:
        if jobs is not None:
            raise SettingsError("jobs and cluster exclude each other: a cluster has its own number of workers")
        with dask_executor(cluster) as executor:
            yield executor
        return
    if jobs is not None and jobs < 1:
        raise SettingsError(f"jobs = {jobs} is too small; expected at least 1")
    cores = os.cpu_count() or 1
    number = jobs or cores
    pool = LocalProcesses(number, prepare=work_alone if number * THREADS > cores else None)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
