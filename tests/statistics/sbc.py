"""Simulation-based calibration of the posterior sampler (Talts and others 2018), from the prior of the model.

Parameters are drawn from the prior, a history is simulated from them and fitted: the rank of each true parameter among
its posterior draws must be uniform. A short run is part of the test suite, `python -m tests.statistics.sbc` a long one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import binom

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.full import gibbs
from quorate.models.full.normal import Parameters, prior_parameters, simulate

KEPT = 16
"""Draws kept of each chain, thinned so that they are nearly independent."""
SIMULATIONS = 20_000
"""Simulations behind a p-value: enough that ten of them together can still fall below one in a thousand."""
EFFORT = Settings(chains=4, warmup=200, draws=KEPT * 40)

Sampler = Callable[[np.random.Generator, Floats, Ints, int, Settings], Draws]


@dataclass(frozen=True)
class Corner:
    """One kind of history: classes, classifiers, experts, cases, and which part of it is missing."""

    classes: int
    classifiers: int
    experts: int
    n: int
    missing_votes: float = 0.0
    missing_rows: float = 0.0
    temperature: bool = True
    correlations: bool = True


CORNERS = (
    Corner(2, 1, 2, 20),
    Corner(2, 1, 3, 12, missing_votes=0.4),
    Corner(3, 1, 2, 12, missing_votes=0.3),
    Corner(2, 2, 2, 10, missing_votes=0.2, missing_rows=0.3),
    Corner(4, 1, 1, 15),
    Corner(3, 1, 2, 12, missing_votes=0.3, temperature=False),
    Corner(3, 1, 2, 12, missing_votes=0.3, correlations=False),
    Corner(2, 1, 2, 15, missing_votes=0.3, temperature=False, correlations=False),
)


def gibbs_sampler(rng: np.random.Generator, log_ratios: Floats, votes: Ints, classes: int, settings: Settings) -> Draws:
    """The sampler under test."""
    return gibbs.sample(rng, log_ratios, votes, classes=classes, settings=settings)


def wrong_prior_sampler(
    rng: np.random.Generator, log_ratios: Floats, votes: Ints, classes: int, settings: Settings
) -> Draws:
    """A sampler broken on purpose: the power of |Sigma| in the prior is off by one, as if a Jacobian were forgotten."""
    broken = replace(settings, eta=settings.eta + 1.0)
    return gibbs.sample(rng, log_ratios, votes, classes=classes, settings=broken)


def quantities(mu: Floats, s: Floats, omega: Floats, tau: Floats, corner: Corner) -> dict[str, Floats]:
    """One quantity of each kind, (..., d) to (...): coordinates of a kind are alike, so one stands for all."""
    first = corner.classifiers * (corner.classes - 1)
    found = {
        "mu classifier": mu[..., 0],
        "mu expert": mu[..., first],
        "s classifier": s[..., 0],
        "s expert": s[..., first],
    }
    if corner.correlations:
        found["omega between"] = omega[..., first, 0]
        found["omega last"] = omega[..., -1, -2]
        found["log det omega"] = np.linalg.slogdet(omega)[1]
    if corner.temperature:
        found["tau"] = tau
        found["s expert / tau"] = s[..., first] / tau
        found["mu expert / s"] = mu[..., first] / s[..., first]
    return found


def one_fit(seed: int, number: int, corner: Corner, sampler: Sampler) -> dict[str, int]:
    """Ranks of the true quantities among KEPT * chains draws of one simulated history."""
    rng = np.random.default_rng([seed, number])
    settings = replace(EFFORT, temperature=corner.temperature, correlations=corner.correlations)
    truth = prior_parameters(
        rng, classes=corner.classes, classifiers=corner.classifiers, experts=corner.experts, settings=settings
    )
    log_ratios, votes = simulate(
        rng,
        truth,
        corner.n,
        classes=corner.classes,
        classifiers=corner.classifiers,
        settings=settings,
        missing=corner.missing_votes,
    )
    log_ratios[rng.random(log_ratios.shape[:2]) < corner.missing_rows] = np.nan
    draws = sampler(rng, log_ratios, votes, corner.classes, settings)
    thin = draws.last(draws.shape[1], every=draws.shape[1] // KEPT)
    return ranks(truth, thin, corner)


def ranks(truth: Parameters, draws: Draws, corner: Corner) -> dict[str, int]:
    """How many draws lie below the truth, for each quantity."""
    true = quantities(truth.mu, truth.s, truth.omega, np.array(truth.tau), corner)
    drawn = quantities(draws.mu, draws.s, draws.omega, draws.tau, corner)
    return {name: int((drawn[name] < true[name]).sum()) for name in true}


@cache
def tail_table(count: int, most: int) -> Floats:
    """Two-sided tail probability of each number of ranks (N + 1) at or below each point: (most, N + 1)."""
    share = (np.arange(most)[:, None] + 1) / (most + 1)
    below = np.arange(count + 1)
    tails = np.minimum(binom.cdf(below, count, share), binom.sf(below - 1, count, share))
    return np.minimum(1.0, 2.0 * tails)


def band_statistic(ranks: Ints, most: int) -> Floats:
    """The smallest two-sided tail probability over all points of the ranks' distribution function: (R, N) to (R,).

    Säilynoja, Bürkner and Vehtari (2022): below every rank the number of ranks is binomial if they are uniform.
    """
    runs, count = ranks.shape
    shifted = ranks + (most + 1) * np.arange(runs)[:, None]
    counts = np.bincount(shifted.ravel(), minlength=runs * (most + 1)).reshape(runs, most + 1)
    below = counts.cumsum(axis=1)[:, :-1]
    smallest: Floats = tail_table(count, most)[np.arange(most), below].min(axis=1)
    return smallest


@cache
def uniform_statistics(count: int, most: int) -> Floats:
    """What uniform ranks give, so many times over: (SIMULATIONS,)."""
    rng = np.random.default_rng(20220301)
    return band_statistic(rng.integers(0, most + 1, (SIMULATIONS, count)), most)


def p_value(found: Ints, most: int) -> float:
    """How often uniform ranks stray as far from their band somewhere as these do; never below 1 / SIMULATIONS."""
    uniform = uniform_statistics(len(found), most)
    return float((1 + (uniform <= band_statistic(found[None], most)).sum()) / (1 + len(uniform)))


def calibration(records: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """P-value of uniform ranks for each quantity."""
    by_name: dict[str, list[int]] = {}
    for record in records:
        for name, rank in record.items():
            by_name.setdefault(name, []).append(rank)
    most = KEPT * EFFORT.chains
    return {name: p_value(np.array(found), most) for name, found in by_name.items()}


def main() -> None:
    """Run fits that are not in the output yet, append them, and print the p-values of all of them."""
    parser = argparse.ArgumentParser(description="Long simulation-based calibration; goes on where it stopped.")
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corner", type=int, choices=range(len(CORNERS)), help="only the fits of this corner")
    parser.add_argument("--out", type=Path, default=Path("out/sbc.jsonl"))
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(record["seed"], record["fit"]): record for record in map(json.loads, lines)}
    with given.out.open("a") as out:
        for number in range(given.fits):
            corner = number % len(CORNERS)
            if (given.seed, number) in done or given.corner not in (None, corner):
                continue
            found = one_fit(given.seed, number, CORNERS[corner], gibbs_sampler)
            done[given.seed, number] = {"seed": given.seed, "fit": number, "corner": corner, "ranks": found}
            out.write(json.dumps(done[given.seed, number]) + "\n")
            out.flush()
    for corner in (None, *range(len(CORNERS))):
        chosen = [record["ranks"] for record in done.values() if corner in (None, record["corner"])]
        if not chosen:
            continue
        title = "all corners" if corner is None else str(CORNERS[corner])
        sys.stdout.write(f"{title}: {len(chosen)} fits\n")
        for name, p in calibration(chosen).items():
            sys.stdout.write(f"  {name:16s} p = {p:.4f}\n")


if __name__ == "__main__":
    main()
