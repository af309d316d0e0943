"""Simulation-based calibration of the posterior sampler (Talts and others 2018), from the prior of the model.

Parameters are drawn from the prior, a history is simulated from them and fitted: the rank of each true parameter among
its posterior draws must be uniform, and so must the rank of the true probability of a vote on one case more. A short
run is part of the test suite, `python -m tests.statistics.sbc` a long one.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import binom

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.full import gibbs
from quorate.models.full.normal import Parameters, factor, prior_parameters, simulate, vote_probabilities

KEPT = 16
"""Draws kept of each chain, thinned so that they are nearly independent."""
EFFORT = Settings(chains=4, warmup=200, draws=KEPT * 40)
NODES = 1000
"""Fixed normals behind a vote's probability: any fixed function of the parameters has uniform ranks."""
SIMULATIONS = 20_000
"""Simulations behind a p-value: enough that fifty of them together can still fall below one in a hundred."""
SAMPLER = "collapsed gibbs groups latents linear normal rows simplex slices state sweep truncated"
"""The modules that the ranks depend on."""
BAND = 0.95
"""Probability that all ranks of a right sampler lie inside their bands at once."""

Sampler = Callable[[np.random.Generator, Floats, Ints, int, Settings], Draws]


@dataclass(frozen=True)
class Corner:
    """One kind of history: classes, classifiers, experts, cases, and which part of it is missing."""

    classes: int
    classifiers: int
    experts: int
    n: int = 20
    missing_votes: float = 0.3
    missing_rows: float = 0.0
    temperature: bool = True
    correlations: bool = True


CORNERS = (Corner(2, 1, 3), Corner(3, 1, 2), Corner(2, 2, 2, missing_rows=0.3))
"""Corners of the long run."""
ABLATIONS = (
    Corner(4, 1, 1, 15, missing_votes=0.0),
    Corner(3, 1, 2, 12, temperature=False),
    Corner(3, 1, 2, 12, correlations=False),
    Corner(2, 1, 2, 15, temperature=False, correlations=False),
)
"""What the short run tries besides."""


def gibbs_sampler(rng: np.random.Generator, log_ratios: Floats, votes: Ints, classes: int, settings: Settings) -> Draws:
    """The sampler under test."""
    return gibbs.sample(rng, log_ratios, votes, classes=classes, settings=settings)


def wrong_prior_sampler(
    rng: np.random.Generator, log_ratios: Floats, votes: Ints, classes: int, settings: Settings
) -> Draws:
    """A sampler broken on purpose: the power of |Sigma| in the prior is off by one, as if a Jacobian were forgotten."""
    broken = replace(settings, eta=settings.eta + 1.0)
    return gibbs.sample(rng, log_ratios, votes, classes=classes, settings=broken)


@cache
def nodes(block: int) -> Floats:
    """The same standard normals for every draw: (NODES, block)."""
    return np.random.default_rng(0).standard_normal((NODES, block))


def vote_chance(mu: Floats, s: Floats, omega: Floats, tau: Floats, observed: Floats, corner: Corner) -> Floats:
    """Probability that the first expert votes for the first class given the classifiers' log-ratios: (S,)."""
    first, block = len(observed), corner.classes - 1
    last = first + block
    lower = s[:, :last, None] * factor(omega[:, :last, :last])
    known = np.linalg.solve(lower[:, :first, :first], (observed - mu[:, :first])[..., None])  # the classifiers' noise
    mean = mu[:, first:last] + (lower[:, first:, :first] @ known)[..., 0]
    z = mean[:, None] + nodes(block) @ lower[:, first:, first:].transpose(0, 2, 1)  # (S, NODES, block)
    shares = vote_probabilities(z, tau[:, None], temperature=corner.temperature)
    return np.asarray(shares[..., 0].mean(axis=1))


def quantities(
    mu: Floats, s: Floats, omega: Floats, tau: Floats, observed: Floats, corner: Corner
) -> dict[str, Floats]:
    """One quantity of each kind, (S, d) to (S,): coordinates of a kind are alike, so one stands for all."""
    first = corner.classifiers * (corner.classes - 1)
    found = {
        "mu classifier": mu[:, 0],
        "mu expert": mu[:, first],
        "s classifier": s[:, 0],
        "s expert": s[:, first],
        "vote": vote_chance(mu, s, omega, tau, observed, corner),
    }
    if corner.correlations:
        found["omega between"] = omega[:, first, 0]
        found["omega last"] = omega[:, -1, -2]
        found["log det omega"] = np.linalg.slogdet(omega)[1]
    if corner.temperature:
        found["tau"] = tau
        found["s expert / tau"] = s[:, first] / tau
        found["mu expert / s"] = mu[:, first] / s[:, first]
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
        corner.n + 1,
        classes=corner.classes,
        classifiers=corner.classifiers,
        settings=settings,
        missing=corner.missing_votes,
    )
    observed = log_ratios[-1].ravel()  # the case held out
    log_ratios, votes = log_ratios[:-1].copy(), votes[:-1].copy()
    log_ratios[rng.random(log_ratios.shape[:2]) < corner.missing_rows] = np.nan
    draws = sampler(rng, log_ratios, votes, corner.classes, settings)
    thin = draws.last(draws.shape[1], every=draws.shape[1] // KEPT)
    return ranks(rng, truth, thin, observed, corner)


def ranks(
    rng: np.random.Generator, truth: Parameters, draws: Draws, observed: Floats, corner: Corner
) -> dict[str, int]:
    """How many draws lie below the truth, for each quantity; equal ones lie below or above at random."""
    tau = np.array([truth.tau])
    true = quantities(truth.mu[None], truth.s[None], truth.omega[None], tau, observed, corner)
    flat = [part.reshape(-1, *part.shape[2:]) for part in (draws.mu, draws.s, draws.omega, draws.tau)]
    drawn = quantities(flat[0], flat[1], flat[2], flat[3], observed, corner)
    return {
        name: int((drawn[name] < value).sum() + rng.integers((drawn[name] == value).sum() + 1))
        for name, value in true.items()
    }


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
    parts = [band_statistic(rng.integers(0, most + 1, (1000, count)), most) for _ in range(SIMULATIONS // 1000)]
    return np.concatenate(parts)


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


def band_end(count: int) -> float:
    """The p-value below which one of so many lies outside the band of them all.

    Quantities of one fit depend on each other, and all corners together on each of them: Bonferroni's bound holds
    however they do.
    """
    return (1.0 - BAND) / count


def definition(seed: int) -> str:
    """What a rank is a rank of: those of another definition, or of another sampler, are not added to these."""
    folder = Path(inspect.getfile(gibbs)).parent
    source = hashlib.sha256(b"".join((folder / f"{name}.py").read_bytes() for name in SAMPLER.split())).hexdigest()
    effort = f"{KEPT} of {EFFORT.draws} after {EFFORT.warmup} in {EFFORT.chains} chains"
    return f"seed {seed}, {CORNERS}, {effort}, {NODES} nodes, sampler {source[:16]}"


def resumed(count: int, path: Path, own: str, fit: Callable[[int], dict[str, int]]) -> list[dict[str, int]]:
    """Ranks of `count` fits; those that the file does not hold under this definition are run and added to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    done = {record["fit"]: record["ranks"] for record in map(json.loads, lines) if record.get("definition") == own}
    with path.open("a") as out:
        for number in range(count):
            if number not in done:
                done[number] = fit(number)
                out.write(json.dumps({"definition": own, "fit": number, "ranks": done[number]}) + "\n")
                out.flush()
    return [done[number] for number in range(count)]


def fits(count: int, seed: int, path: Path) -> list[dict[str, int]]:
    """Ranks of `count` fits, corners in turn."""
    corners = len(CORNERS)
    return resumed(
        count, path, definition(seed), lambda number: one_fit(seed, number, CORNERS[number % corners], gibbs_sampler)
    )


def tell(
    found: Sequence[Mapping[str, int]], corners: Sequence[object], p_values: Callable[..., dict[str, float]]
) -> int:
    """Print all p-values, of all corners and of each; 1 where one lies outside the band of them all, else 0."""
    tested = []
    for title, chosen in [("all corners", found)] + [
        (str(corner), found[at :: len(corners)]) for at, corner in enumerate(corners)
    ]:
        sys.stdout.write(f"{title}: {len(chosen)} fits\n")
        for name, p in p_values(chosen).items():
            sys.stdout.write(f"  {name:18s} p = {p:.4f}\n")
            tested.append(p)
    least = band_end(len(tested))
    inside = min(tested) > least
    sys.stdout.write(
        f"smallest p of {len(tested)} is {min(tested):.5f}, the band of {BAND:.0%} for all of them at once ends at "
        f"{least:.5f}: {'inside' if inside else 'OUTSIDE'}\n"
    )
    return 0 if inside else 1


def main() -> int:
    """Run the fits that are not in the output yet, print all p-values, and fail outside the band."""
    parser = argparse.ArgumentParser(description="Long simulation-based calibration; goes on where it stopped.")
    parser.add_argument("--fits", type=int, default=1000, help="over all corners")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/sbc.jsonl"))
    given = parser.parse_args()
    return tell(fits(given.fits, given.seed, given.out), CORNERS, calibration)


if __name__ == "__main__":
    sys.exit(main())
