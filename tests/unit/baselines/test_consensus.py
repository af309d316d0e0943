"""What past votes show of the consensus, against a listing of every way they could go on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from quorate.baselines.consensus import consensus_only, mean_probabilities, observed
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.target import FunctionTarget, Weighted, parse_target, patterns
from quorate.errors import SettingsError

PANEL = Panel(["a", "b", "c"], ["ann", "ben", "cho", "dan"], ["net"])


def every_case() -> list[Case]:
    """Each way four experts can be absent (-2), unasked (-1) or cast a vote, one of them at least having voted."""
    cases = []
    for n, row in enumerate(product((-2, -1, 0, 1, 2), repeat=4)):
        if max(row) >= 0:
            votes = tuple((h, vote) for h, vote in enumerate(row) if vote >= 0)
            cases.append(Case(str(n), (None,), tuple(state > -2 for state in row), votes))
    return cases


@pytest.mark.parametrize("name", ["consensus", "consensus:worst=b"])
def test_determined_is_what_no_further_vote_can_change(name: str) -> None:
    target = parse_target(name, PANEL)
    assert isinstance(target, Weighted)
    cases = every_case()
    shares = observed(History(PANEL, tuple(cases)), target)
    for case, found in zip(cases, shares, strict=True):
        possible = target.weights(patterns(case.vote_row(), case.unasked, 3))
        expected = possible[0] if (possible == possible[0]).all() else np.zeros(3)
        assert found.tolist() == expected.tolist(), case
        forced = target.forced(case.vote_row(), case.unasked)
        assert found.tolist() == (np.zeros(3) if forced is None else forced).tolist()


def test_no_history_shows_nothing() -> None:
    target = parse_target("consensus", PANEL)
    assert isinstance(target, Weighted)
    assert observed(History(PANEL), target).shape == (0, 3)
    unvoted = Case("1", (None,), (True,) * 4)
    assert observed(History(PANEL, (unvoted,)), target).tolist() == [[0, 0, 0]]


def test_several_classifiers_are_averaged_and_none_is_uniform() -> None:
    gone = [np.nan] * 3
    rows = np.array([[[0.2, 0.8, 0.0], [0.4, 0.2, 0.4]], [[0.2, 0.8, 0.0], gone], [gone, gone]])
    assert mean_probabilities(rows) == pytest.approx(np.array([[0.3, 0.5, 0.2], [0.2, 0.8, 0.0], [1 / 3] * 3]))


@pytest.mark.parametrize("name", ["any:a", "all:b", "atleast:2:a", "unanimous", "weighted:ann=2"])
def test_other_targets_are_refused_by_name(name: str) -> None:
    with pytest.raises(
        SettingsError, match=f"method 'infexp' forecasts the consensus only, and the target is '{name}'"
    ):
        consensus_only("infexp", parse_target(name, PANEL))


def test_a_function_is_refused_and_equal_weights_are_the_consensus() -> None:
    with pytest.raises(SettingsError, match="method 'confusion' forecasts the consensus only"):
        consensus_only("confusion", FunctionTarget(lambda votes: len(set(votes.values())), PANEL))
    equal = parse_target("weighted:ann=2,ben=2,cho=2,dan=2", PANEL)
    assert consensus_only("infexp", equal) is equal
