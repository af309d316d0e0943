"""The figures of a replay: what was asked, what was saved, how often it was wrong and what was stated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from quorate.assurance.calibration import expected_calibration_error
from quorate.assurance.scored import Scored
from quorate.errors import InputError

EDGE = 50
"""Cases at either end of a replay whose queries are compared (the paper's table 2)."""

WINDOW = 25
"""Cases behind each point of the running mean of queries."""


def exact_interval(errors: int, cases: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval of a rate seen as `errors` of `cases`; it covers at least `level`.

    >>> [round(end, 4) for end in exact_interval(0, 100)], [round(end, 4) for end in exact_interval(1, 250)]
    ([0.0, 0.0362], [0.0001, 0.0221])
    """
    if cases == 0:
        return 0.0, 1.0
    tail = (1.0 - level) / 2.0
    low = 0.0 if errors == 0 else float(betaincinv(errors, cases - errors + 1, tail))
    high = 1.0 if errors == cases else float(betaincinv(errors + 1, cases - errors, 1.0 - tail))
    return low, high


def running_mean(values: Sequence[float], window: int = WINDOW) -> tuple[float, ...]:
    """Mean of the last `window` values at each point, of all so far where there are fewer.

    >>> running_mean([4, 2, 0, 1], window=2)
    (4.0, 3.0, 1.0, 0.5)
    """
    totals = np.concatenate([[0.0], np.cumsum(np.asarray(values, dtype=np.float64))])
    last = np.arange(1, len(totals))
    first = np.maximum(last - window, 0)
    return tuple(((totals[last] - totals[first]) / (last - first)).tolist())


@dataclass(frozen=True)
class ClassError:
    """Cases whose truth is one outcome, and how many of them were settled as another; ties are left out."""

    outcome: str
    cases: int
    errors: int

    @property
    def rate(self) -> float | None:
        """Share of the cases that were wrong; None where there is no case."""
        return self.errors / self.cases if self.cases else None

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval of that share."""
        return exact_interval(self.errors, self.cases)


@dataclass(frozen=True)
class Asked:
    """How often one expert was asked, split by the place in the order: first, second, third ..."""

    expert: str
    places: tuple[int, ...]  # as many as the longest run of queries
    share_of_queries: float

    @property
    def cases(self) -> int:
        """In how many cases the expert was asked at all."""
        return sum(self.places)


@dataclass(frozen=True)
class Summary:
    """What a replay came to; every figure is over all its cases unless it says otherwise."""

    cases: int
    mean_queries: float
    error_rate: float  # mean expected error, a tie counting as its share
    errors: int  # cases without a tie that were settled as something else than the truth
    ties: int  # cases where the whole panel is undecided
    ece: float
    stated_error: float
    queries_first_50: float
    queries_last_50: float
    no_human: int  # cases settled without any human vote
    no_human_share: float
    full_panel_queries: float  # votes of everyone, a case
    full_panel_votes: int  # and in all
    full_panel_cost: float  # what they would have cost
    saved_share: float  # of that cost
    votes: int  # in all
    cost: float  # of these votes
    mean_rounds: float  # how often votes were waited for, a case
    forced_asks: int
    limited: int  # cases that only a limit on votes or the budget kept from asking on
    unsure: int  # those of them that were not sure enough to settle
    mean_loss: float | None  # None where all outcomes are alike, like the next
    stated_loss: float | None
    by_outcome: tuple[ClassError, ...]
    by_expert: tuple[Asked, ...]
    running_queries: tuple[float, ...]  # one a case

    @property
    def decided(self) -> int:
        """Cases that the whole panel decides: those without a tie."""
        return self.cases - self.ties

    @property
    def error_interval(self) -> tuple[float, float]:
        """Exact 95 % interval of the error rate over the cases without a tie."""
        return exact_interval(self.errors, self.decided)


def summarise(scored: Sequence[Scored], *, experts: Sequence[str], outcomes: Sequence[str]) -> Summary:
    """The figures of settled cases held against the truth; `experts` and `outcomes` fix the order of the parts.

    >>> right = Scored("a", ("ann",), ("yes",), "yes", 0.99, 0.01, "sure", ("yes",), 0.0, 3, 2.0, 4.0)
    >>> wrong = Scored("b", (), (), "yes", 0.95, 0.05, "sure", ("no",), 1.0, 3, 0.0, 4.0)
    >>> found = summarise([right, wrong], experts=["ann", "ben", "cho"], outcomes=["no", "yes"])
    >>> found.cost, found.full_panel_cost, found.errors, found.no_human_share
    (2.0, 8.0, 1, 0.5)
    """
    if not scored:
        raise InputError("there is no settled case to summarise; expected at least one")
    queries = [case.human_votes for case in scored]
    votes, everyone = sum(queries), sum(case.panel for case in scored)
    cost, whole = math.fsum(case.cost for case in scored), math.fsum(case.panel_cost for case in scored)
    number = len(scored)
    no_human = queries.count(0)
    return Summary(
        cases=number,
        mean_queries=votes / number,
        error_rate=_mean([case.error for case in scored]),
        errors=sum(is_wrong(case) for case in scored),
        ties=sum(case.tied for case in scored),
        ece=expected_calibration_error([case.probability for case in scored], [1.0 - case.error for case in scored]),
        stated_error=_mean([case.stated_error for case in scored]),
        queries_first_50=_mean(queries[:EDGE]),
        queries_last_50=_mean(queries[-EDGE:]),
        no_human=no_human,
        no_human_share=no_human / number,
        full_panel_queries=everyone / number,
        full_panel_votes=everyone,
        full_panel_cost=whole,
        saved_share=1.0 - cost / whole if whole else 0.0,
        votes=votes,
        cost=cost,
        mean_rounds=_mean([case.rounds for case in scored]),
        forced_asks=sum(case.forced_asks for case in scored),
        limited=sum(case.limited for case in scored),
        unsure=sum(case.limited and not case.kept for case in scored),
        mean_loss=_mean_if_any([case.loss for case in scored]),
        stated_loss=_mean_if_any([case.stated_loss for case in scored]),
        by_outcome=tuple(_class_error(name, scored) for name in outcomes),
        by_expert=tuple(_asked(name, scored, max(queries), votes) for name in experts),
        running_queries=running_mean(queries),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _mean_if_any(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return _mean(found) if found else None


def is_wrong(case: Scored) -> bool:
    """Whether a case that the panel decides was settled as something else, or left to a coin."""
    return not case.tied and case.error > 0


def _class_error(outcome: str, scored: Sequence[Scored]) -> ClassError:
    here = [case for case in scored if case.truth == (outcome,)]
    return ClassError(outcome, len(here), sum(is_wrong(case) for case in here))


def _asked(expert: str, scored: Sequence[Scored], places: int, votes: int) -> Asked:
    counts = [0] * places
    for case in scored:
        for place, name in enumerate(case.asked):
            counts[place] += name == expert
    return Asked(expert, tuple(counts), sum(counts) / votes if votes else 0.0)
