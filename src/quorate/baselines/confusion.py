"""Confusion matrices and calibration, a rival of the paper (section 7.2): experts err independently of each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import softmax

from quorate.baselines.calibration import Likelihood, fit_temperature, log_tempered
from quorate.baselines.consensus import consensus_only, mean_probabilities, observed
from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.protocols import Predictor, Target
from quorate.errors import SettingsError

METHOD = "confusion"


@dataclass(frozen=True)
class ConfusionOptions:
    """Choices within the method; accuracy and strength are those of its authors' program.

    >>> ConfusionOptions(likelihood="mean").accuracy
    0.75
    """

    accuracy: float = 0.75  # of an expert nobody has seen yet
    strength: float = 0.1  # pseudo-votes for each wrong class
    likelihood: Likelihood = "sum"  # of the temperature; the mean never outweighs the prior

    def __post_init__(self) -> None:
        if not 0 < self.accuracy < 1:
            raise SettingsError(
                f"{METHOD} accuracy {self.accuracy:g} is out of range; expected a number between 0 and 1"
            )
        if not 0 < self.strength < float("inf"):
            raise SettingsError(f"{METHOD} strength {self.strength:g} is out of range; expected a number above 0")
        if self.likelihood not in ("sum", "mean"):
            raise SettingsError(f"{METHOD} likelihood {self.likelihood!r} is unknown; expected 'sum' or 'mean'")


@dataclass(frozen=True, eq=False)
class ConfusionPredictor:
    """Each expert's chances to vote for a class given the consensus, and the classifier's temperature."""

    panel: Panel
    matrices: Floats  # (H, K, K): expert, vote, consensus
    temperature: float
    options: ConfusionOptions = field(default_factory=ConfusionOptions)

    @property
    def health(self) -> Health:
        """Nothing was sampled, so nothing can be ill."""
        return Health()

    def grown(self, panel: Panel) -> ConfusionPredictor:
        """The same matrices beside those of experts whom nobody has seen yet."""
        unseen = np.full((0, len(panel.experts) - len(self.matrices)), -1)
        more = confusion_matrices(unseen, np.empty((0, len(panel.classes))), options=self.options)
        return replace(self, panel=panel, matrices=np.concatenate([self.matrices, more]))

    def forecast(self, rng: np.random.Generator, case: Case, target: Target) -> Forecast:
        """The consensus given votes taken for independent hints; that the votes make the consensus is not known to it.

        So it never finds a case certain, and may contradict a complete vote: the method's published flaw.
        """
        del rng  # everything has a closed form
        consensus_only(METHOD, target)
        log_p = log_tempered(mean_probabilities(case.probability_rows(len(self.panel.classes))), self.temperature)
        for expert, vote in case.votes:
            log_p = log_p + np.log(self.matrices[expert, vote])
        p = softmax(log_p)
        unasked = case.unasked
        return Forecast(
            outcomes=target.outcomes,
            classes=self.panel.classes,
            values=tuple(float(value) for value in p),
            joint={self.panel.experts[expert]: self.matrices[expert] * p for expert in unasked},
            candidates=tuple(self.panel.experts[expert] for expert in unasked),
        )


@dataclass(frozen=True)
class ConfusionLearner:
    """Counts votes against the consensus wherever the votes cast determine it."""

    target: Target
    options: ConfusionOptions = field(default_factory=ConfusionOptions)

    def __post_init__(self) -> None:
        consensus_only(METHOD, self.target)

    def update(self, rng: np.random.Generator, history: History, previous: Predictor | None) -> ConfusionPredictor:
        """Matrices and temperature of largest posterior density."""
        del rng, previous  # both are closed or one-dimensional: nothing is drawn, nothing is gained by a warm start
        shares = observed(history, consensus_only(METHOD, self.target))  # (N, K)
        seen = shares.any(axis=1)
        matrices = confusion_matrices(history.votes()[seen], shares[seen], options=self.options)
        p = mean_probabilities(history.probabilities()[seen])
        temperature = fit_temperature(p, shares[seen], likelihood=self.options.likelihood)
        return ConfusionPredictor(history.panel, matrices, temperature, self.options)


def confusion_matrices(votes: Ints, shares: Floats, *, options: ConfusionOptions) -> Floats:
    """Chance of each vote given the consensus, from votes (N, H) and the consensus as shares (N, K): (H, K, K).

    >>> confusion_matrices(np.array([[0]]), np.array([[1.0, 0.0]]), options=ConfusionOptions())[0].round(4).tolist()
    [[0.9286, 0.25], [0.0714, 0.75]]
    """
    classes = shares.shape[1]
    right = options.strength * (classes - 1) * options.accuracy / (1 - options.accuracy)
    prior = np.where(np.eye(classes, dtype=bool), right, options.strength)
    said = votes[:, :, None] == np.arange(classes)  # (N, H, K); a vote not cast is nowhere True
    counts = np.einsum("nha,nk->hak", said.astype(np.float64), shares) + prior
    matrices: Floats = counts / counts.sum(axis=1, keepdims=True)
    return matrices
