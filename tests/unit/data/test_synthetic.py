from __future__ import annotations

import numpy as np
import pytest

from quorate.core.arrays import Bools, Floats, Ints
from quorate.core.panel import Panel
from quorate.data.synthetic import signal_strength, simulate
from quorate.errors import PanelError, SettingsError

CASES = 20_000  # a share's standard error is at most 0.0036


def consensus(votes: Ints) -> Ints:
    """The class most experts chose; the first of them in a tie."""
    counts = np.stack([(votes == k).sum(axis=1) for k in range(votes.max() + 1)], axis=1)
    leading: Ints = counts.argmax(axis=1)
    return leading


def agreement(votes: Ints) -> Floats:
    """How often each expert agrees with the panel's consensus: shape (H,)."""
    agreed: Floats = (votes == consensus(votes)[:, None]).mean(axis=0)
    return agreed


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def truth_of(skilled_votes: Ints) -> Ints:
    """An expert of skill 1 always votes for the true class."""
    return skilled_votes[:, 0]


def test_the_panel() -> None:
    table = simulate(rng(), experts=3, classes=2, cases=7, classifiers=2)
    assert table.panel == Panel(["0", "1"], ["expert_1", "expert_2", "expert_3"], ["classifier_1", "classifier_2"])
    assert (table.keys[0], len(table), table.votes.min()) == ("case-1", 7, 0)
    assert simulate(rng(), cases=1).panel.classifiers == ("classifier",)
    named = simulate(rng(), experts=["ann", "ben"], classes=["no", "yes"], classifiers=["vit"], cases=2)
    assert named.panel == Panel(["no", "yes"], ["ann", "ben"], ["vit"])


def test_the_same_seed_gives_the_same_table() -> None:
    assert simulate(rng(), missing=0.2) == simulate(rng(), missing=0.2)
    assert simulate(rng()) != simulate(np.random.default_rng(1))


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize(("correlation", "ambiguity"), [(0.0, 0.0), (0.7, 0.4), (1.0, 0.0), (0.2, 1.0)])
def test_skill_is_the_probability_of_the_true_class(classes: int, correlation: float, ambiguity: float) -> None:
    skill = [1.0, 0.95, 0.8, 0.6, 1 / classes]
    table = simulate(
        rng(),
        classes=classes,
        cases=CASES,
        skill=skill,
        correlation=correlation,
        ambiguity=ambiguity,
        balance=range(1, classes + 1),
    )
    right = (table.votes == truth_of(table.votes)[:, None]).mean(axis=0)
    assert right == pytest.approx(skill, abs=0.02)


def test_more_skill_more_agreement_with_the_consensus() -> None:
    skill = [0.95, 0.85, 0.75, 0.65, 0.55]
    within = agreement(simulate(rng(), cases=CASES, skill=skill, correlation=0, ambiguity=0).votes)
    assert (np.diff(within) < -0.02).all()  # where experts err alone: together they may outvote the best of them
    between = [agreement(simulate(rng(), cases=CASES, skill=each).votes).mean() for each in skill]
    assert (np.diff(between) < -0.02).all()


def test_correlation_one_and_equal_skill_is_one_expert_many_times() -> None:
    votes = simulate(rng(), cases=500, correlation=1).votes
    assert (votes == votes[:, :1]).all()
    assert not (simulate(rng(), cases=500, correlation=0.9).votes == votes[:, :1]).all()


def test_correlation_makes_experts_wrong_together() -> None:
    def joint_error(correlation: float) -> float:
        skill = [1, 0.8, 0.8]
        votes = simulate(rng(), experts=3, cases=CASES, skill=skill, correlation=correlation, ambiguity=0).votes
        wrong: Bools = votes[:, 1:] != truth_of(votes)[:, None]
        return float(wrong.all(axis=1).mean())

    assert joint_error(0) == pytest.approx(0.04, abs=0.01)  # independent: 0.2 x 0.2
    assert 0.05 < joint_error(0.5) < joint_error(0.9) < 0.2
    assert joint_error(1) == pytest.approx(0.2, abs=0.01)


def test_ambiguity_misleads_experts_and_classifiers_together() -> None:
    def joint_error(ambiguity: float) -> float:
        table = simulate(rng(), experts=2, cases=CASES, skill=[1, 0.8], correlation=0.5, ambiguity=ambiguity)
        truth = truth_of(table.votes)
        wrong = (table.votes[:, 1] != truth) & (table.probabilities[:, 0].argmax(axis=1) != truth)
        return float(wrong.mean())

    assert joint_error(0) == pytest.approx(0.04, abs=0.01)
    assert joint_error(0) + 0.02 < joint_error(0.5) < joint_error(1) - 0.02
    assert joint_error(1) == pytest.approx(0.2, abs=0.01)


def test_balance() -> None:
    table = simulate(rng(), cases=CASES, skill=1, balance=[6, 3, 1])
    shares = np.bincount(table.votes[:, 0], minlength=3) / CASES
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.01)


@pytest.mark.parametrize("balance", [None, [5, 2, 1]])
def test_a_classifier_is_calibrated_and_over_confident_when_told(balance: list[float] | None) -> None:
    table = simulate(
        rng(),
        cases=CASES,
        skill=1,
        classifiers=3,
        classifier_skill=[0.8, 0.8, 0.6],
        overconfidence=[1, 3, 1],
        balance=balance,
    )
    right = table.probabilities.argmax(axis=2) == truth_of(table.votes)[:, None]
    stated = table.probabilities.max(axis=2)
    gap = stated.mean(axis=0) - right.mean(axis=0)
    assert gap[[0, 2]] == pytest.approx([0, 0], abs=0.01)
    assert gap[1] > 0.05
    low = stated[:, 0] < 0.6
    assert stated[low, 0].mean() == pytest.approx(right[low, 0].mean(), abs=0.03)
    if balance is None:
        assert right.mean(axis=0) == pytest.approx([0.8, 0.8, 0.6], abs=0.02)


def test_missing_votes_leave_one_in_every_case() -> None:
    table = simulate(rng(), cases=CASES, missing=0.3)
    assert (table.votes < 0).mean() == pytest.approx(0.3, abs=0.01)
    bare = simulate(rng(), cases=500, experts=3, missing=0.99).votes
    assert ((bare >= 0).sum(axis=1) >= 1).all()
    assert (bare < 0).mean() > 0.6
    assert len(np.unique(np.argmax(bare >= 0, axis=1))) == 3  # not always the same expert
    assert (simulate(rng(), cases=500).votes >= 0).all()


def test_drift_changes_skills_from_its_case_on() -> None:
    table = simulate(
        rng(),
        experts=3,
        cases=2 * CASES,
        skill=[1, 0.9, 0.6],
        classifier_skill=0.9,
        drift_at=CASES,
        drift_skill=[1, 0.6, 0.9],
    )
    right = table.votes == truth_of(table.votes)[:, None]
    assert right[:CASES].mean(axis=0) == pytest.approx([1, 0.9, 0.6], abs=0.02)
    assert right[CASES:].mean(axis=0) == pytest.approx([1, 0.6, 0.9], abs=0.02)
    called = table.probabilities[:, 0].argmax(axis=1) == truth_of(table.votes)
    assert called[:CASES].mean() == pytest.approx(0.9, abs=0.02)
    assert called[CASES:].mean() == pytest.approx((0.9 + 1 / 3) / 2, abs=0.02)  # half-way to guessing
    assert table.probabilities[CASES:].max(axis=2).mean() > called[CASES:].mean() + 0.05  # it does not know
    before = simulate(rng(), experts=3, cases=2 * CASES, skill=[1, 0.9, 0.6], classifier_skill=0.9)
    assert np.array_equal(before.votes[:CASES], table.votes[:CASES])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experts": 0}, "experts = 0 is out of range; expected 1 to 1000"),
        ({"classes": 1}, "classes = 1 is out of range; expected 2 to 1000"),
        ({"classifiers": 0}, "classifiers = 0 is out of range"),
        ({"cases": 0}, "cases = 0 is too small"),
        ({"cases": 10**10}, "10000000000 cases of this panel are too many at once"),
        ({"skill": 0.2}, "skill = 0.2 is out of range; expected 0.3333 .guessing among 3 classes. to 1"),
        ({"skill": 1.1}, "skill = 1.1 is out of range"),
        ({"skill": float("nan")}, "skill = nan is out of range"),
        ({"skill": [0.9, 0.9]}, "skill has 2 values; expected one, or one for each of 5"),
        ({"classifier_skill": 0.1}, "classifier_skill = 0.1 is out of range"),
        ({"correlation": 1.5}, "correlation = 1.5 is out of range; expected 0 to 1"),
        ({"correlation": float("nan")}, "correlation = nan is out of range"),
        ({"ambiguity": -0.1}, "ambiguity = -0.1 is out of range; expected 0 to 1"),
        ({"balance": [0.5, 0.5]}, r"expected 3 numbers from 1e-06 to 1e\+06, one a class"),
        ({"balance": [1, 1, 0]}, r"expected 3 numbers from 1e-06 to 1e\+06, one a class"),
        ({"overconfidence": 0}, r"overconfidence = 0 is out of range; expected above 0 to 1e\+06"),
        ({"missing": 1}, "missing = 1 is out of range"),
        ({"drift_at": 0}, "drift_at = 0 is out of range; expected 1 to 499"),
        ({"drift_at": 500}, "drift_at = 500 is out of range; expected 1 to 499"),
        ({"drift_at": 5, "drift_skill": 0.1}, "drift_skill = 0.1 is out of range"),
        ({"drift_skill": 0.9}, "give drift_at too"),
    ],
)
def test_values_that_make_no_sense(options: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        simulate(rng(), **options)  # type: ignore[arg-type]  # wrong on purpose


def test_names_that_make_no_panel() -> None:
    with pytest.raises(PanelError, match="'ann' is named twice"):
        simulate(rng(), experts=["ann", "ann"])


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_signal_strength_grows_with_skill(classes: int) -> None:
    strengths = [signal_strength(skill, classes) for skill in np.linspace(1 / classes, 1, 12).tolist()]
    assert strengths[0] == 0
    assert (np.diff(strengths) > 0).all()
