"""Votes of whole panels under every posterior draw, over the cases seen: what a portrait is painted from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.core.target import patterns
from quorate.errors import InputError
from quorate.models.patterns import Patterns, Sample, Table, effective
from quorate.models.worth import GROUPS, Cast

FEWEST, MOST = 16, 100
"""Cases that are taken, if there are so many: fewer for large panels, which take longer."""

EFFORT = 6_000_000
"""Numbers in the vote patterns of all cases together, about."""

TINY = float(np.finfo(np.float64).tiny)


@runtime_checkable
class Portrayable(Protocol):
    """A predictor that knows the panel's joint vote under every posterior draw."""

    @property
    def panel(self) -> Panel:
        """Who votes."""

    def patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
        """A case's vote patterns under every draw."""

    def siding(self) -> tuple[Floats, Floats]:
        """Weights (S,) of some draws, and how far two experts side with each other under each: (S, H, H)."""


@dataclass(frozen=True, eq=False)
class Collected:
    """Votes of whole panels by draw; a draw counts the same in every case."""

    weight: Floats  # (S,) of the draws
    said: Floats  # (C, S, K) probability of each decision in each case
    hits: Floats  # (S, H, K) probability that the panel decides for a class and an expert votes for it
    votes: Ints  # (P, H) all patterns, or (S, R, H) sampled ones of all cases
    mass: Floats  # (S, P) or (S, R), a draw's sum to 1
    shares: Floats  # (P, K) or (S, R, K) what the panel decides

    def skill(self) -> Floats:
        """Probability that an expert votes for a class where the panel decides for it: (S, H, K).

        NaN where it never does.
        """
        decided = np.broadcast_to(self.said.mean(axis=0)[:, None, :], self.hits.shape)
        result: Floats = np.divide(self.hits, decided, out=np.full_like(self.hits, np.nan), where=decided > 0)
        return result

    def groups(self, rng: np.random.Generator) -> list[Cast]:
        """The draws in groups by chance."""
        order = rng.permutation(np.flatnonzero(self.weight > 0))
        return [self._cast(draws) for draws in np.array_split(order, min(GROUPS, len(order)))]

    def _cast(self, draws: Ints) -> Cast:
        own = self.weight[draws] / self.weight[draws].sum()
        said = np.einsum("s,csk->ck", own, self.said[:, draws])
        total, size = float(self.weight[draws].sum()), effective(own)
        mass = own[:, None] * self.mass[draws]
        if self.votes.ndim == 2:
            return Cast(total, size, said, self.votes, mass.sum(axis=0), self.shares, np.inf)
        experts, classes = self.votes.shape[2], self.shares.shape[2]
        votes, shares = self.votes[draws].reshape(-1, experts), self.shares[draws].reshape(-1, classes)
        return Cast(total, size, said, votes, mass.reshape(-1), shares, effective(mass))


def collected(rng: np.random.Generator, predictor: Portrayable, history: History, target: Target) -> Collected:
    """Votes of some cases of the history, evenly taken, as if everyone belonged to them and nobody had voted yet."""
    if not len(history):
        raise InputError("the history is empty; a portrait needs at least one case with its classifiers' scores")

    def asked(row: int) -> Patterns:
        return predictor.patterns(rng, _blank(history.cases[row], predictor.panel))

    def after(first: Patterns, size: int) -> Iterator[Patterns]:
        yield first
        count = min(max(EFFORT // size, FEWEST), MOST, len(history))
        yield from map(asked, np.linspace(0, len(history) - 1, count).round().astype(int).tolist()[1:])

    first = asked(0)
    if isinstance(first, Table):
        return _from_tables((one for one in after(first, first.mass.size) if isinstance(one, Table)), target)
    if isinstance(first, Sample):
        return _from_samples([one for one in after(first, first.votes.size) if isinstance(one, Sample)], target)
    raise InputError(f"vote patterns of the kind {type(first).__name__} cannot be read; expected a table or a sample")


def _blank(case: Case, panel: Panel) -> Case:
    """A case that belongs to the whole panel and has no vote yet."""
    rows = case.probabilities + (None,) * len(panel.classifiers)
    there = (True,) * len(panel.experts)
    return replace(case, probabilities=rows[: len(panel.classifiers)], available=there, votes=())


def _from_tables(tables: Iterable[Table], target: Target) -> Collected:
    weights: list[Floats] = []
    said: list[Floats] = []
    mass: Floats | float = 0.0
    for table in tables:
        if not said:
            classes, experts = table.classes, len(table.experts)
            votes = patterns(np.full(experts, -1), tuple(range(experts)), classes)
            shares = target.weights(votes)
        total = table.mass.sum(axis=1)
        own = table.mass / np.maximum(total, TINY)[:, None]
        weights.append(total / total.sum())
        said.append(own @ shares)
        mass = mass + own
    whole = np.asarray(mass) / len(said)
    agreeing = (votes[:, :, None] == np.arange(classes)) * shares[:, None, :]  # (P, H, K)
    hits = (whole @ agreeing.reshape(len(votes), -1)).reshape(-1, experts, classes)
    return Collected(np.mean(weights, axis=0), np.stack(said), hits, votes, whole, shares)


def _from_samples(samples: list[Sample], target: Target) -> Collected:
    votes = np.concatenate([one.votes for one in samples], axis=1)
    shares = target.weights(votes)
    totals = [one.weight.sum(axis=1) for one in samples]
    own = [one.weight / np.maximum(total, TINY)[:, None] for one, total in zip(samples, totals, strict=True)]
    mass = np.concatenate(own, axis=1) / len(samples)
    decided = mass[:, :, None] * shares  # (S, R, K)
    edges = np.cumsum([0, *(part.shape[1] for part in own)]).tolist()
    said = [len(samples) * decided[:, start:stop].sum(axis=1) for start, stop in pairwise(edges)]
    weight = np.mean([total / total.sum() for total in totals], axis=0)
    return Collected(weight, np.stack(said), _hits(votes, decided), votes, mass, shares)


def _hits(votes: Ints, decided: Floats) -> Floats:
    """Mass of panels that decide for a class for which an expert votes: (S, R, H) and (S, R, K) to (S, H, K)."""
    draws, _, experts = votes.shape
    draw, panel, outcome = np.nonzero(decided)
    cell, mass, cast = draw * decided.shape[2] + outcome, decided[draw, panel, outcome], votes[draw, panel]
    size = draws * decided.shape[2]
    counted = [np.bincount(cell, mass * (cast[:, h] == outcome), size).reshape(draws, -1) for h in range(experts)]
    return np.stack(counted, axis=1)
