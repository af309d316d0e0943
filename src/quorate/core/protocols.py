"""The seams between the layers: what a model, a chooser, a stopper and a target must offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel


class Target(Protocol):
    """A function of the panel's votes (the paper's f), with what quorate must know about it."""

    @property
    def name(self) -> str:
        """The text that `parse_target` reads back."""

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The values the function can take."""

    def weights(self, votes: Ints) -> Floats:
        """Share of each outcome for whole rows of votes, -1 = not on the panel: (P, H) to (P, J).

        Rows may end early: who comes after their end is not on the panel.
        """

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        """Shares (J,) if the votes seen already decide them, else None."""

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        """The unasked experts whose vote can still change the outcome."""


class Predictor(Protocol):
    """What was learned, ready to forecast; a frozen value."""

    @property
    def health(self) -> Health:
        """Whether the fit behind it may be trusted."""

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """Forecast of the target given the votes seen; the same generator and case give the same answer."""


@runtime_checkable
class Refinable(Protocol):
    """A predictor that can be made less noisy at some cost."""

    def refined(self) -> Predictor | None:
        """The same knowledge with less noise; None where there is no more to be had."""


@runtime_checkable
class Growable(Protocol):
    """A target or a predictor that goes on by itself when its panel grows.

    Without it a target stays as it is, and the prior stands in for a predictor until the next fit.
    """

    def grown(self, panel: Panel) -> Self:
        """The same for a panel to which experts or classifiers were added at the end, of whom nothing is known."""


class Learner(Protocol):
    """Turns settled cases into a predictor."""

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> Predictor:
        """A value of (rng, history, previous) for the history's panel; may start warm from `previous`.

        The panel of `previous` may be smaller: experts and classifiers are only ever added, at the end.
        """


class Chooser(Protocol):
    """Scores the candidates for the next query: the largest is asked."""

    def score(self, rng: np.random.Generator, choice: Choice) -> Mapping[str, float]:
        """What the vote of each candidate is worth by itself."""

    def measure(self, *, weighed: bool) -> str:
        """What the scores are in, with costs weighed or without."""


@runtime_checkable
class Joint(Chooser, Protocol):
    """A chooser that knows what votes are worth together, from the outlook of a forecast."""

    def together(self, choice: Choice, batches: Sequence[tuple[str, ...]]) -> list[float]:
        """What the votes of each batch of candidates are worth, on top of those that are pending."""


class Stopper(Protocol):
    """Says when a forecast is sure enough."""

    def settled(self, case: Case, forecast: Forecast) -> bool:
        """Whether to stop asking about this case."""

    def wanted(self, case: Case) -> int | None:
        """How many more votes it takes to stop; None where that depends on what they say."""

    def doubt(self, forecast: Forecast) -> str | None:
        """Why a forecast is too noisy to stop by, or None."""
