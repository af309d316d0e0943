"""What the panel is expected to decide, how sure that is, and how each unasked expert would vote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from quorate.core.arrays import Floats
from quorate.core.health import Health
from quorate.core.outlook import Outlook


@dataclass(frozen=True)
class Forecast:
    """Outcome probabilities of one case given the votes seen (paper section 5).

    `joint[expert]` is the probability of each vote of an unasked expert together with each outcome,
    shape (K, J): all that a greedy chooser needs. One that looks further ahead goes by the `outlook`.
    """

    outcomes: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[float, ...]  # (J,) probability of each outcome
    joint: Mapping[str, Floats] = field(repr=False, compare=False)  # arrays have no single equality
    candidates: tuple[str, ...]  # unasked experts worth asking: their vote can still change the outcome
    certain: bool = False  # the votes seen force the outcome, or every vote is in
    interval: tuple[float, float] | None = None  # 95 % of the leading outcome's probability over the draws
    health: Health = field(default_factory=Health)
    # How often each expert was seen to agree with the outcome, for choosers that go by it; a dict has no hash.
    accuracy: Mapping[str, float] = field(default_factory=dict, hash=False)
    outlook: Outlook | None = field(default=None, repr=False, compare=False)  # None where only single votes are known
    gravity: tuple[float, ...] | None = None  # (J,) how grave it is to miss each outcome; None where all are alike

    def weighing(self, gravity: tuple[float, ...] | None) -> Forecast:
        """The forecast that leads with the outcome of least expected loss, not the most probable one.

        The interval is that of the new leader, or None where it is not known.

        >>> doubtful = Forecast(("no", "yes"), ("no", "yes"), (0.8, 0.2), {}, (), interval=(0.75, 0.875))
        >>> grave = doubtful.weighing((1.0, 5.0))
        >>> grave.outcome, grave.error, grave.loss, grave.interval
        ('yes', 0.8, 0.8, (0.125, 0.25))
        """
        after = replace(self, gravity=gravity)
        if self.interval is None or after.leader == self.leader:
            return after
        low, high = self.interval
        return replace(after, interval=(1 - high, 1 - low) if len(self.values) == 2 else None)

    @property
    def leader(self) -> int:
        """Index of the most probable outcome, or of that of least expected loss; the first where several lead."""
        ranks = self._ranks
        return ranks.index(max(ranks))

    @property
    def outcome(self) -> str:
        """The most probable outcome, or that of least expected loss."""
        return self.outcomes[self.leader]

    @property
    def leaders(self) -> tuple[str, ...]:
        """Every outcome that shares the lead: more than one is a tie."""
        ranks = self._ranks
        best = max(ranks)
        return tuple(name for name, rank in zip(self.outcomes, ranks, strict=True) if rank == best)

    @property
    def _ranks(self) -> list[tuple[float, float]]:
        """What is at stake with each outcome; where that ties, and where nothing is, the more probable leads."""
        return list(zip(self._stakes, self.values, strict=True))

    @property
    def _stakes(self) -> tuple[float, ...]:
        """Probability of each outcome times how grave it is to miss it."""
        if self.gravity is None:
            return self.values
        return tuple(p * weight for p, weight in zip(self.values, self.gravity, strict=True))

    @property
    def error(self) -> float:
        """The stated error: the summed probability of the other outcomes, not 1 - max."""
        leader = self.leader
        return float(sum(p for j, p in enumerate(self.values) if j != leader))

    @property
    def loss(self) -> float:
        """The expected loss of settling now; where all outcomes are alike, the stated error."""
        leader = self.leader
        return float(sum(stake for j, stake in enumerate(self._stakes) if j != leader))

    @property
    def risks(self) -> dict[str, float]:
        """Expected loss of settling as each outcome, by name."""
        stakes = self._stakes
        return {name: float(sum(stakes[:j] + stakes[j + 1 :])) for j, name in enumerate(self.outcomes)}

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each outcome by name."""
        return dict(zip(self.outcomes, self.values, strict=True))

    @property
    def votes(self) -> dict[str, dict[str, float]]:
        """How each unasked expert would vote: probability of each class by name."""
        return {
            expert: dict(zip(self.classes, map(float, table.sum(axis=1)), strict=True))
            for expert, table in self.joint.items()
        }
