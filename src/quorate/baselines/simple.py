"""Methods without a model of the experts: the votes seen, or the classifiers, stand for the whole panel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Learner, Predictor, Target


@dataclass(frozen=True)
class VotesSoFar:
    """Takes the experts who have voted for the whole panel: `majority:N`, `until-determined` and `all`.

    It states no doubt of its own: with three equal votes of five it gives their outcome probability 1.
    """

    panel: Panel
    on: bool = False  # True: ask on even where the votes seen already decide

    @property
    def health(self) -> Health:
        """Nothing was sampled, so nothing can be ill."""
        return Health()

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The target of the votes seen."""
        del rng  # nothing is sampled
        row, unasked = case.vote_row(), case.unasked
        certain = not unasked if self.on else target.forced(row, unasked) is not None
        ask = unasked if self.on else target.relevant(row, unasked)
        nothing = np.full(len(target.outcomes), 1 / len(target.outcomes))
        return _plain(self.panel, target, target.weights(row) if case.votes else nothing, ask, certain=certain)


@dataclass(frozen=True)
class ClassifierAlone:
    """Takes the mean of the classifiers' probabilities for the chance that every expert votes for a class."""

    panel: Panel

    @property
    def health(self) -> Health:
        """Nothing was sampled, so nothing can be ill."""
        return Health()

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The target of a panel that votes as one."""
        del rng  # nothing is sampled
        classes = len(self.panel.classes)
        rows = case.probability_rows(classes)
        there = ~np.isnan(rows).any(axis=1)
        p = rows[there].mean(axis=0) if there.any() else np.full(classes, 1 / classes)
        as_one = np.where(np.array(case.available), np.arange(classes)[:, None], -1)  # (K, H)
        return _plain(self.panel, target, p @ target.weights(as_one), case.unasked, certain=False)


def _plain(panel: Panel, target: Target, values: Floats, ask: tuple[int, ...], *, certain: bool) -> Forecast:
    return Forecast(
        outcomes=target.outcomes,
        classes=panel.classes,
        values=tuple(float(p) for p in values),
        joint={},
        candidates=tuple(panel.experts[expert] for expert in ask),
        certain=certain,
    )


@dataclass(frozen=True)
class Unlearning:
    """A learner that always gives the same predictor, for whatever the panel is by then."""

    predictor: VotesSoFar | ClassifierAlone

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """The one predictor there is."""
        del rng, previous  # there is nothing to learn
        return replace(self.predictor, panel=history.panel)


@dataclass(frozen=True)
class Guided:
    """Votes seen stand for the panel, but a model of the experts says whose vote tells most."""

    votes: VotesSoFar
    model: Predictor

    @property
    def health(self) -> Health:
        """That of the model, which chooses but does not decide."""
        return self.model.health

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The target of the votes seen, with how the model expects the others to vote."""
        told = self.model.forecast(rng, case, target)
        return replace(self.votes.forecast(rng, case, target), joint=told.joint, outlook=told.outlook)


@dataclass(frozen=True)
class GuidedLearner:
    """Learns the model that guides the choice."""

    votes: VotesSoFar
    learner: Learner

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """The votes seen beside a newer model."""
        model = previous.model if isinstance(previous, Guided) else None
        return Guided(replace(self.votes, panel=history.panel), self.learner.update(rng, history, model))
