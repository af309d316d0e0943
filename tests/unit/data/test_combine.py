from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Ints
from quorate.data.combine import (
    CIFAR10H_EXPERTS,
    CIFAR10H_GROUPS,
    BuiltExpert,
    combine_annotators,
    majority,
    merge_classes,
    merge_probabilities,
    undivided,
)
from quorate.errors import InputError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class TestMerging:
    def test_classes(self) -> None:
        merged = merge_classes([[0, 5, -1, 9], [3, 2, 6, 7]], CIFAR10H_GROUPS)
        assert merged.tolist() == [[0, 1, -1, 2], [1, 0, 2, 2]]

    def test_probabilities(self) -> None:
        merged = merge_probabilities(np.full((2, 1, 10), 0.1), CIFAR10H_GROUPS)
        assert merged == pytest.approx(np.broadcast_to([0.3, 0.3, 0.4], (2, 1, 3)))

    def test_groups_that_do_not_fit(self) -> None:
        with pytest.raises(InputError, match="class 2 is in no group"):
            merge_classes([[0, 2]], [(0,), (1,)])
        with pytest.raises(InputError, match="a class is in two groups"):
            merge_classes([[0, 1]], [(0, 1), (1,)])
        with pytest.raises(InputError, match="expected each of 0 to 2 once"):
            merge_probabilities([[0.2, 0.3, 0.5]], [(0,), (1,)])


class TestBuilding:
    def test_strong_classes_give_the_majority_of_the_first_labels(self) -> None:
        expert = BuiltExpert([0, 1, 2, 3, 4], weak=[2], first=3)
        votes = combine_annotators(rng(), [[1, 1, 0, 0, 0]], [expert], classes=[1])
        assert votes.tolist() == [[1]]
        every = BuiltExpert([0, 1, 2, 3, 4], weak=[2])
        assert combine_annotators(rng(), [[1, 1, 0, 0, 0]], [every], classes=[1]).tolist() == [[0]]

    def test_the_first_labels_are_those_that_are_there(self) -> None:
        expert = BuiltExpert([3, 0, 1, 2], weak=[], first=2)
        assert combine_annotators(rng(), [[-1, 1, 0, 1]], [expert]).tolist() == [[1]]

    def test_the_weak_class_gives_a_minority_of_all_labels(self) -> None:
        expert = BuiltExpert([0, 1, 2, 3, 4], weak=[1], first=2)
        for seed in range(10):
            assert combine_annotators(rng(seed), [[1, 1, 1, 1, 0]], [expert], classes=[1]).tolist() == [[0]]

    def test_a_minority_that_does_not_exist_is_the_consensus(self) -> None:
        expert = BuiltExpert([0, 1, 2], weak=[1])
        assert combine_annotators(rng(), [[1, 1, 1, 0]], [expert]).tolist() == [[1]]

    def test_more_annotators_make_a_minority_opinion_more_likely(self) -> None:
        labels = np.tile([0] * 5 + [1] * 3 + [2], (4000, 1))
        votes = combine_annotators(rng(), labels, [BuiltExpert(range(9), weak=[0])])
        assert np.bincount(votes[:, 0], minlength=3) / 4000 == pytest.approx([0, 0.75, 0.25], abs=0.03)

    def test_two_classes_in_the_lead_are_both_the_consensus(self) -> None:
        labels = np.tile([0, 0, 1, 1], (200, 1))
        votes = combine_annotators(rng(), labels, [BuiltExpert(range(4), weak=[0, 1])])
        assert set(votes[:, 0].tolist()) == {0, 1}

    def test_the_class_of_a_case_is_the_consensus_of_all_annotators(self) -> None:
        labels = [[0, 1, 1, 0, 0, 0]]  # the expert's own majority is 1, that of everybody is 0
        expert = BuiltExpert([0, 1, 2], weak=[0])
        assert combine_annotators(rng(), labels, [expert]).tolist() == [[0]]
        assert combine_annotators(rng(), labels, [expert], classes=[1]).tolist() == [[1]]

    def test_an_expert_without_labels_was_not_available(self) -> None:
        pair = [BuiltExpert([0, 1], weak=[0]), BuiltExpert([2], weak=[])]
        assert combine_annotators(rng(), [[-1, -1, 0]], pair).tolist() == [[-1, 0]]

    def test_merging_afterwards_instead(self) -> None:
        labels = [[4, 4, 3, 4]]
        merged = combine_annotators(rng(), merge_classes(labels, CIFAR10H_GROUPS), [BuiltExpert(range(4), weak=[1])])
        later = combine_annotators(rng(), labels, [BuiltExpert(range(4), weak=CIFAR10H_GROUPS[1])])
        assert merged.tolist() == [[1]]
        assert later.tolist() == [[3]]
        assert merge_classes(later, CIFAR10H_GROUPS).tolist() == [[1]]

    def test_the_same_generator_gives_the_same_experts(self) -> None:
        labels = rng().integers(-1, 3, size=(50, 46))
        first = combine_annotators(rng(1), labels, CIFAR10H_EXPERTS)
        assert np.array_equal(first, combine_annotators(rng(1), labels, CIFAR10H_EXPERTS))

    def test_the_papers_experts_are_strong_in_two_classes_and_weak_in_one(self) -> None:
        truth = rng(2).integers(0, 10, size=3000)
        labels = noisy(truth, annotators=50, error=0.05)
        votes = combine_annotators(rng(3), merge_classes(labels, CIFAR10H_GROUPS), CIFAR10H_EXPERTS)
        merged = merge_classes(truth[:, None], CIFAR10H_GROUPS)[:, 0]
        accuracy = np.array([(votes[merged == k] == k).mean(axis=0) for k in range(3)]).T  # (H, K)
        weak = np.array([1, 2, 0])
        for h in range(3):
            assert accuracy[h, weak[h]] < 0.8
            assert (np.delete(accuracy[h], weak[h]) > 0.99).all()

    def test_the_papers_blocks_do_not_overlap(self) -> None:
        columns = [column for expert in CIFAR10H_EXPERTS for column in expert.columns]
        assert columns == list(range(46))
        assert [len(expert.columns) for expert in CIFAR10H_EXPERTS] == [15, 16, 15]


def noisy(truth: Ints, *, annotators: int, error: float) -> Ints:
    """Labels (N, A) that are wrong now and then."""
    generator = rng(4)
    shape = (len(truth), annotators)
    guesses = generator.integers(0, 10, size=shape)
    return np.where(generator.random(shape) < error, guesses, truth[:, None])


def test_majority_and_division() -> None:
    labels = [[0, 1, 1, -1], [2, -1, -1, -1], [0, 1, -1, -1], [-1, -1, -1, -1]]
    assert majority(rng(), labels)[[0, 1, 3]].tolist() == [1, 2, -1]
    assert undivided(labels).tolist() == [True, True, False, False]
    ties = majority(rng(), [[0, 1]] * 200)
    assert 0.3 < ties.mean() < 0.7


@pytest.mark.parametrize(
    ("labels", "experts", "classes", "message"),
    [
        ([[0, 1]], [BuiltExpert([2], weak=[])], None, "expert 1: no column 2; the labels have columns 0 to 1"),
        ([[0, 1]], [BuiltExpert([0], weak=[])], [0, 1], "expected one for each of 1 cases"),
        ([0, 1], [BuiltExpert([0], weak=[])], None, "labels have shape"),
        ([[0.5, 1]], [BuiltExpert([0], weak=[])], None, "expected whole numbers"),
        ([[-2, 1]], [BuiltExpert([0], weak=[])], None, "label -2 is no class"),
    ],
)
def test_what_cannot_be_combined(
    labels: list[list[int]], experts: list[BuiltExpert], classes: list[int] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        combine_annotators(rng(), labels, experts, classes=classes)


def test_experts_that_cannot_be_built() -> None:
    with pytest.raises(InputError, match="at least one annotator's column"):
        BuiltExpert([], weak=[0])
    with pytest.raises(InputError, match="first = 0 is too small"):
        BuiltExpert([0], weak=[0], first=0)
