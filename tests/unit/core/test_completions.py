"""What a target makes of the votes seen is remembered where it lasts, and asked for each time where it may not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from quorate.core.arrays import Floats, Ints
from quorate.core.completions import LARGEST, _known_completion, completion, standing
from quorate.core.panel import Panel
from quorate.core.protocols import Target
from quorate.core.target import FunctionTarget, Votes, parse_target, patterns

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"])
NOBODY_YET = np.full(3, -1)


class Changing:
    """At least so many say yes; how many may change, and the shares are in memory of its own."""

    name = "changing"
    outcomes = ("no", "yes")

    def __init__(self, least: int) -> None:
        self.least = least
        self._shares = np.empty((8, 2))

    def weights(self, votes: Ints) -> Floats:
        yes = (votes == 1).sum(-1) >= self.least
        shares = self._shares[: len(votes)]
        shares[:, 0], shares[:, 1] = ~yes, yes
        return shares

    def forced(self, row: Ints, unasked: tuple[int, ...]) -> Floats | None:
        return None

    def relevant(self, row: Ints, unasked: tuple[int, ...]) -> tuple[int, ...]:
        return unasked


@dataclass
class Most:
    """A function of the votes that is equal to others, and has no hash."""

    least: int

    def __call__(self, votes: Votes) -> str:
        return "many" if [*votes.values()].count("yes") >= self.least else "few"


@pytest.mark.parametrize("name", ["consensus", "any:yes", "atleast:2:no", "unanimous", "weighted:ann=2"])
@pytest.mark.parametrize("row", [(-1, -1, -1), (1, -1, -1), (1, -1, 0), (1, 1, -1)])
def test_what_is_remembered_is_what_the_target_says(name: str, row: tuple[int, ...]) -> None:
    target, votes = parse_target(name, PANEL), np.array(row)
    unasked = tuple(int(h) for h in np.flatnonzero(votes < 0))
    ways = patterns(votes, unasked, 2)
    for _ in range(2):
        found, stands = completion(target, votes, unasked, 2), standing(target, votes, unasked)
        assert (found.votes == ways).all()
        assert (found.weights == target.weights(ways)).all()
        assert (found.possible == (target.weights(ways) > 0).any(axis=0)).all()
        forced = target.forced(votes, unasked)
        assert [*(() if stands.forced is None else stands.forced)] == [*(() if forced is None else forced)]
        assert stands.relevant == target.relevant(votes, unasked)


def test_nobody_can_write_what_is_remembered() -> None:
    found = completion(parse_target("consensus", PANEL), NOBODY_YET, (0, 1, 2), 2)
    for array in found:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_targets_of_others_are_asked_each_time_and_keep_their_memory() -> None:
    target: Target = Changing(1)
    before = completion(target, NOBODY_YET, (0, 1, 2), 2).weights.sum(axis=0).tolist()
    target.least = 3  # type: ignore[attr-defined]
    after = completion(target, NOBODY_YET, (0, 1, 2), 2).weights.sum(axis=0).tolist()
    assert (before, after) == ([1.0, 7.0], [7.0, 1.0])


def test_a_function_without_a_hash_is_a_target_like_any_other() -> None:
    target = FunctionTarget(Most(2), PANEL)
    assert completion(target, NOBODY_YET, (0, 1, 2), 2).weights.sum(axis=0).tolist() == [4.0, 4.0]
    assert standing(target, np.array([1, 1, -1]), (2,)).forced is not None


def test_what_is_large_is_not_remembered() -> None:
    panel = Panel(["no", "yes"], [f"expert {number}" for number in range(200)])
    target, before = parse_target("consensus", panel), _known_completion.cache_info().currsize
    row = np.full(200, -1)
    assert 2**10 * len(row) > LARGEST
    assert len(completion(target, row, tuple(range(10)), 2).votes) == 2**10
    assert _known_completion.cache_info().currsize == before
