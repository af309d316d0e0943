"""The votes of some experts together with the outcome, from an outlook."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.choice import Choice
from quorate.core.outlook import Outlook
from quorate.errors import SettingsError


def outlook_of(choice: Choice) -> Outlook:
    """The outlook of a choice's forecast, where it has one."""
    found = choice.forecast.outlook
    if found is None:
        raise SettingsError("a chooser that looks ahead needs a model that knows how all experts vote together")
    return found


def given_votes(joint: Floats) -> Floats:
    """Outcome probabilities after each vote, from masses (..., J) that need not sum to 1; 0 where a vote has no mass.

    >>> given_votes(np.array([[0.125, 0.375], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    total = joint.sum(axis=-1, keepdims=True)
    values: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return values


def votes_of(outlook: Outlook, experts: Sequence[str]) -> Floats:
    """Masses of the ways in which some experts may vote, each with each outcome: (R, J).

    Every way that has a mass is there once, in order, the last expert fastest. Where the outlook is a sample, a way
    that was drawn once would look certain: its outcome is mixed with what the votes before the last one say, which
    counts as much as one row of the sample.

    >>> even = Outlook(("ann", "ben"), np.array([[0, 0], [0, 1], [1, 1]]), np.full((3, 1), 0.25), whole=True)
    >>> votes_of(even, ["ann"]).tolist(), votes_of(even, []).tolist()
    ([[0.5], [0.25]], [[0.75]])
    """
    rows, outcomes = outlook.mass.shape
    classes = int(outlook.votes.max(initial=0)) + 1
    codes = np.zeros(rows, dtype=np.int64)
    before: Floats = np.zeros((1, outcomes))  # outcome probabilities of the ways so far
    place = codes
    masses: Floats = outlook.mass.sum(axis=0, keepdims=True)
    for expert in experts:
        before, coarse = given_votes(masses), place
        codes = codes * classes + outlook.votes[:, outlook.experts.index(expert)]
        ways, first, place = np.unique(codes, return_index=True, return_inverse=True)
        masses = np.array([np.bincount(place, outlook.mass[:, j], len(ways)) for j in range(outcomes)]).T
        if not outlook.whole:
            total = masses.sum(axis=1, keepdims=True)
            masses = total * given_votes(masses + before[coarse[first]] / rows)
    return masses
