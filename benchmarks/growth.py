"""How the time and memory of one update grow with the cases, experts and classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.figures import Figure, timed
from benchmarks.panels import half_masked, simulated
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.models.full import gibbs
from quorate.models.full.population import Cases, Population, carried, from_fit, swept

QUICK = Settings(warmup=20, draws=16, extensions=0)
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
    """Seconds of one update with one new case, and the megabytes that its chains hold."""
    ratios, votes, classes = half_masked(table, n + 1)
    cases = Cases(tuple(str(row) for row in range(n + 1)), ratios, votes, classes)
    before = Cases(cases.keys[:n], ratios[:n], votes[:n], classes)
    fit = gibbs.fit(np.random.default_rng(0), ratios[:n], votes[:n], classes=classes, settings=QUICK)
    chains = from_fit(np.random.default_rng(1), before, fit.moments, fit.draws)
    chains = swept(replace(chains, recent=()))
    chains = swept(carried(np.random.default_rng(2), chains, before))  # as in the middle of a study: draws to pool
    seconds, after = timed(one_more, chains, cases)
    yield Figure("growth", "update", on, seconds, "s")
    yield Figure("growth", "memory of the chains", on, megabytes(after), "MB")


def one_more(chains: Population, cases: Cases) -> Population:
    """The update that a study makes after a case."""
    return swept(carried(np.random.default_rng(3), chains, cases))


def megabytes(chains: Population) -> float:
    """What the chains and their pooled draws hold."""
    arrays = [part for chain in chains.chains.chains for part in (*chain.state, *chain.widths)]
    draws = [part for update in chains.recent for part in (update.draws.mu, update.draws.omega)]
    return sum(part.nbytes for part in (*arrays, *draws)) / 1e6
