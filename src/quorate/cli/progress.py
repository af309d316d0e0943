"""A bar that says how far a long command has come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILING = {"evidence": "some ten seconds", "full": "a minute or so"}
"""How long it takes to compile a model."""


@contextmanager
def progress_bar(doing: str, *, quiet: bool, memory: float = 30.0) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal, nothing elsewhere; the time left goes by the pace of the last `memory` seconds."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=memory) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, everything: bar.update(task, completed=done, total=everything)


def announce_compiling(model: str) -> None:
    """Say on a terminal why the first use of the sampler takes longer."""
    if sys.stderr.isatty():
        from quorate.models.compiled import is_compiled

        if not is_compiled(model):
            sys.stderr.write(f"compiling the sampler of model {model}, once: this takes {COMPILING[model]}\n")
