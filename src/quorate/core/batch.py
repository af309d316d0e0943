"""The best experts to ask at once, while the votes of others may be on their way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from quorate.core.choice import Choice
from quorate.core.protocols import Chooser, Joint

PAIRS = 300
"""Most pairs of experts that are all weighed; beyond, the best expert and the best one to join them."""


@dataclass(frozen=True)
class Batch:
    """Experts to ask at once, the best first, and what each candidate is worth.

    Where several are asked at once, a candidate is worth what the best pair with them in it is; those whom no pair that
    can be paid has in it are left out.
    """

    experts: tuple[str, ...]
    gains: Mapping[str, float]


def best_batch(
    rng: np.random.Generator,
    chooser: Chooser,
    choice: Choice,
    *,
    size: int = 1,
    prices: Mapping[str, float],
    left: float = math.inf,
) -> Batch:
    """The best candidates to ask at once, at most `size` of them, whose prices add up to at most `left`.

    The best pair is found among all pairs, more experts join it one by one. A chooser that does not know what votes are
    worth together gives those whose single votes are worth most.
    """
    alone = size == 1 and not choice.pending
    if alone or not isinstance(chooser, Joint) or choice.forecast.outlook is None:
        gains = chooser.score(rng, choice)
        ranked = sorted(choice.candidates, key=lambda expert: -gains[expert])  # stable: the first in panel order leads
        return Batch(_affordable(ranked, size, prices, left), {expert: gains[expert] for expert in choice.candidates})
    return _together(chooser, choice, size, prices, left)


def _affordable(ranked: Iterable[str], size: int, prices: Mapping[str, float], left: float) -> tuple[str, ...]:
    chosen: tuple[str, ...] = ()
    for expert in ranked:
        if len(chosen) < size and _price((*chosen, expert), prices) <= left:
            chosen = (*chosen, expert)
    return chosen


def _price(experts: tuple[str, ...], prices: Mapping[str, float]) -> float:
    return sum(prices[expert] for expert in experts)


def _together(chooser: Joint, choice: Choice, size: int, prices: Mapping[str, float], left: float) -> Batch:
    def worth(batches: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
        paid = [batch for batch in batches if _price(batch, prices) <= left]
        return dict(zip(paid, chooser.together(choice, paid), strict=True))

    singles = worth([(expert,) for expert in choice.candidates])
    gains = {expert: value for (expert,), value in singles.items()}
    batch = max(singles, key=lambda one: singles[one])
    if size > 1:
        few = math.comb(len(gains), 2) <= PAIRS
        pairs = worth(list(combinations(gains, 2)) if few else _joined(batch, gains))
        if pairs:
            best = max(pairs, key=lambda pair: pairs[pair])
            batch = tuple(sorted(best, key=lambda expert: -gains[expert]))
            paired = [name for name in gains if any(name in pair for pair in pairs)]
            gains = {name: max(value for pair, value in pairs.items() if name in pair) for name in paired}
    while 1 < len(batch) < size:
        more = worth(_joined(batch, gains))
        if not more:
            break
        batch = max(more, key=lambda one: more[one])
    return Batch(batch, gains)


def _joined(batch: tuple[str, ...], experts: Iterable[str]) -> list[tuple[str, ...]]:
    return [(*batch, expert) for expert in experts if expert not in batch]
