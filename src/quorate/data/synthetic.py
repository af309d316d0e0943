"""Synthetic panels: recorded votes and probabilities from a simple process whose every knob is known.

Each case has a true class. Whoever looks at it, an expert or a classifier, sees one number a class: a signal on the
true class plus normal noise of variance 1. The noise has up to three parts:

- one that lies in the case and that everyone sees alike (`ambiguity` is its share of the variance),
- of what is left, one that all experts have in common but no classifier has (`correlation` is its share),
- and one of each observer alone.

An expert votes for the class with the largest number. The strength of the signal follows from the `skill`: the
probability that the vote is the true class, whatever the other knobs. A classifier states the probability of each
class given its own numbers, which is exactly calibrated, and then raises it to the power `overconfidence`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.panel import Panel
from quorate.data.cells import ABSENT, normalised
from quorate.data.columns import ONLY_CLASSIFIER
from quorate.data.table import Table
from quorate.errors import SettingsError

Numbers = float | Sequence[float]
"""One number for all, or one for each."""

SHARPEST = 1e6
"""Largest power that a classifier's probabilities are raised to."""
HEAVIEST = 1e6
"""Largest weight of a class, and the inverse of the smallest."""
LARGEST = 100_000_000
"""Most numbers (cases x observers x classes) that are drawn at once."""

_SURE = 40.0  # a signal that noise of variance 1 never hides


def simulate(
    rng: np.random.Generator,
    *,
    experts: int | Sequence[str] = 5,
    classes: int | Sequence[str] = 3,
    cases: int = 500,
    classifiers: int | Sequence[str] = 1,
    skill: Numbers = 0.85,
    classifier_skill: Numbers = 0.8,
    correlation: float = 0.3,
    ambiguity: float = 0.3,
    balance: Sequence[float] | None = None,
    overconfidence: Numbers = 1.0,
    missing: float = 0.0,
    drift_at: int | None = None,
    drift_skill: Numbers | None = None,
    drift_classifier_skill: Numbers | None = None,
) -> Table:
    """A table of synthetic votes (the process is told at the head of this module).

    From the case `drift_at` on (0 = the first) skills are those of the drift: as given, else half-way from what they
    were to guessing. Classifiers do not know it and weigh their evidence as before.

    >>> table = simulate(np.random.default_rng(0), experts=3, classes=2, cases=4)
    >>> table.votes.shape, table.probabilities.shape
    ((4, 3), (4, 1, 2))
    """
    panel = _panel(experts, classes, classifiers)
    humans, machines, size = len(panel.experts), len(panel.classifiers), len(panel.classes)
    if cases < 1:
        raise SettingsError(f"cases = {cases} is too small; expected at least 1")
    if cases * size * (humans + machines) > LARGEST:
        raise SettingsError(f"{cases} cases of this panel are too many at once; expected at most {LARGEST:,} numbers")
    shares = _balance(balance, size)
    for name, share in (("correlation", correlation), ("ambiguity", ambiguity)):
        if not 0 <= share <= 1:
            raise SettingsError(f"{name} = {share:g} is out of range; expected 0 to 1")
    if not 0 <= missing < 1:
        raise SettingsError(f"missing = {missing:g} is out of range; expected 0 or more and less than 1")
    sharpness = _each("overconfidence", overconfidence, machines)
    if not all(0 < power <= SHARPEST for power in sharpness):
        raise SettingsError(f"overconfidence = {overconfidence} is out of range; expected above 0 to {SHARPEST:g}")
    skills = _Skills("skill", skill, drift_skill, humans, size)
    machine_skills = _Skills("classifier_skill", classifier_skill, drift_classifier_skill, machines, size)
    drifted = np.arange(cases) >= _drift_start(drift_at, cases, drift_skill, drift_classifier_skill)

    truth = rng.choice(size, size=cases, p=shares)
    of_case, of_experts = rng.normal(size=(2, cases, size))
    alone = rng.normal(size=(humans + machines, cases, size))
    signal = np.eye(size)[truth]  # (N, K)

    votes = np.empty((cases, humans), dtype=np.int64)
    for h in range(humans):
        own = math.sqrt(correlation) * of_experts + math.sqrt(1 - correlation) * alone[h]
        noise = math.sqrt(ambiguity) * of_case + math.sqrt(1 - ambiguity) * own
        votes[:, h] = np.argmax(skills.strengths(h, drifted)[:, None] * signal + noise, axis=1)
    probabilities = np.empty((cases, machines, size))
    for m in range(machines):
        noise = math.sqrt(ambiguity) * of_case + math.sqrt(1 - ambiguity) * alone[humans + m]
        seen = machine_skills.strengths(m, drifted)[:, None] * signal + noise
        scores = sharpness[m] * (np.log(shares) + machine_skills.before[m] * seen)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities[:, m, :] = scores / scores.sum(axis=1, keepdims=True)
    votes = _with_gaps(rng, votes, missing)
    keys = tuple(f"case-{row}" for row in range(1, cases + 1))
    return Table(panel, keys, votes, normalised(probabilities), "simulated")


def signal_strength(skill: float, classes: int) -> float:
    """The signal that makes a vote the true class with probability `skill`.

    >>> signal_strength(0.5, 2), round(signal_strength(0.9, 2), 4)  # for two classes: sqrt(2) times a normal quantile
    (0.0, 1.8124)
    """
    if skill <= 1 / classes:
        return 0.0
    if skill == 1:
        return _SURE
    noise = np.linspace(-9, 9, 361)
    weight = np.exp(-(noise**2) / 2)
    weight /= weight.sum()
    below = NormalDist().cdf

    def accuracy(strength: float) -> float:
        return float(weight @ np.array([below(z + strength) ** (classes - 1) for z in noise.tolist()]))

    low, high = 0.0, _SURE
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if accuracy(middle) < skill else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, init=False)
class _Skills:
    """Signal strengths of a group of observers before and after the drift."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    def __init__(self, name: str, given: Numbers, drifted: Numbers | None, number: int, classes: int) -> None:
        chance = 1 / classes
        first = _each(name, given, number)
        later = [(value + chance) / 2 for value in first]
        if drifted is not None:
            later = _each(f"drift_{name}", drifted, number)
        for what, values in ((name, first), (f"drift_{name}", later)):
            wrong = next((value for value in values if not chance - 1e-9 <= value <= 1), None)
            if wrong is not None:
                expected = f"expected {chance:.4g} (guessing among {classes} classes) to 1"
                raise SettingsError(f"{what} = {wrong:g} is out of range; {expected}")
        strengths = {value: signal_strength(value, classes) for value in {*first, *later}}
        object.__setattr__(self, "before", tuple(strengths[value] for value in first))
        object.__setattr__(self, "after", tuple(strengths[value] for value in later))

    def strengths(self, which: int, drifted: Bools) -> Floats:
        """One observer's strength by case: shape (N,)."""
        return np.where(drifted, self.after[which], self.before[which])


def _panel(experts: int | Sequence[str], classes: int | Sequence[str], classifiers: int | Sequence[str]) -> Panel:
    def names(what: str, given: int | Sequence[str], least: int, pattern: str, start: int) -> Sequence[str]:
        if not isinstance(given, int):
            return given
        if not least <= given <= 1000:
            raise SettingsError(f"{what} = {given} is out of range; expected {least} to 1000")
        return [pattern.format(number) for number in range(start, start + given)]

    machines = [ONLY_CLASSIFIER] if classifiers == 1 else names("classifiers", classifiers, 1, "classifier_{}", 1)
    return Panel(names("classes", classes, 2, "{}", 0), names("experts", experts, 1, "expert_{}", 1), machines)


def _each(name: str, given: Numbers, number: int) -> list[float]:
    values = [float(given)] * number if isinstance(given, int | float) else [float(value) for value in given]
    if len(values) != number:
        raise SettingsError(f"{name} has {len(values)} values; expected one, or one for each of {number}")
    return values


def _balance(given: Sequence[float] | None, classes: int) -> Floats:
    shares = np.ones(classes) if given is None else np.array([float(share) for share in given])
    if len(shares) != classes or not ((shares >= 1 / HEAVIEST) & (shares <= HEAVIEST)).all():
        ends = f"from {1 / HEAVIEST:g} to {HEAVIEST:g}"
        raise SettingsError(f"balance = {given} is wrong; expected {classes} numbers {ends}, one a class")
    normal: Floats = shares / shares.sum()
    return normal


def _drift_start(at: int | None, cases: int, *needs_it: Numbers | None) -> int:
    if at is None:
        if any(given is not None for given in needs_it):
            raise SettingsError("skills after a drift are given but not where it happens; give drift_at too")
        return cases
    if not 0 < at < cases:
        raise SettingsError(f"drift_at = {at} is out of range; expected 1 to {cases - 1}, a case after the first")
    return at


def _with_gaps(rng: np.random.Generator, votes: Ints, missing: float) -> Ints:
    """Votes left out at random; whoever drew the largest number in a row stays, so that each case keeps one."""
    drawn = rng.random(votes.shape)
    kept = (drawn >= missing) | (drawn == drawn.max(axis=1, keepdims=True))
    return np.where(kept, votes, ABSENT)
