"""Settled cases held against what the whole panel decided: the raw matter of every figure."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.arrays import Floats


@dataclass(frozen=True)
class Scored:
    """One settled case beside the target of all its recorded votes."""

    key: str
    asked: tuple[str, ...]  # experts in the order they were asked
    votes: tuple[str, ...]  # what they voted, in that order
    outcome: str  # what the case was settled as
    probability: float  # the forecast's probability of that outcome when it settled
    stated_error: float
    reason: str  # why asking stopped
    truth: tuple[str, ...]  # outcome of all recorded votes; several where they tie
    error: float  # 0 right, 1 wrong, a share where the truth is a tie
    panel: int  # experts who belonged to the case
    cost: float  # what the votes asked for cost
    panel_cost: float  # what those of everyone would have cost
    rounds: int = 0  # how often votes were waited for; as many as votes where one expert is asked at a time
    forced_asks: int = 0  # queries made only because a forecast was not healthy
    kept: bool = True  # the votes decide, or no more error (or loss) than is allowed was stated
    stated_loss: float | None = None  # the expected loss; None where all outcomes are alike
    loss: float | None = None  # how grave the outcomes are that were missed, a tie by its shares

    @property
    def human_votes(self) -> int:
        """How many people were asked; 0 where no expert saw the case."""
        return len(self.asked)

    @property
    def limited(self) -> bool:
        """Only a limit on votes or the budget kept from asking on."""
        return self.reason in ("limit", "budget")

    @property
    def tied(self) -> bool:
        """The panel itself is undecided: no outcome is fully right."""
        return len(self.truth) > 1


def truth_of(outcomes: tuple[str, ...], shares: Floats) -> tuple[str, ...]:
    """The outcomes that the shares of a target name."""
    return tuple(name for name, share in zip(outcomes, shares.tolist(), strict=True) if share > 0)
