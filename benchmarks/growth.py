"""How the time and memory of one update grow with the cases, experts and classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure, timed
from benchmarks.panels import simulated
from quorate.core.history import History
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.models.full import gibbs
from quorate.models.full.learner import FullLearner
from quorate.models.full.population import Cases, Population, from_fit, swept
from quorate.models.full.predictor import FullPredictor

START = Settings(warmup=800, draws=320, extensions=0)
EXPERTS, CLASSES = (2, 3, 5, 8, 12), (2, 3, 4, 6, 8)


def growth(found: dict[str, Table], sizes: tuple[int, ...]) -> Iterator[Figure]:
    """One more case for chains that hold n of them."""
    for name, table in found.items():
        for n in (size for size in sizes if size < len(table)):
            yield from update(table, n, f"{name} n={n}")
    for experts in EXPERTS:
        yield from update(simulated(experts, 2, 251), 250, f"simulated H={experts} K=2 n=250")
    for classes in CLASSES:
        yield from update(simulated(3, classes, 251), 250, f"simulated H=3 K={classes} n=250")


def update(table: Table, n: int, on: str) -> Iterator[Figure]:
    """Seconds of one update with one new case, gates included, and the megabytes that its chains hold."""
    past = half_seen(table, n + 1)
    before = History(table.panel, past.cases[:n])
    cases = Cases.of(before, START)
    fit = gibbs.fit(np.random.default_rng(0), cases.log_ratios, cases.votes, classes=cases.classes, settings=START)
    chains = swept(from_fit(np.random.default_rng(1), cases, fit.moments, fit.draws))
    learned = FullPredictor(table.panel, Settings(), chains.draws, fit.health, chains)
    seconds, after = timed(FullLearner(Settings()).update, np.random.default_rng(3), past, learned)
    assert isinstance(after, FullPredictor)  # noqa: S101  # for the type checker
    yield Figure("growth", "update", on, seconds, "s")
    if after.population is not None:
        yield Figure("growth", "memory of the chains", on, megabytes(after.population), "MB")


def half_seen(table: Table, n: int) -> History:
    """The first n cases with about half of their votes."""
    hidden = np.random.default_rng(n).random(table.votes.shape) < 0.5
    cases = []
    for row in range(n):
        case = table.case(row)
        for expert in np.flatnonzero((table.votes[row] >= 0) & ~hidden[row]):
            case = case.with_vote(int(expert), int(table.votes[row, expert]))
        cases.append(case)
    return History(table.panel, tuple(cases))


def megabytes(chains: Population) -> float:
    """What the chains and their pooled draws hold."""
    held = [part for chain in chains.chains.chains for part in (*chain.state, *chain.widths)]
    for update in chains.recent:
        held += [update.draws.mu, update.draws.s, update.draws.omega, update.draws.tau]
    return sum(part.nbytes for part in held) / 1e6
