"""What a report of a replay is made from: a value that says everything and draws nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from quorate.assurance.bootstrap import Interval
from quorate.assurance.scored import Scored
from quorate.assurance.summary import ClassError, Summary
from quorate.core.arrays import Floats
from quorate.errors import InputError
from quorate.models.portrait import Portrait


@dataclass(frozen=True)
class SamplerFigures:
    """Health of every fit of a replay; R-hat and ESS are None where nothing was sampled."""

    fits: int = 0
    worst_rhat: float | None = None
    worst_ess: float | None = None
    unhealthy_fits: int = 0


@dataclass(frozen=True)
class Timing:
    """Where the time of a replay went."""

    seconds: float
    seconds_fitting: float
    seconds_deciding: float
    decision_p95_ms: float
    updates: tuple[float, ...] = ()  # seconds of each


@dataclass(frozen=True)
class Correlation:
    """Posterior mean correlations of the latent log-ratios, one block of K - 1 for each agent."""

    agents: tuple[str, ...]  # in the order of the blocks
    classes: tuple[str, ...]  # the last one is the base of the log-ratios
    matrix: Floats  # (A(K-1), A(K-1))

    def __post_init__(self) -> None:
        side = len(self.agents) * (len(self.classes) - 1)
        if self.matrix.shape != (side, side):
            raise InputError(
                f"correlations of {len(self.agents)} agents and {len(self.classes)} classes "
                f"have the shape {(side, side)}, got {self.matrix.shape}"
            )

    def by_agent(self) -> Floats:
        """Mean over matching log-ratios, one number for each pair of agents: shape (A, A).

        >>> omega = np.array([[1, 0.1, 0.6, 0], [0.1, 1, 0, 0.2], [0.6, 0, 1, 0.3], [0, 0.2, 0.3, 1]])
        >>> Correlation(("net", "ann"), ("a", "b", "c"), omega).by_agent().round(3).tolist()
        [[1.0, 0.4], [0.4, 1.0]]
        """
        block = len(self.classes) - 1
        split = self.matrix.reshape(len(self.agents), block, len(self.agents), block)
        means: Floats = np.einsum("akbk->ab", split) / block
        return means


@dataclass(frozen=True)
class ReplayReport:
    """One replay: its figures, its cases and what is known about the fits behind them."""

    title: str
    method: str
    settings: Mapping[str, object]  # shown and stored as they are
    summary: Summary
    scored: tuple[Scored, ...]
    experts: tuple[str, ...]
    classes: tuple[str, ...]
    outcomes: tuple[str, ...]
    max_error: float | None = None  # None for a method that does not stop by its stated error
    sampler: SamplerFigures = field(default_factory=SamplerFigures)
    timing: Timing | None = None
    correlation: Correlation | None = None
    portrait: Portrait | None = None
    priced: bool = False  # some votes cost something else than 1
    saved: Interval | None = None  # share of the whole panel's cost
    loss: Mapping[str, float] | None = None  # how grave it is to miss the outcomes that are not like all others

    @property
    def missed(self) -> dict[str, ClassError]:
        """Cases of each outcome that has a loss of its own, and how many of them were settled as another."""
        return {part.outcome: part for part in self.summary.by_outcome if part.outcome in (self.loss or ())}


INTERFACE_SETTINGS = ("preset", "model", "chooser", "schedule", "target")


def figures(report: ReplayReport) -> dict[str, object]:
    """The figures of a replay by their public names, in their public order; None where one does not apply."""
    found, sampler, timing = report.summary, report.sampler, report.timing
    return {
        "cases": found.cases,
        "experts": len(report.experts),
        "classes": len(report.classes),
        "method": report.method,
        **{name: report.settings.get(name) for name in INTERFACE_SETTINGS},
        "max_error": report.max_error,
        "mean_queries": found.mean_queries,
        "error_rate": found.error_rate,
        "errors": found.errors,
        "ties": found.ties,
        "ece": found.ece,
        "stated_error": found.stated_error,
        "queries_first_50": found.queries_first_50,
        "queries_last_50": found.queries_last_50,
        "no_human_share": found.no_human_share,
        "full_panel_queries": found.full_panel_queries,
        "saved_share": found.saved_share,
        "cost": found.cost,
        "seconds": timing.seconds if timing else None,
        "seconds_fitting": timing.seconds_fitting if timing else None,
        "seconds_deciding": timing.seconds_deciding if timing else None,
        "decision_p95_ms": timing.decision_p95_ms if timing else None,
        "fits": sampler.fits,
        "worst_rhat": sampler.worst_rhat,
        "worst_ess": sampler.worst_ess,
        "unhealthy_fits": sampler.unhealthy_fits,
        "forced_asks": found.forced_asks,
        "limited": found.limited,
        "mean_loss": found.mean_loss,
        "stated_loss": found.stated_loss,
        "missed": {name: part.errors for name, part in report.missed.items()} or None,
        "mean_rounds": found.mean_rounds,
    }
