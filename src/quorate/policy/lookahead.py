"""Whom to ask next: the expert with whom a case is expected to settle at the least cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.choice import Choice
from quorate.core.outlook import Outlook
from quorate.policy.cost import per_cost
from quorate.policy.information import InformationGain, information
from quorate.policy.settle_costs import costs_to_settle, later_about, later_exactly, two_votes_deep
from quorate.policy.settling import TIE
from quorate.policy.stopping import Rule
from quorate.policy.votes import outlook_of

STATES = 20_000
"""Most sets of votes, seen or not, over which the cost to settle is computed exactly."""

ERROR = 1.0
"""What it costs to settle with all the error that is allowed, in votes of the mean price; in proportion with less."""


@dataclass(frozen=True)
class Lookahead:
    """Scores each candidate by minus the expected cost to settle the case if its vote is asked for first.

    The error that a case settles with is part of its cost: else votes that bring it just below what is allowed would be
    worth as much as votes that leave no doubt. Exact by dynamic programming for small panels, two votes deep for large
    ones. Where costs tie, the vote that tells most for its cost is asked for: up to 1e-6 of the largest cost is added
    for what it tells.
    """

    rule: Rule
    error: float = ERROR  # what all the error that is allowed counts for, in votes of the mean price

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """Minus the expected cost to settle, that of the candidate's vote included; a vote costs 1 without costs."""
        del rng  # the forecast says it all
        outlook, experts = outlook_of(choice), choice.candidates
        gains = per_cost(information(choice.forecast, experts), choice.costs)
        price = _prices(choice, experts)
        if _small(outlook, experts):
            spent = costs_to_settle(self.rule, outlook.among(experts), price, self._toll(choice))
        else:
            told = np.array(list(gains.values()))
            spent = two_votes_deep(self.rule, outlook, experts, price, told, self._toll(choice))
        most = max(gains.values())
        scale = TIE * float(price.max()) / most if most > 0 else 0.0
        return {expert: scale * gain - float(cost) for (expert, gain), cost in zip(gains.items(), spent, strict=True)}

    def together(self, choice: Choice, batches: Sequence[tuple[str, ...]]) -> list[float]:
        """Minus the expected cost to settle if each batch is asked for now, and after it the best expert at a time.

        The votes of the batch are paid for, pending ones were.
        """
        outlook, known = outlook_of(choice), (*choice.pending, *choice.candidates)
        told = InformationGain().together(choice, batches)
        most = max(told, default=0.0)
        price = _prices(choice, known)
        scale = TIE * float(price.max()) / most if most > 0 else 0.0
        ahead = later_exactly if _small(outlook, known) else later_about
        later = ahead(self.rule, outlook, known, price, self._toll(choice))
        found = []
        for batch, gain in zip(batches, told, strict=True):
            asked = [known.index(expert) for expert in batch]
            coming = list(range(len(choice.pending)))
            found.append(scale * gain - float(price[asked].sum()) - later(coming + asked))
        return found

    def _toll(self, choice: Choice) -> float:
        """What it costs to settle with all the error that is allowed."""
        return self.error * (1.0 if choice.costs is None else float(np.mean(list(choice.costs.values()))))

    def measure(self, *, weighed: bool) -> str:
        """A cost, or a number of votes."""
        return f"minus expected {'cost' if weighed else 'votes'} to settle, error left included"


def _prices(choice: Choice, experts: tuple[str, ...]) -> Floats:
    costs = choice.costs
    return np.array([1.0 if costs is None else costs[expert] for expert in experts], dtype=np.float64)


def _small(outlook: Outlook, experts: tuple[str, ...]) -> bool:
    return outlook.whole and (outlook.classes + 1) ** len(experts) <= STATES
