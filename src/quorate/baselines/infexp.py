"""INFEXP, a rival of the paper (section 7.2): how many of a crowd of exchangeable experts must be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from quorate.baselines import crowd
from quorate.baselines.consensus import consensus_only, mean_probabilities, observed, tallies
from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.core.target import Weighted
from quorate.errors import SettingsError

METHOD = "infexp"


@dataclass(frozen=True)
class InfexpOptions:
    """Choices within the method; the defaults are those of its authors' program.

    >>> InfexpOptions(pool="finite").samples
    1000
    """

    pool: Literal["infinite", "finite"] = "infinite"  # the panel samples a large crowd, or is all there is
    exact: bool = False  # integrate instead of sampling; then no forecast is sure before the votes decide
    samples: int = 1000  # draws behind one forecast
    early_samples: int = 100_000  # the same while fewer than `early_queries` votes have been asked for
    early_queries: int = 10
    window: int = 100  # the parameters are learned from so many recent cases with votes
    update_only_when_determined: bool = False  # learn only from cases whose votes determine the consensus

    def __post_init__(self) -> None:
        if self.pool not in ("infinite", "finite"):
            raise SettingsError(f"{METHOD} pool {self.pool!r} is unknown; expected 'infinite' or 'finite'")
        if self.exact and self.pool == "finite":
            raise SettingsError(f"{METHOD}: the exact form is that of the infinite pool; drop exact or the finite pool")
        for name, least in (("samples", 1), ("early_samples", 1), ("early_queries", 0), ("window", 1)):
            if getattr(self, name) < least:
                given = getattr(self, name)
                raise SettingsError(f"{METHOD} {name} = {given} is too small; expected a whole number from {least} on")


@dataclass(frozen=True)
class InfexpPredictor:
    """The crowd's parameters and each expert's observed accuracy, ready to forecast."""

    panel: Panel
    options: InfexpOptions
    parameters: tuple[float, ...]  # (K + 2,) as in `quorate.baselines.crowd`
    accuracy: tuple[float, ...]  # (H,)
    cases: int = 0  # in the history it was made from
    queries: int = 0  # votes in that history
    fitted: int = 0  # votes when the parameters were last searched for

    @property
    def health(self) -> Health:
        """The parameters are a point, not draws: nothing can fail to mix."""
        return Health()

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The consensus: known if the votes determine it, else a forecast of the crowd's largest proportion."""
        aim = consensus_only(METHOD, target)
        classes = len(self.panel.classes)
        row, unasked = case.vote_row(), case.unasked
        p = mean_probabilities(case.probability_rows(classes))
        b = crowd.concentrations(np.array(self.parameters), p) + tallies(row, classes)
        forced = target.forced(row, unasked)
        if forced is None:
            values, joint = self._chances(rng, case, b, aim)
        else:  # without this rule the crowd's largest proportion could contradict the panel's complete vote
            values, joint = forced, np.outer(b / b.sum(), forced)
        named = Forecast(
            outcomes=target.outcomes,
            classes=self.panel.classes,
            values=tuple(float(value) for value in values),
            joint={self.panel.experts[expert]: joint for expert in unasked},
            candidates=tuple(self.panel.experts[expert] for expert in target.relevant(row, unasked)),
            certain=forced is not None,
            accuracy=dict(zip(self.panel.experts, self.accuracy, strict=True)),
        )
        if forced is not None or self.options.exact:
            return named
        noise = float(np.sqrt(named.error * (1 - named.error) / self._samples(case)))
        return replace(named, health=Health(monte_carlo_error=noise))

    def grown(self, panel: Panel) -> InfexpPredictor:
        """The same crowd with more experts, nobody having seen how often they agree."""
        unseen = (_accuracy(np.empty((0, 1), dtype=np.int64), np.empty((0, len(panel.classes)))).item(),)
        return replace(self, panel=panel, accuracy=self.accuracy + unseen * (len(panel.experts) - len(self.accuracy)))

    def _chances(self, rng: np.random.Generator, case: Case, b: Floats, target: Weighted) -> crowd.Chances:
        if self.options.exact:
            return crowd.exact(b)
        samples = self._samples(case)
        if self.options.pool == "infinite":
            return crowd.sampled(rng, b, samples)
        tally = tallies(case.vote_row(), len(self.panel.classes))
        return crowd.completed(rng, b, samples, tally=tally, left=len(case.unasked), target=target)

    def _samples(self, case: Case) -> int:
        early = self.queries + len(case.votes) < self.options.early_queries
        return self.options.early_samples if early else self.options.samples


def every_twenty(cases: int) -> bool:
    """The schedule of the authors' program: after every 20 settled cases.

    >>> [n for n in range(1, 70) if every_twenty(n)]
    [20, 40, 60]
    """
    return cases > 0 and cases % 20 == 0


@dataclass(frozen=True)
class InfexpLearner:
    """Counts how often each expert agreed after every case, and searches for the crowd's parameters now and then."""

    target: Target
    options: InfexpOptions = field(default_factory=InfexpOptions)
    refit: Callable[[int], bool] = every_twenty  # whether to search once so many cases have settled

    def __post_init__(self) -> None:
        consensus_only(METHOD, self.target)

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> InfexpPredictor:
        """The parameters in force or newer ones, beside the accuracies of this history."""
        del rng  # the search is deterministic
        shares = observed(history, consensus_only(METHOD, self.target))  # (N, K)
        votes = history.votes()
        last = previous if isinstance(previous, InfexpPredictor) else None
        before = 0 if last is None else last.cases
        fitted = 0 if last is None else last.fitted
        parameters = tuple(crowd.start(len(history.panel.classes)).tolist()) if last is None else last.parameters
        queries = int((votes >= 0).sum())
        due = any(self.refit(cases) for cases in range(before + 1, len(history) + 1))
        if due and queries != fitted:
            parameters, fitted = self._search(history, shares, parameters), queries
        accuracy = tuple(_accuracy(votes, shares).tolist())
        return InfexpPredictor(history.panel, self.options, parameters, accuracy, len(history), queries, fitted)

    def _search(self, history: History, shares: Floats, before: tuple[float, ...]) -> tuple[float, ...]:
        tally = tallies(history.votes(), len(history.panel.classes))
        teaches = tally.sum(axis=1) > 0
        if self.options.update_only_when_determined:
            teaches &= shares.any(axis=1)
        rows = np.flatnonzero(teaches)
        if not len(rows):
            return before
        recent = rows[-self.options.window :]
        p = mean_probabilities(history.probabilities()[recent])
        # The prior counts as one case among all seen, so it fades although the window stays as long as it is.
        x = crowd.fit(p, tally[recent], before=np.array(before), prior_weight=1 / len(rows))
        return tuple(x.tolist())


def _accuracy(votes: Ints, shares: Floats) -> Floats:
    """Each expert's share of votes that were the consensus, with one of each kind added: (H,)."""
    cast = (votes >= 0) & shares.any(axis=1, keepdims=True)  # (N, H)
    right = np.where(cast, np.take_along_axis(shares, np.maximum(votes, 0), axis=1), 0.0)
    accuracy: Floats = (right.sum(axis=0) + 1) / (cast.sum(axis=0) + 2)
    return accuracy
