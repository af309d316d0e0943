"""Functions of the votes that a study can aim at: consensus, any, all, at least N, unanimous, weighted, your own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from quorate.core.arrays import Floats, Ints
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.errors import TargetError

LIGHTEST, HEAVIEST = 1e-6, 1e6
"""Weights between which sums are told apart whatever their rounding."""

ENUMERABLE = 20_000
"""Most vote patterns that a question about a target is answered by listing."""


def patterns(row: Ints, unasked: tuple[int, ...], classes: int) -> Ints:
    """Every way the unasked experts can complete a row of votes: shape (K^U, H), last expert fastest.

    >>> patterns(np.array([1, -1]), (1,), 2).tolist()
    [[1, 0], [1, 1]]
    """
    grid = np.indices((classes,) * len(unasked)).reshape(len(unasked), classes ** len(unasked))
    rows = np.repeat(row[None, :], grid.shape[1], axis=0)
    rows[:, list(unasked)] = grid.T
    return rows


def _shared(scores: Floats) -> Floats:
    """The lead shared equally among the leaders of each row."""
    lead = scores == scores.max(axis=-1, keepdims=True)
    shares: Floats = lead / lead.sum(axis=-1, keepdims=True)
    return shares


@dataclass(frozen=True)
class Weighted:
    """The class with most votes; experts may count differently and one class may win ties.

    With equal weights and no tie rule this is the paper's consensus, a tie being shared among its leaders.
    """

    name: str
    outcomes: tuple[str, ...]  # the classes
    weight: tuple[float, ...]  # (H,)
    worst: int | None = None  # the class that wins a tie it is part of

    def grown(self, panel: Panel) -> Weighted:
        """The same target for a panel that has grown: like everyone who is not named, a new expert has weight 1."""
        return replace(self, weight=self.weight + (1.0,) * (len(panel.experts) - len(self.weight)))

    def _tally(self, votes: Ints) -> Floats:
        """Weight behind each class: (..., H) to (..., K)."""
        weight = np.array(self.weight[: votes.shape[-1]])
        tally: Floats = np.stack([((votes == k) * weight).sum(-1) for k in range(len(self.outcomes))], -1)
        return tally

    def weights(self, votes: Ints) -> Floats:
        """Share of each class."""
        shares = _shared(np.round(self._tally(votes), 9))
        if self.worst is not None:
            wins = shares[..., self.worst] > 0
            shares[wins] = np.eye(len(self.outcomes))[self.worst]
        return shares

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        """Decided when the lead is larger than all the weight still out."""
        shares: Floats = self.weights(row)
        left = sum(self.weight[h] for h in unasked)
        if left == 0:
            return shares
        tally = self._tally(row).tolist()
        leader = int(np.argmax(shares))
        best_rival = max(tally[:leader] + tally[leader + 1 :])
        lead = round(tally[leader] - best_rival - left, 9)  # as the shares are rounded: .7 and .1 catch up with .8
        ahead = lead >= 0 if leader == self.worst else lead > 0
        return shares if ahead else None

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        """Unasked experts whose vote can still change the outcome."""
        if self.forced(row, unasked) is not None:
            return ()
        if len({self.weight[h] for h in unasked}) == 1:
            return unasked
        return _relevant_by_listing(self, row, unasked, len(self.outcomes), [h for h in unasked if self.weight[h] > 0])


@dataclass(frozen=True)
class AtLeast:
    """Whether at least so many experts of the case's panel vote for one class; `least` None means all of them."""

    name: str
    class_: int
    least: int | None
    outcomes: tuple[str, ...] = ("no", "yes")

    def weights(self, votes: Ints) -> Floats:
        """Share of no and yes: one of them is 1."""
        needed = (votes >= 0).sum(-1) if self.least is None else self.least
        yes = (votes == self.class_).sum(-1) >= needed
        return np.stack([~yes, yes], axis=-1).astype(np.float64)

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        """Decided when enough have voted for the class, or too few are left to."""
        panel = int((row >= 0).sum()) + len(unasked)
        needed = panel if self.least is None else self.least
        have = int((row == self.class_).sum())
        if have >= needed:
            return np.array([0.0, 1.0])
        return np.array([1.0, 0.0]) if have + len(unasked) < needed else None

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        """All unasked experts unless the outcome is forced: they count alike."""
        return () if self.forced(row, unasked) is not None else unasked


@dataclass(frozen=True)
class Unanimous:
    """Whether the whole panel of the case votes for one class, whichever it is."""

    name: str = "unanimous"
    outcomes: tuple[str, ...] = ("no", "yes")

    def weights(self, votes: Ints) -> Floats:
        """Share of no and yes: one of them is 1."""
        there = votes >= 0
        highest = np.where(there, votes, -1).max(-1)
        yes = (~there | (votes == highest[..., None])).all(-1)
        return np.stack([~yes, yes], axis=-1).astype(np.float64)

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        """Decided by two votes that differ, or when every vote is in."""
        shares: Floats = self.weights(row)
        panel = int((row >= 0).sum()) + len(unasked)
        return shares if not unasked or shares[0] == 1.0 or panel == 1 else None

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        """All unasked experts unless the outcome is forced: they count alike."""
        return () if self.forced(row, unasked) is not None else unasked


Votes = Mapping[str, str]
"""What a target function is given: the class each expert of the case's panel voted for, by name."""


@dataclass(frozen=True)
class FunctionTarget:
    """Any function of the votes; its outcomes are found by listing the patterns unless they are declared.

    >>> panel = Panel(["benign", "malignant"], ["ann", "ben"])
    >>> target = FunctionTarget(lambda votes: "refer" if "malignant" in votes.values() else "discharge", panel)
    >>> target.outcomes
    ('discharge', 'refer')
    """

    function: Callable[[Votes], Hashable]
    panel: Panel
    outcomes: tuple[str, ...]
    name: str
    _seen: dict[tuple[int, ...], int] = field(repr=False, compare=False)

    def __init__(
        self, function: Callable[[Votes], Hashable], panel: Panel, outcomes: Iterable[str] | None = None
    ) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "panel", panel)
        object.__setattr__(self, "name", f"function:{getattr(function, '__name__', 'unnamed')}")
        object.__setattr__(self, "_seen", {})
        object.__setattr__(self, "outcomes", tuple(outcomes) if outcomes is not None else self._list_outcomes())
        if len(set(self.outcomes)) < 2:
            raise TargetError(f"{self.name} has outcomes {self.outcomes}; a target needs at least two that differ")

    def grown(self, panel: Panel) -> FunctionTarget:
        """The same function for a panel that has grown: it is given the new experts' votes too.

        Its outcomes stay; a function that is found to have others with the new experts is refused.
        """
        larger = FunctionTarget(self.function, panel, self.outcomes)
        others = larger._listed() - set(self.outcomes) if larger._listable else set()
        if others:
            joined = ", ".join(panel.experts[len(self.panel.experts) :])
            raise TargetError(
                f"{self.name} gives {', '.join(sorted(others))} once {joined} may vote; its outcomes are "
                f"{', '.join(self.outcomes)}: declare all at the start, FunctionTarget(function, panel, outcomes=[...])"
            )
        return larger

    @property
    def _listable(self) -> bool:
        return bool(len(self.panel.classes) ** len(self.panel.experts) <= ENUMERABLE)

    def _list_outcomes(self) -> tuple[str, ...]:
        if not self._listable:
            raise TargetError(
                f"{self.name}: {len(self.panel.classes)}^{len(self.panel.experts)} vote patterns are too many to list; "
                "declare the values it can take: FunctionTarget(function, panel, outcomes=[...])"
            )
        return tuple(sorted(self._listed()))

    def _listed(self) -> set[str]:
        """Every value of the function for the whole panel."""
        experts = len(self.panel.experts)
        rows = patterns(np.full(experts, -1), tuple(range(experts)), len(self.panel.classes))
        return {self._call(tuple(row)) for row in rows.tolist()}

    def _call(self, row: tuple[int, ...]) -> str:
        named = {self.panel.experts[h]: self.panel.classes[k] for h, k in enumerate(row) if k >= 0}
        return str(self.function(named))

    def _outcome(self, row: tuple[int, ...]) -> int:
        if row not in self._seen:
            value = self._call(row)
            if value not in self.outcomes:
                raise TargetError(f"{self.name} gave {value!r}; its outcomes are {', '.join(self.outcomes)}")
            self._seen[row] = self.outcomes.index(value)
        return self._seen[row]

    def weights(self, votes: Ints) -> Floats:
        """Share of each outcome: one of them is 1."""
        flat = votes.reshape(-1, votes.shape[-1])
        chosen = np.array([self._outcome(tuple(row)) for row in flat.tolist()])
        shares: Floats = np.eye(len(self.outcomes))[chosen].reshape(*votes.shape[:-1], len(self.outcomes))
        return shares

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        """Decided when every completion of the votes gives one outcome; never guessed where they are too many."""
        if len(self.panel.classes) ** len(unasked) > ENUMERABLE:
            return None
        shares = self.weights(patterns(row, unasked, len(self.panel.classes)))
        first: Floats = shares[0]
        return first if (shares == first).all() else None

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        """Unasked experts whose vote can still change the outcome."""
        return _relevant_by_listing(self, row, unasked, len(self.panel.classes), list(unasked))


def _relevant_by_listing(
    target: Target, row: Ints, unasked: tuple[int, ...], classes: int, otherwise: list[int]
) -> tuple[int, ...]:
    """Experts along whose vote the table of outcomes varies; `otherwise` where the table would be too large."""
    if classes ** len(unasked) > ENUMERABLE:
        return tuple(otherwise)
    shares = target.weights(patterns(row, unasked, classes))
    table = shares.reshape((classes,) * len(unasked) + (-1,))
    return tuple(h for axis, h in enumerate(unasked) if (table != np.take(table, [0], axis)).any())


def parse_target(text: str, panel: Panel) -> Target:
    """The target a text names (see docs/targets.md).

    >>> panel = Panel(["normal", "abnormal"], ["ann", "ben", "cho"])
    >>> parse_target("any:abnormal", panel).outcomes
    ('no', 'yes')
    """
    kind, _, rest = text.partition(":")
    everyone = (1.0,) * len(panel.experts)
    if kind == "consensus":
        if not rest:
            return Weighted(text, panel.classes, everyone)
        rule, _, class_ = rest.partition("=")
        if rule == "worst" and class_:
            return Weighted(text, panel.classes, everyone, panel.class_(class_))
    elif kind == "unanimous" and not rest:
        return Unanimous()
    elif kind == "any" and rest:
        return AtLeast(text, panel.class_(rest), 1)
    elif kind == "all" and rest:
        return AtLeast(text, panel.class_(rest), None)
    elif kind == "atleast" and rest:
        return _at_least(text, rest, panel)
    elif kind == "weighted" and rest:
        return _weighted(text, rest, panel)
    raise TargetError(
        f"unknown target {text!r}; expected consensus, consensus:worst=CLASS, any:CLASS, all:CLASS, "
        "atleast:N:CLASS, unanimous or weighted:EXPERT=WEIGHT,..."
    )


def _at_least(text: str, rest: str, panel: Panel) -> AtLeast:
    number, _, class_ = rest.partition(":")
    if not (number.isascii() and number.isdigit()) or not 1 <= int(number) <= len(panel.experts):
        raise TargetError(f"target {text!r}: expected a whole number from 1 to {len(panel.experts)}, got {number!r}")
    if not class_:
        raise TargetError(f"target {text!r} names no class; expected atleast:{number}:CLASS")
    return AtLeast(text, panel.class_(class_), int(number))


def _weighted(text: str, rest: str, panel: Panel) -> Weighted:
    weight = [1.0] * len(panel.experts)
    named = [part.partition("=")[0] for part in rest.split(",")]
    if len(set(named)) < len(named):
        raise TargetError(f"target {text!r} names an expert twice; give each one weight")
    for part in rest.split(","):
        name, _, number = part.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not (value == 0 or LIGHTEST <= value <= HEAVIEST):
            raise TargetError(
                f"target {text!r}: expected EXPERT=WEIGHT with a weight of 0, or from {LIGHTEST:g} to {HEAVIEST:g}, "
                f"got {part!r}"
            )
        weight[panel.expert(name)] = value
    if sum(weight) == 0:
        raise TargetError(f"target {text!r} gives every expert weight 0; at least one must count")
    return Weighted(text, panel.classes, tuple(weight))
