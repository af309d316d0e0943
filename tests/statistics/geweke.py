"""Geweke's joint-distribution test of the sampler's whole sweep ("Getting it right", 2004).

A chain that alternates fresh data given the parameters and one sweep given the data leaves the joint distribution of
parameters, latents and data invariant if the sweep is right: its parameters then follow the prior, whose moments are
known. Every chain starts at a draw from the prior, so that it is stationary from its first sweep, and the chains are
independent: their spread gives the error of each moment without any assumption on how slowly they mix.

A short run is part of the test suite, `python -m tests.statistics.geweke` a long one.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import quad
from scipy.special import digamma, polygamma

from quorate.core.arrays import Floats
from quorate.core.settings import Settings
from quorate.models.compiled import kernel
from quorate.models.draws import Draws
from quorate.models.floors import SCALE_FLOOR, TAU_FLOOR
from quorate.models.full.collapsed import collapse_row
from quorate.models.full.groups import move_groups
from quorate.models.full.latents import sweep_latents
from quorate.models.full.linear import cholesky, invert
from quorate.models.full.normal import factor, prior_draws
from quorate.models.full.rows import Moments, ScaleLine, draw_means, draw_rows, moments, slice_scale, slice_width
from quorate.models.full.state import Data, Prior, State, Widths, first_expert, make_data, make_prior, make_widths
from quorate.models.full.sweep import copy_state, finite, sweep

LARGEST = 4.0
"""Largest |z| of any moment that passes."""
CHAINS = 200
WARMUP = 1000
"""Sweeps of one more chain, which only finds the widths of the slices."""
THREADS = 2
NO_CLASSIFIER, NO_EXPERT = 3, 4
"""Cases where nobody of a kind was observed; on two more, one expert was not."""


@dataclass(frozen=True)
class Design:
    """A small panel and the parts of the model that are there."""

    classes: int
    temperature: bool = True
    correlations: bool = True
    classifiers: int = 1
    experts: int = 2
    n: int = 6

    @property
    def settings(self) -> Settings:
        """The paper's prior."""
        return Settings(temperature=self.temperature, correlations=self.correlations)

    @property
    def size(self) -> int:
        """How many log-ratios a case has."""
        return (self.classes - 1) * (self.classifiers + self.experts)

    @property
    def first(self) -> int:
        """The first log-ratio of an expert."""
        return (self.classes - 1) * self.classifiers


@dataclass(frozen=True, eq=False)
class Result:
    """Means of all quantities and of their squares, chain by chain, and what they should be."""

    names: tuple[str, ...]  # J quantities
    means: Floats  # (chains, 2, J)
    expected: Floats  # (2, J)
    sweeps: int  # of each chain
    refused: int  # sweeps undone because Sigma became singular

    @property
    def z(self) -> Floats:
        """How many standard errors each moment is off: (2, J)."""
        error = self.means.std(axis=0, ddof=1) / math.sqrt(len(self.means))
        return np.asarray((self.means.mean(axis=0) - self.expected) / error)

    @property
    def autocorrelation_times(self) -> Floats:
        """How many sweeps of each quantity tell as much as one independent draw: (J,)."""
        mean, square = self.expected
        return np.asarray(self.sweeps * self.means[:, 0].var(axis=0, ddof=1) / (square - mean**2))


@kernel
def redraw_classifiers(rng: np.random.Generator, data: Data, state: State) -> None:
    """Observed log-ratios of the classifiers, one at a time given all else."""
    block = data.K - 1
    for i in range(state.z.shape[0]):
        for c in range(first_expert(data)):
            if not data.patterns[data.pattern[i], c // block]:
                continue  # what is missing is latent, and the sweep's to draw
            pull = 0.0
            for j in range(state.mu.shape[0]):
                if j != c:
                    pull += state.Q[c, j] * (state.z[i, j] - state.mu[j])
            noise = rng.standard_normal() / math.sqrt(state.Q[c, c])
            state.z[i, c] = state.mu[c] - pull / state.Q[c, c] + noise


@kernel
def draw_vote(rng: np.random.Generator, z: Floats, tau: float, tempered: bool, p: Floats) -> int:
    """The vote of an expert with latents z (K-1,); p (K,) is scratch."""
    last = p.shape[0] - 1
    for k in range(last + 1):
        p[k] = z[k] if k < last else 0.0
    softmax(p)
    if tempered:
        for k in range(last + 1):
            p[k] /= tau
        softmax(p)
    left, vote = rng.random(), 0
    while vote < last and left >= p[vote]:
        left -= p[vote]
        vote += 1
    return vote


@kernel
def softmax(p: Floats) -> None:
    """Replace logarithms by the probabilities they are proportional to."""
    top, total = p.max(), 0.0
    for k in range(p.shape[0]):
        p[k] = math.exp(p[k] - top)
        total += p[k]
    for k in range(p.shape[0]):
        p[k] /= total


@kernel
def redraw_data(rng: np.random.Generator, data: Data, prior: Prior, state: State) -> None:
    """Fresh data given the parameters and the experts' latents; who is missing stays missing."""
    redraw_classifiers(rng, data, state)
    p, block, start = np.empty(data.K), data.K - 1, first_expert(data)
    for i in range(data.votes.shape[0]):
        for h in range(data.votes.shape[1]):
            if data.votes[i, h] >= 0:
                first = start + h * block
                z = state.z[i, first : first + block]
                data.votes[i, h] = draw_vote(rng, z, state.tau[0], prior.tempered, p)


@kernel
def broken_scales(rng: np.random.Generator, prior: Prior, state: State, stats: Moments, first: int) -> None:
    """`draw_scales` with one mistake: from `first` on, the width of a slice depends on the variance that it changes."""
    size = state.mu.shape[0]
    rest, slope = np.empty(size), np.empty(size)
    for c in range(size):
        x = state.Sigma[c, c]
        for j in range(size):
            slope[j] = state.Sigma[j, c] / x if j != c else 1.0
            rest[j] = state.Sigma[j, j] - slope[j] ** 2 * x if j != c else 0.0
        gap = stats.mean[c] - state.mu[c]
        line = ScaleLine(prior, stats.n, c, stats.scatter[c, c] + stats.n * gap * gap, x, rest, slope)
        width = slice_width(stats.n) * (x if c >= first else 1.0)
        change = x * math.expm1(slice_scale(rng, line, width))
        for j in range(size):
            for k in range(size):
                state.Sigma[j, k] += slope[j] * slope[k] * change


@kernel
def broken_sweep(rng: np.random.Generator, data: Data, prior: Prior, state: State, widths: Widths) -> bool:
    """`sweep` with `broken_scales`."""
    move_groups(rng, data, prior, state, widths, False)
    if not sweep_latents(rng, data, prior, state):
        return False
    stats = moments(state.z)
    draw_rows(rng, prior, state, stats)
    broken_scales(rng, prior, state, stats, first_expert(data))
    if not invert(state.Sigma, state.Q):
        return False
    draw_means(rng, prior, state, stats)
    for h in range(data.counts.shape[0]):
        for k in range(data.K - 1):
            if not collapse_row(rng, data, prior, state, h, k, widths, False):
                return False
    return invert(state.Sigma, state.Q)


@kernel
def measure(data: Data, prior: Prior, state: State, lower: Floats, out: Floats) -> None:
    """Write the quantities that `expectations` names, in its order; `lower` (d, d) is scratch."""
    size, start = state.mu.shape[0], first_expert(data)
    at, log_scale = 0, 0.0
    for j in range(size):
        s = math.sqrt(state.Sigma[j, j])
        out[at], out[at + 1], out[at + 2] = state.mu[j], s, math.log(s)
        out[at + 3] = (state.z[0, j] - state.mu[j]) / s
        out[at + 4] = (state.z[NO_CLASSIFIER if j < start else NO_EXPERT, j] - state.mu[j]) / s
        log_scale += math.log(s) / (size - start) if j >= start else 0.0
        at += 5
    out[at] = log_scale
    at += 1
    if prior.tempered:
        out[at], out[at + 1], out[at + 2] = state.tau[0], math.log(state.tau[0]), log_scale - math.log(state.tau[0])
        at += 3
    if prior.correlated:
        cholesky(state.Sigma, lower)
        log_det = 0.0
        for j in range(size):
            log_det += 2.0 * math.log(lower[j, j]) - math.log(state.Sigma[j, j])
            for k in range(j):
                out[at] = state.Sigma[j, k] / math.sqrt(state.Sigma[j, j] * state.Sigma[k, k])
                at += 1
        out[at] = log_det


@kernel
def run_chain(
    rng: np.random.Generator,
    data: Data,
    prior: Prior,
    state: State,
    backup: State,
    widths: Widths,
    sweeps: int,
    warming: bool,
    broken: bool,
    out: Floats,
) -> int:
    """Alternate fresh data and a sweep; write means and mean squares (2, J), return how many sweeps were refused."""
    found, lower = np.empty(out.shape[1]), np.empty(state.Sigma.shape)
    refused = 0
    for _ in range(sweeps):
        redraw_data(rng, data, prior, state)
        copy_state(state, backup)
        if broken:
            done = broken_sweep(rng, data, prior, state, widths)
        else:
            done = sweep(rng, data, prior, state, widths, warming)
        if not done or not finite(state):
            copy_state(backup, state)
            refused += 1
        measure(data, prior, state, lower, found)
        for a in range(found.shape[0]):
            out[0, a] += found[a] / sweeps
            out[1, a] += found[a] ** 2 / sweeps
    return refused


def half_normal_moments(scale: float, floor: float) -> dict[str, tuple[float, float]]:
    """Mean and mean square of a half-normal above a floor, and of its logarithm."""

    def integral(power: int, log_power: int) -> float:
        def density(t: float) -> float:  # in the logarithm, where the floor is far out
            return math.exp(t * (1 + power) - 0.5 * math.exp(2 * t)) * (t + math.log(scale)) ** log_power

        ends = math.log(floor / scale), math.log(10.0)
        return float(quad(density, *ends, epsabs=0.0, epsrel=1e-10, limit=200)[0])

    mass = integral(0, 0)
    plain = scale * integral(1, 0) / mass, scale**2 * integral(2, 0) / mass
    return {"plain": plain, "log": (integral(0, 1) / mass, integral(0, 2) / mass)}


def log_det_moments(size: int, eta: float) -> tuple[float, float]:
    """Mean and mean square of the log determinant of LKJ(eta): a product of independent Betas."""
    k = np.arange(1, size)
    beta = eta + (size - 1 - k) / 2.0
    mean = float((digamma(beta) - digamma(beta + k / 2.0)).sum())
    variance = float((polygamma(1, beta) - polygamma(1, beta + k / 2.0)).sum())
    return mean, variance + mean**2


def expectations(design: Design) -> dict[str, tuple[float, float]]:
    """Mean and mean square of each quantity that `measure` writes, under the prior."""
    settings, size = design.settings, design.size
    s = half_normal_moments(settings.sigma_sigma, SCALE_FLOOR)
    tau = half_normal_moments(settings.sigma_tau, TAU_FLOOR)
    experts = size - design.first
    found: dict[str, tuple[float, float]] = {}
    for j in range(size):
        found[f"mu[{j}]"] = 0.0, settings.sigma_mu**2
        found[f"s[{j}]"] = s["plain"]
        found[f"log s[{j}]"] = s["log"]
        found[f"latent[{j}]"] = found[f"absent[{j}]"] = 0.0, 1.0
    log_s, variance = s["log"][0], (s["log"][1] - s["log"][0] ** 2) / experts
    found["log s, experts"] = log_s, variance + log_s**2
    if design.temperature:
        log_tau, tau_variance = tau["log"][0], tau["log"][1] - tau["log"][0] ** 2
        found["tau"] = tau["plain"]
        found["log tau"] = tau["log"]
        found["log s/tau, experts"] = log_s - log_tau, variance + tau_variance + (log_s - log_tau) ** 2
    if design.correlations:
        for j in range(size):
            for k in range(j):
                found[f"omega[{j},{k}]"] = 0.0, 1.0 / (2.0 * settings.eta + size - 1.0)
        found["log det omega"] = log_det_moments(size, settings.eta)
    return found


def begin(rng: np.random.Generator, design: Design, draws: Draws, number: int) -> tuple[Data, State]:
    """Latents given one draw of the parameters, and who was observed on which case; the votes are still to be drawn."""
    mu, s, omega = draws.mu[0, number].copy(), draws.s[0, number], draws.omega[0, number]
    z = mu + rng.standard_normal((design.n, design.size)) @ (s[:, None] * factor(omega)).T
    log_ratios = z[:, : design.first].reshape(design.n, design.classifiers, design.classes - 1).copy()
    votes = np.zeros((design.n, design.experts), dtype=np.int64)
    votes[1, 0] = votes[2, 1] = votes[NO_EXPERT] = -1
    log_ratios[NO_CLASSIFIER] = np.nan
    Sigma = omega * np.outer(s, s)  # noqa: N806  # the recipe's letter
    inverse = np.empty_like(Sigma)
    invert(Sigma, inverse)
    return make_data(log_ratios, votes, design.classes), State(z, mu, Sigma, inverse, draws.tau[0, [number]])


def one_chain(
    rng: np.random.Generator,
    number: int,
    *,
    design: Design,
    draws: Draws,
    widths: Widths,
    sweeps: int,
    warming: bool = False,
    broken: bool = False,
) -> tuple[Floats, int]:
    """Means and mean squares (2, J) of a chain that starts at a draw from the prior, and its refused sweeps."""
    data, state = begin(rng, design, draws, number)
    out = np.zeros((2, len(expectations(design))))
    prior, backup = make_prior(design.settings), copy.deepcopy(state)
    refused = run_chain(rng, data, prior, state, backup, widths, sweeps, warming, broken, out)
    return out, refused


def geweke(seed: int, design: Design, *, sweeps: int, chains: int = CHAINS, broken: bool = False) -> Result:
    """Run chains of `sweeps` sweeps in all; the widths of the slices come from a chain that is not counted."""
    rng = np.random.default_rng(seed)
    draws = prior_draws(
        rng,
        classes=design.classes,
        classifiers=design.classifiers,
        experts=design.experts,
        settings=design.settings,
        chains=1,
        count=chains + 1,
    )
    widths = make_widths(design.experts, design.size)
    run = partial(one_chain, design=design, draws=draws, widths=widths)
    first, *others = rng.spawn(chains + 1)
    run(first, chains, sweeps=WARMUP, warming=True)
    length = max(1, sweeps // chains)
    with ThreadPoolExecutor(THREADS) as pool:
        done = list(pool.map(partial(run, sweeps=length, broken=broken), others, range(chains)))
    expected = expectations(design)
    return Result(
        tuple(expected),
        np.stack([means for means, _ in done]),
        np.array(list(expected.values())).T,
        length,
        sum(refused for _, refused in done),
    )


def main() -> None:
    """Run long, print every moment, and fail if one is off."""
    parser = argparse.ArgumentParser(description="A long Geweke test of the sampler's sweep.")
    parser.add_argument("--sweeps", type=int, default=5_000_000, help="in all chains together")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--chains", type=int, default=CHAINS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-temperature", action="store_true")
    parser.add_argument("--no-correlations", action="store_true")
    parser.add_argument("--broken", action="store_true", help="test a sweep with a mistake in it")
    given = parser.parse_args()
    design = Design(given.classes, temperature=not given.no_temperature, correlations=not given.no_correlations)
    result = geweke(given.seed, design, sweeps=given.sweeps, chains=given.chains, broken=given.broken)
    found, times = result.means.mean(axis=0), result.autocorrelation_times
    for at, name in enumerate(result.names):
        (mean, square), (true_mean, true_square), z = found[:, at], result.expected[:, at], result.z[:, at]
        sys.stdout.write(
            f"{name:20s} mean {mean:9.5f} for {true_mean:9.5f} z {z[0]:6.2f}   "
            f"square {square:9.5f} for {true_square:9.5f} z {z[1]:6.2f}   {times[at]:6.1f} sweeps a draw\n"
        )
    largest = float(np.abs(result.z).max())
    verdict = "passes" if largest <= LARGEST else "FAILS"
    sys.stdout.write(
        f"{design}: {len(result.means)} chains of {result.sweeps} sweeps, {result.refused} refused; "
        f"largest |z| of {result.z.size} is {largest:.2f}: {verdict}\n"
    )
    sys.exit(0 if largest <= LARGEST else 1)


if __name__ == "__main__":
    main()
