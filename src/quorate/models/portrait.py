"""A portrait of a panel: how good each expert is, who sides with whom, and what the classifiers are worth in votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.history import History
from quorate.core.target import parse_target
from quorate.models.collected import Portrayable, collected
from quorate.models.worth import Worth, worth

LEVELS = (0.025, 0.975)
"""Both ends of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class Portrait:
    """What was learned about a panel: posterior means with their 95 % intervals.

    The last axis of (..., 3) holds the mean and both ends of the interval.
    """

    experts: tuple[str, ...]
    classes: tuple[str, ...]
    classifiers: tuple[str, ...]
    cases: int  # whose scores it is over
    skill: Floats  # (H, K, 3) probability that an expert votes for a class where the whole panel decides for it
    siding: Floats  # (H, H, 3) from -1 to 1, beyond what the evidence that all see explains
    together: Floats  # (H, H) probability that it is above 0
    worth: Worth  # of all classifiers together


def portrait(rng: np.random.Generator, predictor: Portrayable, history: History) -> Portrait:
    """A portrait of the panel as a model sees it, over the scores of cases of the history.

    Everyone is taken to belong to every case, and the panel's decision is the consensus, a tie counting by its shares.
    """
    panel = predictor.panel
    found = collected(rng, predictor, history, parse_target("consensus", panel))
    weight, sides = predictor.siding()
    return Portrait(
        experts=panel.experts,
        classes=panel.classes,
        classifiers=panel.classifiers,
        cases=len(found.said),
        skill=spread(found.skill(), found.weight),
        siding=spread(sides, weight),
        together=np.einsum("s,shg->hg", weight / weight.sum(), (sides > 0).astype(np.float64)),
        worth=worth(rng, found.groups(rng), len(panel.classes)),
    )


def spread(values: Floats, weight: Floats) -> Floats:
    """Weighted mean over draws and both ends of the central 95 %: (S, ...) to (..., 3); NaN draws are left out.

    >>> spread(np.array([[0.0], [1.0], [np.nan]]), np.array([0.5, 0.5, 0.5])).tolist()
    [[0.5, 0.0, 1.0]]
    """
    there = ~np.isnan(values)
    own = np.where(there, weight.reshape(-1, *(1,) * (values.ndim - 1)), 0.0)
    total = own.sum(axis=0)
    own = np.divide(own, total, out=np.zeros_like(own), where=total > 0)
    mean = np.where(total > 0, (own * np.where(there, values, 0.0)).sum(axis=0), np.nan)
    order = np.argsort(values, axis=0)  # NaN come last
    below = np.cumsum(np.take_along_axis(own, order, axis=0), axis=0)
    last = np.maximum(there.sum(axis=0) - 1, 0)
    ends = []
    for level in LEVELS:
        at = np.minimum((below < level).sum(axis=0), last)
        chosen = np.take_along_axis(order, at[None], axis=0)
        ends.append(np.take_along_axis(values, chosen, axis=0)[0])
    return np.stack([mean, *ends], axis=-1)
