"""How the experts who were not asked yet may vote, all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from quorate.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Outlook:
    """Ways in which the unasked experts may vote, and how probable each is together with each outcome.

    >>> import numpy as np
    >>> even = Outlook(("ann",), np.array([[0], [1]]), np.array([[0.5, 0.0], [0.0, 0.5]]), whole=True)
    >>> even.among(("ann",)).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    experts: tuple[str, ...]  # (U,)
    votes: Ints  # (R, U) a way to vote a row
    mass: Floats  # (R, J) summing to 1
    whole: bool  # every way once and in order, the last expert fastest; else a sample, in which a way may come twice

    @property
    def classes(self) -> int:
        """How many classes there are, where every way is there: in the last of them all vote for the last class."""
        return int(self.votes[-1].max(initial=0)) + 1

    def among(self, experts: tuple[str, ...]) -> Floats:
        """The masses of all ways in which some of the experts may vote, in their order; the others may vote anyhow.

        Only where every way is there.
        """
        outcomes = self.mass.shape[1]
        tensor = self.mass.reshape((self.classes,) * len(self.experts) + (outcomes,))
        kept = [self.experts.index(expert) for expert in experts]
        others = tuple(axis for axis in range(len(self.experts)) if axis not in kept)
        left = tensor.sum(axis=others) if others else tensor
        order = [sorted(kept).index(axis) for axis in kept]
        return left.transpose([*order, len(kept)]).reshape(-1, outcomes)
