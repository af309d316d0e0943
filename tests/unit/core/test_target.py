"""Targets against brute force over every pattern of votes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.core.panel import Panel
from quorate.core.protocols import Growable, Target
from quorate.core.target import FunctionTarget, Votes, parse_target, patterns
from quorate.errors import InputError, PanelError, TargetError

CLASSES = ["a", "b", "c"]
EXPERTS = ["ann", "ben", "cho", "dan"]
PANEL = Panel(CLASSES, EXPERTS)


def brute(name: str, votes: dict[str, str]) -> dict[str, float]:
    """The target of some votes by its definition, one vote at a time."""
    kind = name.partition(":")[0]
    if kind in ("consensus", "weighted"):
        given = dict(part.split("=") for part in name.partition(":")[2].split(",")) if kind == "weighted" else {}
        weights = {expert: Fraction(given.get(expert, "1")) for expert in EXPERTS}
        tally: dict[str, Fraction] = dict.fromkeys(CLASSES, Fraction(0))
        for expert, vote in votes.items():
            tally[vote] += weights[expert]
        best = max(tally[c] for c in CLASSES)
        leaders = [c for c in CLASSES if tally[c] == best]
        if name == "consensus:worst=b" and "b" in leaders:
            leaders = ["b"]
        return {c: 1 / len(leaders) if c in leaders else 0.0 for c in CLASSES}
    yes = {
        "any:b": "b" in votes.values(),
        "all:b": set(votes.values()) == {"b"},
        "atleast:2:c": list(votes.values()).count("c") >= 2,
        "unanimous": len(set(votes.values())) == 1,
    }[name]
    return {"no": float(not yes), "yes": float(yes)}


NAMES = [
    "weighted:ann=.8,ben=.7,cho=.1,dan=.3",
    "consensus",
    "consensus:worst=b",
    "weighted:ann=2,ben=0,cho=1.5",
    "any:b",
    "all:b",
    "atleast:2:c",
    "unanimous",
]


def named(row: tuple[int, ...]) -> dict[str, str]:
    return {EXPERTS[h]: CLASSES[k] for h, k in enumerate(row) if k >= 0}


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_the_definition_on_every_pattern(name: str) -> None:
    target = parse_target(name, PANEL)
    rows = [row for row in product(range(-1, 3), repeat=4) if any(k >= 0 for k in row)]
    shares = target.weights(np.array(rows))
    for row, share in zip(rows, shares, strict=True):
        assert dict(zip(target.outcomes, share.tolist(), strict=True)) == pytest.approx(brute(name, named(row)))


def own(votes: Votes) -> str:
    return "split" if len(set(votes.values())) > 2 else max(votes.values())


def all_targets() -> list[Target]:
    return [parse_target(name, PANEL) for name in NAMES] + [FunctionTarget(own, PANEL)]


@pytest.mark.parametrize("target", all_targets(), ids=lambda target: target.name)
def test_forced_and_relevant_are_what_listing_every_completion_says(target: Target) -> None:
    for panel in product([True, False], repeat=4):
        if not any(panel):
            continue
        for row in product(range(-1, 3), repeat=4):
            if any(k >= 0 and not there for k, there in zip(row, panel, strict=True)):
                continue
            unasked = tuple(h for h in range(4) if panel[h] and row[h] < 0)
            table = target.weights(patterns(np.array(row), unasked, 3))
            forced = target.forced(np.array(row), unasked)
            if (table == table[0]).all():
                assert forced is not None
                assert forced.tolist() == table[0].tolist()
                assert target.relevant(np.array(row), unasked) == ()
            else:
                assert forced is None
                shaped = table.reshape((3,) * len(unasked) + (-1,))
                matter = [h for axis, h in enumerate(unasked) if np.ptp(shaped, axis=axis).any()]
                assert list(target.relevant(np.array(row), unasked)) == matter


@given(st.integers(2, 4), st.lists(st.integers(0, 3), min_size=1, max_size=6), st.randoms())
def test_consensus_does_not_depend_on_the_order_of_experts_or_classes(
    classes: int, votes: list[int], random: Random
) -> None:
    row = np.array([vote % classes for vote in votes])
    panel = Panel([f"c{k}" for k in range(classes)], [f"e{h}" for h in range(len(row))])
    target = parse_target("consensus", panel)
    relabel = np.array(random.sample(range(classes), classes))
    moved = np.random.default_rng(0).permutation(row)
    assert target.weights(row).tolist() == target.weights(moved).tolist()
    assert target.weights(relabel[row])[relabel].tolist() == target.weights(row).tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mode", "unknown target 'mode'; expected consensus"),
        ("consensus:best=a", "unknown target"),
        ("any:", "unknown target 'any:'"),
        ("any:z", "no class 'z'; the panel has a, b, c"),
        ("atleast:9:a", "from 1 to 4, got '9'"),
        ("atleast:x:a", "from 1 to 4, got 'x'"),
        ("atleast:2", "names no class"),
        ("weighted:zed=1", "no expert 'zed'; the panel has ann, ben, cho, dan"),
        ("weighted:ann=-1", "a weight of 0, or from"),
        ("weighted:ann=x", "a weight of 0, or from"),
        ("weighted:ann=1e308", "a weight of 0, or from"),
        ("weighted:ann=nan", "a weight of 0, or from"),
        ("weighted:ann=1,ann=2", "names an expert twice"),
        ("atleast:²:a", "from 1 to 4, got '²'"),
        ("weighted:ann=0,ben=0,cho=0,dan=0", "at least one must count"),
    ],
)
def test_a_bad_target_names_what_was_expected(name: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_target(name, PANEL)
    assert isinstance(error.value, (TargetError, PanelError))
    assert message in str(error.value)


def test_a_function_must_keep_to_its_outcomes() -> None:
    target = FunctionTarget(lambda votes: votes["ann"], PANEL, outcomes=["a", "b"])
    assert target.weights(np.array([0, 2, 2, 2])).tolist() == [1.0, 0.0]
    with pytest.raises(TargetError, match="gave 'c'; its outcomes are a, b"):
        target.weights(np.array([2, 0, 0, 0]))
    with pytest.raises(TargetError, match="at least two"):
        FunctionTarget(lambda _: "same", PANEL)


def test_a_function_of_a_large_panel_must_declare_its_outcomes() -> None:
    large = Panel(CLASSES, [f"e{h}" for h in range(12)])
    with pytest.raises(TargetError, match=r"3\^12 vote patterns are too many"):
        FunctionTarget(lambda votes: votes["e0"], large)
    declared = FunctionTarget(lambda votes: votes["e0"], large, outcomes=CLASSES)
    nobody = np.full(12, -1)
    assert declared.forced(nobody, tuple(range(12))) is None
    assert declared.relevant(nobody, tuple(range(12))) == tuple(range(12))


@pytest.mark.parametrize("name", NAMES)
def test_a_target_of_a_panel_that_has_grown_is_that_of_the_larger_panel(name: str) -> None:
    larger = PANEL.with_expert("eve")
    target, anew = parse_target(name, PANEL), parse_target(name, larger)
    grown = target.grown(larger) if isinstance(target, Growable) else target
    assert grown == anew
    for row in product(range(-1, 3), repeat=4):
        votes, unasked = np.array(row), tuple(h for h, vote in enumerate(row) if vote < 0)
        assert (grown.weights(votes) == target.weights(votes)).all()  # rows may end early
        assert (grown.weights(np.array([*row, -1])) == target.weights(votes)).all()
        forced, before = grown.forced(votes, unasked), target.forced(votes, unasked)
        assert (forced is None) == (before is None)
        assert grown.relevant(votes, unasked) == target.relevant(votes, unasked)


def test_a_function_keeps_its_outcomes_when_the_panel_grows() -> None:
    larger = PANEL.with_expert("eve")
    target = FunctionTarget(lambda votes: "b" in votes.values(), PANEL).grown(larger)
    assert target.outcomes == ("False", "True")
    assert target.weights(np.array([0, 0, 0, 0, 1])).tolist() == [0.0, 1.0]
    many = FunctionTarget(len, PANEL, outcomes=["1", "2", "3", "4", "5"]).grown(larger)
    assert many.weights(np.array([0, 0, 0, 0, 0])).tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    with pytest.raises(
        TargetError, match="function:len gives 5 once eve may vote; its outcomes are 1, 2, 3, 4: declare"
    ):
        FunctionTarget(len, PANEL, outcomes=["1", "2", "3", "4"]).grown(larger)


def test_a_function_of_more_patterns_than_can_be_listed_is_taken_at_its_word() -> None:
    larger = Panel(CLASSES, [f"e{h}" for h in range(9)])
    target = FunctionTarget(lambda votes: len(votes) > 9, larger, outcomes=["False", "True"])
    assert target.grown(larger.with_expert("last")).weights(np.zeros(10, dtype=np.int64)).tolist() == [0.0, 1.0]
