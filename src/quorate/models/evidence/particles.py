"""Weighted particles that live through a study: each new case reweighs them, and moves keep them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import EvidenceSettings
from quorate.errors import HealthError
from quorate.models.evidence.cases import Cases, difference, newcomers, regime_numbers, regimes_of
from quorate.models.evidence.density import Data, Model, make_data
from quorate.models.evidence.layout import Prior, Shape, grown, residuals_at, size
from quorate.models.evidence.moves import likelihoods, moved
from quorate.models.evidence.nodes import contrasts, make_nodes
from quorate.models.patterns import effective

RESAMPLED = 0.5
"""Below this share of effective particles they are resampled."""
BRIDGED = 0.25
"""Where a change would leave a smaller share, it comes in parts, with moves of all particles in between."""
BRIDGES = 30
"""Most parts that a change may come in."""
MOVES = 2.0
"""Moves of each particle for a new case: so many divided by the cases, at most 1."""
WANTED = 0.75
"""Share of moves to accept, by which the step is adapted."""
FIRST_STEP, STEPS = 0.4, (0.05, 1.0)
CHECKED = 50
"""After so many new cases, and after resampling, all particles are moved, to see whether they all go one way."""
GROUPS = 32
"""Groups of neighbouring particles, which are nearly independent of each other even after resampling."""
NUGGET = 0.02
"""Added to the variances that correlations are shrunk towards."""


@dataclass(frozen=True, eq=False)
class Trace:
    """What the latest update did, for the gate."""

    moves: int = 0
    accepted: float = 1.0  # mean probability of accepting them
    shift: float | None = None  # how far all went one way, in standard deviations; None where only some were moved


@dataclass(frozen=True, eq=False)
class Particles:
    """Particles over some cases: parameters as standard normals, with weights."""

    settings: EvidenceSettings
    cases: Cases
    classes: int
    regimes: tuple[int, ...]  # the ways in which classifiers were missing, in the order they came
    theta: Floats  # (P, D)
    log_weight: Floats  # (P,)
    step: float
    turn: int  # the particle that is moved next
    arrived: int  # cases that came, went or changed in the latest update
    unmoved: int  # such cases since all particles were moved together; `CHECKED` of them after resampling
    seed: int  # of whatever is made of them later
    trace: Trace

    @cached_property
    def weight(self) -> Floats:
        """Weights that sum to 1."""
        raw = np.exp(self.log_weight - self.log_weight.max())
        weight: Floats = raw / raw.sum()
        return weight

    @property
    def shape(self) -> Shape:
        """How many of everything the parameters are for."""
        return Shape(self.classes, self.cases.votes.shape[1], self.cases.scores.shape[1], len(self.regimes))

    @property
    def model(self) -> Model:
        """The model that the parameters are of."""
        return make_model(self.settings, self.shape, self.regimes)

    def data(self, cases: Cases, power: Floats | float = 1.0) -> Data:
        """Cases for the likelihood; each counts by its power."""
        regime = regime_numbers(cases.missing, self.regimes)
        powers = np.broadcast_to(power, len(cases)).copy()
        return make_data(cases.scores, regime, cases.votes, powers, regimes=len(self.regimes))


def make_model(settings: EvidenceSettings, shape: Shape, regimes: tuple[int, ...]) -> Model:
    """The model of a panel under some settings."""
    everyone = (1 << shape.classifiers) - 1
    values = {name: float(getattr(settings, name)) for name in Prior._fields}
    values["lapse"] = math.log(settings.lapse / (1.0 - settings.lapse))
    alone = np.array([int(bits == everyone) for bits in regimes], dtype=np.int64)
    return Model(shape, contrasts(shape.classes), Prior(**values), make_nodes(shape.classes, settings.nodes), alone)


def from_prior(rng: np.random.Generator, cases: Cases, classes: int, settings: EvidenceSettings) -> Particles:
    """Particles of the prior, over no case of a panel."""
    none = cases.some(np.empty(0, dtype=np.int64))
    count = settings.particles
    shape = Shape(classes, cases.votes.shape[1], cases.scores.shape[1], 0)
    theta = rng.standard_normal((count, size(shape)))
    seed = int(rng.integers(2**62))
    return Particles(settings, none, classes, (), theta, np.zeros(count), FIRST_STEP, 0, 0, 0, seed, Trace())


def from_nothing(rng: np.random.Generator, cases: Cases, classes: int, settings: EvidenceSettings) -> Particles:
    """Particles over all cases at once, from the prior by way of ever more of them."""
    found, stop = from_prior(rng, cases, classes, settings), 1
    while len(found.cases) < len(cases):
        found = moved_all(rng, carried(rng, found, cases.some(np.arange(min(stop, len(cases))))))
        stop *= 2
    return found


def carried(rng: np.random.Generator, before: Particles, cases: Cases) -> Particles:
    """The same particles brought to the posterior of other cases, in parts where it is far."""
    wide = widened(before, cases.scores.shape[1], cases.votes.shape[1], cases.missing)
    gone, new = difference(wide.cases, cases)
    leaving, coming = wide.cases.some(gone), cases.some(new)
    union = wide.cases.then(coming)
    change, part, left = _change(wide, leaving, coming), 0.0, 1.0
    for _ in range(BRIDGES):
        part = _largest_part(wide.log_weight, change, left)
        left -= part
        wide = replace(wide, log_weight=wide.log_weight + part * change)
        if left <= 0.0:
            break
        power = np.ones(len(union))
        power[gone], power[len(wide.cases) :] = left, 1.0 - left
        wide = _move(rng, resampled(rng, wide), wide.data(union, power), np.arange(len(wide.theta)))
        change = _change(wide, leaving, coming)
    else:
        raise HealthError(
            f"the particles are too far from what the cases say: {BRIDGES} steps did not reach it; try more particles"
        )
    arrived = max(len(gone), len(new))
    seed = int(rng.integers(2**62))
    found = replace(wide, cases=cases, arrived=arrived, unmoved=wide.unmoved + arrived, seed=seed)
    if effective(found.weight) < RESAMPLED * len(found.theta):
        found = resampled(rng, found)
    return found


def widened(before: Particles, classifiers: int, experts: int, missing: Ints | None = None) -> Particles:
    """Particles with room for experts and classifiers that came since, and for the regimes of some cases."""
    absent = newcomers(before.cases.scores.shape[1], classifiers)  # they had no say so far
    old = before.cases.wider(classifiers, experts)
    so_far = [bits | absent for bits in before.regimes]
    coming = [] if missing is None else missing.tolist()
    regimes = regimes_of([*so_far, *old.missing.tolist(), *coming])
    shape = Shape(before.classes, experts, classifiers, len(regimes))
    if shape == before.shape:
        return before
    theta = grown(np.random.default_rng([before.seed, *shape]), before.theta, before.shape, shape)
    return replace(before, cases=old, regimes=regimes, theta=theta)


def _change(particles: Particles, leaving: Cases, coming: Cases) -> Floats:
    """What each particle gains by the cases that come, less what it loses by those that leave."""
    model = particles.model
    gain = likelihoods(particles.theta, model, particles.data(coming)) if len(coming) else 0.0
    loss = likelihoods(particles.theta, model, particles.data(leaving)) if len(leaving) else 0.0
    return np.zeros(len(particles.theta)) + gain - loss


def _largest_part(log_weight: Floats, change: Floats, left: float) -> float:
    """How much of a change leaves enough effective particles: all that is left if it can be."""
    count = len(log_weight)
    if not np.isfinite(change).all():
        raise HealthError("a case has no likelihood under some particles; try more of them, or wider priors")

    def share(part: float) -> float:
        raw = log_weight + part * change
        return effective(np.exp(raw - raw.max())) / count

    if share(left) >= BRIDGED:
        return left
    low, high = 0.0, left
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) >= RESAMPLED else (low, middle)
    return low


def resampled(rng: np.random.Generator, particles: Particles) -> Particles:
    """Particles of equal weight, by systematic resampling; copies stay beside each other.

    All of them must be moved then, not the copies alone: copies and originals together follow the posterior, and the
    originals by themselves do not.
    """
    count = len(particles.theta)
    places = (rng.random() + np.arange(count)) / count
    chosen = np.minimum(np.searchsorted(np.cumsum(particles.weight), places), count - 1)
    return replace(particles, theta=particles.theta[chosen], log_weight=np.zeros(count), unmoved=CHECKED)


def refreshed(rng: np.random.Generator, particles: Particles) -> Particles:
    """All particles moved where that is due, else some of them in turn, whatever their values are."""
    count, cases = len(particles.theta), max(len(particles.cases), 1)
    turns = min(math.ceil(MOVES * count * particles.arrived / cases), count)
    if particles.unmoved >= CHECKED or turns == count:
        return moved_all(rng, particles)
    if not turns:  # no case came or went, as when an expert joins; no moves say nothing about the step
        return replace(_folded(particles), trace=Trace())
    which = (particles.turn + np.arange(turns)) % count
    after = _move(rng, particles, particles.data(particles.cases), which)
    return replace(after, turn=(particles.turn + turns) % count)


def moved_all(rng: np.random.Generator, particles: Particles) -> Particles:
    """Every particle moved once."""
    return _move(rng, particles, particles.data(particles.cases), np.arange(len(particles.theta)))


def _move(rng: np.random.Generator, particles: Particles, data: Data, which: Ints) -> Particles:
    folded = _folded(particles)
    root = _root(folded)
    theta = folded.theta.copy()
    theta[which], accepted = moved(rng, theta[which], folded.model, data, root=root, step=folded.step)
    mean = float(accepted.mean())
    gain = 0.5 * math.sqrt(len(which) / len(theta))
    step = min(max(folded.step * math.exp(gain * (mean - WANTED)), STEPS[0]), STEPS[1])
    if len(which) < len(theta):
        return replace(folded, theta=theta, step=step, trace=Trace(len(which), mean))
    trace = Trace(len(which), mean, _shift(folded, theta, root))
    return replace(folded, theta=theta, step=step, unmoved=0, trace=trace)


def _shift(before: Particles, after: Floats, root: Floats) -> float:
    """How far all particles together have moved one way, in standard deviations of what chance gives.

    Particles that trail behind the posterior all move towards it, a little in every direction or much in one.
    Residuals are left out: with their sign turned to one side they can only move back.
    """
    rest = np.setdiff1d(np.arange(after.shape[1]), residuals_at(before.shape))
    far, weight = (after - before.theta)[:, rest], before.weight
    white = np.linalg.solve(np.linalg.cholesky((root @ root.T)[np.ix_(rest, rest)]), far.T).T
    mean = weight @ white
    # Copies of one particle start together: what is independent is neighbours' sums.
    cuts = np.arange(GROUPS) * len(far) // GROUPS
    sums = np.add.reduceat(weight[:, None] * (white - mean), cuts, axis=0)
    free = GROUPS - 1
    z = mean / np.sqrt(np.maximum((sums**2).sum(axis=0) * GROUPS / free, 1e-24))
    usual = free / (free - 2)  # mean of the square of a t variable
    spread = usual * math.sqrt(2.0 * (free - 1) / (free - 4))
    together = ((z**2).sum() - usual * len(z)) / (spread * math.sqrt(len(z)))
    return float(max(np.abs(z).max(), together))


def _folded(particles: Particles) -> Particles:
    """The sign of the residual, which the model leaves open, turned so that particles agree on it."""
    places = residuals_at(particles.shape)
    R = particles.theta[:, places]
    leading = np.linalg.eigh((R * particles.weight[:, None]).T @ R)[1][:, -1]
    theta = particles.theta.copy()
    theta[:, places] *= np.where(R @ leading < 0.0, -1.0, 1.0)[:, None]
    return replace(particles, theta=theta)


def _root(particles: Particles) -> Floats:
    """Lower factor of the particles' covariance, its correlations shrunk the more the fewer particles there are."""
    weight, D = particles.weight, particles.theta.shape[1]
    centred = particles.theta - weight @ particles.theta
    S = (centred * weight[:, None]).T @ centred
    shrunk = D / (effective(weight) + D)
    S = (1.0 - shrunk) * S + shrunk * np.diag(np.diag(S) + NUGGET)
    return np.ascontiguousarray(np.linalg.cholesky(S + 1e-8 * np.eye(D)))


def thicker(rng: np.random.Generator, particles: Particles, times: int) -> Particles:
    """So many times as many particles: copies, all of them moved apart."""
    theta, log_weight = np.repeat(particles.theta, times, axis=0), np.repeat(particles.log_weight, times)
    more = replace(particles, theta=theta, log_weight=log_weight)
    return moved_all(rng, moved_all(rng, more))


def with_regime(particles: Particles, missing: int) -> Particles:
    """Particles that know how to read a case with these classifiers missing; a new way has its prior."""
    if not missing or missing in particles.regimes:
        return particles
    _, experts, classifiers, _ = particles.shape
    return widened(particles, classifiers, experts, np.array([missing]))
