"""Small panels as explicit tables of masses, and what policies cost on them by plain recursion."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.outlook import Outlook
from quorate.core.protocols import Chooser

CASE = Case("c", (None,), (True,))
Policy = Callable[[Floats, tuple[int, ...]], int]
"""Which expert to ask, from the masses given the votes seen (K, ..., K, J) and who is left, in the axes' order."""


def some_mass(rng: np.random.Generator, experts: int, classes: int, outcomes: int = 2, *, empty: float = 0.0) -> Floats:
    """Random masses of all ways to vote together with each outcome (K, ..., K, J), some of them 0."""
    shape = (classes,) * experts
    likely = rng.dirichlet(np.full(classes**experts, 0.4)).reshape(shape)
    given = rng.dirichlet(np.full(outcomes, 0.15), size=shape)
    mass = likely[..., None] * given * (rng.random((*shape, 1)) >= empty)
    mass[(0,) * experts] += 1e-3
    whole: Floats = mass / mass.sum()
    return whole


def forecast_of(mass: Floats, left: Sequence[int] | None = None, *, whole: bool = True) -> Forecast:
    """The forecast of some masses; experts are named by their number."""
    experts, (classes, outcomes) = mass.ndim - 1, (mass.shape[0], mass.shape[-1])
    names = tuple(f"e{h}" for h in (range(experts) if left is None else left))
    p = mass / mass.sum()
    joint = {name: p.sum(axis=tuple(axis for axis in range(experts) if axis != own)) for own, name in enumerate(names)}
    ways = np.indices((classes,) * experts).reshape(experts, -1).T
    values = tuple(p.reshape(-1, outcomes).sum(axis=0).tolist())
    return Forecast(
        outcomes=tuple(f"o{j}" for j in range(outcomes)),
        classes=tuple(f"c{k}" for k in range(classes)),
        values=values,
        joint=joint,
        candidates=names,
        outlook=Outlook(names, ways, p.reshape(-1, outcomes), whole),
    )


def enough(mass: Floats, max_error: float) -> bool:
    """Whether a case settles, by hand."""
    by_outcome = mass.reshape(-1, mass.shape[-1]).sum(axis=0)
    leader = int(by_outcome.argmax())
    total = float(by_outcome.sum())
    return sum(float(v) / total for j, v in enumerate(by_outcome) if j != leader) <= max_error


def after(mass: Floats, axis: int) -> list[Floats]:
    """The masses left by each vote of one expert."""
    return [np.take(mass, vote, axis=axis) for vote in range(mass.shape[axis])]


def doubt(mass: Floats, max_error: float) -> float:
    """The share of the allowed error that a case settles with, times the mass; 0 where it does not."""
    by_outcome = mass.reshape(-1, mass.shape[-1]).sum(axis=0)
    total = float(by_outcome.sum())
    if total == 0 or max_error == 0 or not enough(mass, max_error):
        return 0.0
    return total * (1.0 - float(by_outcome.max()) / total) / max_error


def least_cost(
    mass: Floats, prices: Sequence[float], max_error: float, first: int | None = None, toll: float = 0.0
) -> float:
    """Expected cost to settle by the best policy, times the mass; `first` may be fixed."""
    if mass.sum() == 0 or mass.ndim == 1 or (first is None and enough(mass, max_error)):
        return toll * doubt(mass, max_error)

    def asking(axis: int) -> float:
        rest = [*prices[:axis], *prices[axis + 1 :]]
        return prices[axis] * float(mass.sum()) + sum(
            least_cost(part, rest, max_error, toll=toll) for part in after(mass, axis)
        )

    return asking(first) if first is not None else min(asking(axis) for axis in range(mass.ndim - 1))


def cost_of(mass: Floats, prices: Sequence[float], max_error: float, choose: Policy) -> float:
    """Expected cost to settle by some policy, times the mass."""

    def walk(mass: Floats, left: tuple[int, ...]) -> float:
        if mass.sum() == 0 or not left or enough(mass, max_error):
            return 0.0
        axis = choose(mass, left)
        rest = (*left[:axis], *left[axis + 1 :])
        return prices[left[axis]] * float(mass.sum()) + sum(walk(part, rest) for part in after(mass, axis))

    return walk(mass, tuple(range(mass.ndim - 1)))


def by_chooser(chooser: Chooser, prices: Sequence[float] | None) -> Policy:
    """The policy that asks whom a chooser scores highest."""

    def choose(mass: Floats, left: tuple[int, ...]) -> int:
        seen = forecast_of(mass, left)
        costs = None if prices is None else {f"e{h}": prices[h] for h in left}
        scores = chooser.score(np.random.default_rng(0), Choice(CASE, seen, seen.candidates, costs))
        return max(range(len(left)), key=lambda axis: scores[seen.candidates[axis]])

    return choose
