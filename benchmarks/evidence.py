"""The shared-evidence model: whole replays, large panels and long histories."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

import quorate
from benchmarks.figures import Figure, timed
from benchmarks.growth import half_seen
from benchmarks.panels import recorded, simulated
from benchmarks.replays import told
from quorate.core.history import History
from quorate.core.settings import EvidenceSettings
from quorate.data.table import Table
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.predictor import EvidencePredictor

LARGE = (20, 10, 250)
"""Experts, classes and cases of a large panel."""
HISTORIES = (100, 1000, 20_000)
UPDATES = 60
"""Updates that are timed with so long a history: all particles are moved in one of them at least."""


def evidence(found: dict[str, Table], cases: int) -> Iterator[Figure]:
    """Replays with preset quorate at a stated error of 1 %."""
    for name, table in found.items():
        yield from replayed(table, cases, name, 0.01)


def large(*, quick: bool) -> Iterator[Figure]:
    """A recorded panel of fifteen and a simulated one of twenty, whole."""
    for name, table in recorded(("mammo15",)).items():
        yield from replayed(table, 60 if quick else len(table), name, 0.05)
    experts, classes, cases = LARGE
    on = f"simulated H={experts} K={classes}"
    yield from replayed(simulated(experts, classes, cases), 20 if quick else cases, on, 0.05)


def replayed(table: Table, cases: int, name: str, max_error: float) -> Iterator[Figure]:
    """What a replay takes and gives."""
    options = quorate.Options(preset="quorate", max_error=max_error)
    report = quorate.replay(table, limit=cases, options=options)
    return told(report, "evidence", f"{name}, {report.summary.cases} cases")


def histories(*, quick: bool) -> Iterator[Figure]:
    """One more case after n of them, and what is held in memory then."""
    for n in HISTORIES[:2] if quick else HISTORIES:
        table = simulated(5, 2, n + UPDATES)
        past = half_seen(table, n + UPDATES)
        learner = EvidenceLearner(EvidenceSettings())
        seconds, learned = timed(learner.update, np.random.default_rng(0), History(table.panel, past.cases[:n]), None)
        yield Figure("evidence", "from nothing", f"simulated H=5 K=2 n={n}", seconds, "s")
        took = []
        for later in range(n + 1, n + UPDATES + 1):
            history = History(table.panel, past.cases[:later])
            one, learned = timed(learner.update, np.random.default_rng(later), history, learned)
            took.append(one)
        yield Figure("evidence", "longest update", f"simulated H=5 K=2 n={n}", 1000 * max(took), "ms")
        yield Figure("evidence", "median update", f"simulated H=5 K=2 n={n}", 1000 * float(np.median(took)), "ms")
        assert isinstance(learned, EvidencePredictor)  # noqa: S101  # for the type checker
        tracemalloc.start()
        learner.update(np.random.default_rng(1), History(table.panel, past.cases), learned)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        yield Figure("evidence", "memory of an update", f"simulated H=5 K=2 n={n}", peak, "MB")
