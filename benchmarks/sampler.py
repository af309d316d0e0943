"""Effective draws a second: our sampler beside NumPyro's No-U-Turn sampler on the same model and data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.figures import Figure, timed
from benchmarks.panels import EXTRA_SETS, half_masked, recorded
from quorate.core.health import Health
from quorate.core.settings import Settings
from quorate.data.table import Table
from quorate.models.draws import Draws
from quorate.models.full import gibbs, nuts
from quorate.models.health import fit_health, free_parameters, mixing

SETTINGS = Settings(extensions=0)
NUTS_CHAINS = 2
"""Run one after the other; the compiler uses both cores inside a step. Ours run one on each core."""
NUTS_SHORT, NUTS_LONG = (300, 300), (500, 1500)
"""Warm-up and draws: a long run where it is quick, else a short one, since the yardstick is its pace."""


def smallest_ess(draws: Draws) -> float:
    """Smallest bulk or tail effective sample size over all parameters."""
    _, bulk, tail = mixing(free_parameters(draws, SETTINGS)[1])
    return float(min(bulk.min(), tail.min()))


def gibbs_speed(found: dict[str, Table], sizes: tuple[int, ...]) -> Iterator[Figure]:
    """Our sampler on both cores, warm-up included."""
    for name, table in found.items():
        for n in sizes:
            ratios, votes, classes = half_masked(table, n)
            short = Settings(warmup=1, draws=4)
            gibbs.sample(np.random.default_rng(1), ratios, votes, classes=classes, settings=short)  # compiles
            seconds, draws = timed(
                gibbs.sample, np.random.default_rng(1), ratios, votes, classes=classes, settings=SETTINGS
            )
            yield Figure("sampler", "smallest ESS a second", f"{name} n={n}", smallest_ess(draws) / seconds, "1/s")


def nuts_speed(found: dict[str, Table], sizes: tuple[int, ...]) -> Iterator[Figure]:
    """NumPyro on the whitened joint model, its compilation left out."""
    if find_spec("numpyro") is None:
        return
    for name, table in found.items():
        for n in sizes:
            ratios, votes, classes = half_masked(table, n)
            rng = np.random.default_rng(1)
            sample = partial(nuts.sample, rng, ratios, votes, classes=classes, settings=SETTINGS, chains=NUTS_CHAINS)
            first, _ = timed(sample, warmup=1, draws=4)
            warmup, count = NUTS_LONG if n <= 20 else NUTS_SHORT
            seconds, (draws, diverged) = timed(sample, warmup=warmup, draws=count)
            on, health = f"{name} n={n}", fit_health(draws, SETTINGS, divergences=diverged)
            speed = smallest_ess(draws) / max(seconds - first, 0.1)
            yield Figure("sampler", "smallest ESS a second, NumPyro", on, speed, "1/s")
            yield Figure("sampler", "R-hat, NumPyro", on, health.rhat or np.nan, "")


def large_panel() -> Iterator[Figure]:
    """A panel of 24 log-ratios, the largest recorded one: does a fit of 50 cases pass its gate?"""
    for name, table in recorded(EXTRA_SETS).items():
        ratios, votes, classes = half_masked(table, 50)
        seconds, found = timed(gibbs.fit, np.random.default_rng(1), ratios, votes, classes=classes, settings=Settings())
        health: Health = found.health
        for what, value, unit in (
            ("long fit", seconds, "s"),
            ("R-hat of a long fit", health.rhat or np.nan, ""),
            ("smallest ESS of a long fit", health.ess or np.nan, ""),
        ):
            yield Figure("sampler", what, f"{name} n=50", value, unit)
