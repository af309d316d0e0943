"""What the panel is expected to decide, how sure that is, and how each unasked expert would vote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

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

    @property
    def leader(self) -> int:
        """Index of the most probable outcome; the first of them where several lead."""
        return int(np.argmax(self.values))

    @property
    def outcome(self) -> str:
        """The most probable outcome."""
        return self.outcomes[self.leader]

    @property
    def leaders(self) -> tuple[str, ...]:
        """Every outcome that shares the largest probability: more than one is a tie."""
        best = self.values[self.leader]
        return tuple(name for name, p in zip(self.outcomes, self.values, strict=True) if p == best)

    @property
    def error(self) -> float:
        """The stated error: the summed probability of the other outcomes, not 1 - max."""
        leader = self.leader
        return float(sum(p for j, p in enumerate(self.values) if j != leader))

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
