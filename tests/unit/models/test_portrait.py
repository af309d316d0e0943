"""A portrait against what can be counted by hand, and against panels that are simulated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.settings import EvidenceSettings, Settings
from quorate.core.target import parse_target
from quorate.data.synthetic import simulate as synthetic
from quorate.data.table import Table as Votes
from quorate.errors import InputError
from quorate.models import collected, worth
from quorate.models.collected import Portrayable
from quorate.models.evidence.cases import Cases, read_scores
from quorate.models.evidence.layout import expert_at, size
from quorate.models.evidence.learner import EvidenceLearner
from quorate.models.evidence.particles import Particles, from_prior
from quorate.models.evidence.predictor import EvidencePredictor
from quorate.models.evidence.tables import Question, sampled
from quorate.models.full.learner import FullLearner
from quorate.models.full.simplex import softmax
from quorate.models.patterns import Patterns, Sample, Table
from quorate.models.portrait import Portrait, portrait

THREE = Panel(["no", "yes"], ["ann", "ben", "cho"], ["net"])
FULL = Settings(chains=2, warmup=100, draws=200, extensions=1, latents=4000, max_rhat=1.5, min_ess=10.0)


@dataclass(frozen=True)
class Made:
    """A predictor whose vote patterns are made by hand, one for each case."""

    panel: Panel
    tables: tuple[Patterns, ...]

    def patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
        assert case.available == (True,) * len(self.panel.experts)
        assert case.votes == ()
        return self.tables[int(case.key)]

    def siding(self) -> tuple[Floats, Floats]:
        experts = len(self.panel.experts)
        values = np.tile(np.eye(experts), (4, 1, 1))
        values[:, 0, 1] = values[:, 1, 0] = [0.5, 0.1, -0.3, 0.5]
        return np.array([0.1, 0.2, 0.3, 0.4]), values


def cases_of(panel: Panel, count: int) -> History:
    rows = ((1 / len(panel.classes),) * len(panel.classes),) * len(panel.classifiers)
    there = (True,) + (False,) * (len(panel.experts) - 1)
    return History(panel, tuple(Case(str(n), rows, there, ((0, 1),)) for n in range(count)))


def painted(predictor: Portrayable, history: History, seed: int = 0) -> Portrait:
    return portrait(np.random.default_rng(seed), predictor, history)


def entropy(p: Sequence[float]) -> float:
    return -sum(x * math.log(x) for x in p if x > 0)


def test_skill_and_information_are_those_counted_by_hand() -> None:
    panel = Panel(["a", "b", "c"], ["ann", "ben", "cho"], ["net"])
    rng = np.random.default_rng(0)
    mass = rng.dirichlet(np.full(27, 0.3), (2, 1))  # two cases, one draw
    found = painted(Made(panel, tuple(Table((0, 1, 2), 3, one, 1e12) for one in mass)), cases_of(panel, 2))
    rows = list(itertools.product(range(3), repeat=3))
    mean = mass.mean(axis=0)[0]

    def share(row: Sequence[int], k: int) -> float:
        counts = [list(row).count(j) for j in range(3)]
        return (counts[k] == max(counts)) / counts.count(max(counts))

    for h, k in itertools.product(range(3), repeat=2):
        decided = sum(p * share(row, k) for p, row in zip(mean, rows, strict=True))
        agreed = sum(p * share(row, k) for p, row in zip(mean, rows, strict=True) if row[h] == k)
        assert found.skill[h, k] == pytest.approx([agreed / decided] * 3)
    by_case = [[sum(p * share(row, k) for p, row in zip(one[0], rows, strict=True)) for k in range(3)] for one in mass]
    whole = entropy([float(p) for p in np.mean(by_case, axis=0)])
    assert found.worth.classifiers == pytest.approx(whole - np.mean([entropy(p) for p in by_case]))
    told = []
    for h in range(3):
        left = 0.0
        for vote in range(3):
            joint = [sum(p * share(r, k) for p, r in zip(mean, rows, strict=True) if r[h] == vote) for k in range(3)]
            left += sum(joint) * entropy([p / sum(joint) for p in joint])
        told.append(whole - left)
    assert found.worth.by_votes[:2] == pytest.approx((0.0, np.mean(told)))
    assert found.cases == 2


def test_draws_count_by_their_weight() -> None:
    agree, random = np.array([0.5, 0, 0, 0, 0, 0, 0, 0.5]), np.full(8, 1 / 8)
    mass = np.stack([0.9 * agree, 0.1 * random])
    found = painted(Made(THREE, (Table((0, 1, 2), 2, mass, 1e12),)), cases_of(THREE, 1))
    assert found.skill[:, :, 0] == pytest.approx(np.full((3, 2), 0.9 * 1.0 + 0.1 * 0.75))
    assert found.skill[0, 0, 1:].tolist() == pytest.approx([0.75, 1.0])
    assert found.siding[0, 1] == pytest.approx([0.18, -0.3, 0.5])
    assert found.together[0, 1] == pytest.approx(0.7)
    assert found.siding[0, 2] == pytest.approx([0, 0, 0])


def test_a_class_that_is_never_decided_has_no_skill() -> None:
    found = painted(Made(THREE, (Table((0, 1, 2), 2, np.eye(8)[:1], 1e12),)), cases_of(THREE, 1))
    assert found.skill[:, 0].tolist() == [[1.0, 1.0, 1.0]] * 3
    assert np.isnan(found.skill[:, 1]).all()
    assert found.worth.votes.tolist() == [0, 0, 0]


def test_a_classifier_that_knows_is_worth_as_many_votes_as_know() -> None:
    every, one_vote = np.eye(8), (Table((0, 1, 2), 2, np.eye(8)[[0]], 1e12), Table((0, 1, 2), 2, np.eye(8)[[7]], 1e12))
    found = painted(Made(THREE, one_vote), cases_of(THREE, 2))  # all vote as one, and the classifier knows how
    assert found.worth.votes == pytest.approx([1, 1, 1])
    assert found.worth.classifiers == pytest.approx(math.log(2))
    split = tuple(Table((0, 1, 2), 2, every[[n]], 1e12) for n in range(8))  # anything may come, and is known
    assert painted(Made(THREE, split), cases_of(THREE, 8)).worth.votes[0] == pytest.approx(3)


def test_a_classifier_that_says_nothing_is_worth_nothing() -> None:
    mass = np.random.default_rng(1).dirichlet(np.ones(8), 40)
    found = painted(Made(THREE, (Table((0, 1, 2), 2, mass, 1e12),) * 3), cases_of(THREE, 3))
    assert found.worth.votes == pytest.approx([0, 0, 0], abs=1e-9)


def test_sampled_votes_give_what_the_tables_give() -> None:
    rng = np.random.default_rng(2)
    base = rng.dirichlet(np.full(8, 0.4), 12)[:, None, :]
    mass = 0.9 * base + 0.1 * rng.dirichlet(np.ones(8), (12, 64))  # (C, S, 8)
    mass = mass / mass.sum(axis=2, keepdims=True) / 64
    codes = [[rng.choice(8, 100, p=row / row.sum()) for row in one] for one in mass]
    votes = np.array(codes)[..., None] >> np.array([2, 1, 0]) & 1  # (C, S, R, 3)
    history = cases_of(THREE, 12)
    exact = painted(Made(THREE, tuple(Table((0, 1, 2), 2, one, 1e12) for one in mass)), history)
    drawn = painted(Made(THREE, tuple(Sample(2, np.full((64, 100), 1 / 64), one, 100.0) for one in votes)), history)
    assert drawn.skill[..., 0] == pytest.approx(exact.skill[..., 0], abs=0.01)
    assert drawn.worth.classifiers == pytest.approx(exact.worth.classifiers, abs=0.01)
    assert drawn.worth.votes[0] == pytest.approx(exact.worth.votes[0], abs=0.05)


def test_the_interval_of_the_worth_is_that_of_single_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    loud, flat = np.array([0.7, 0.1, 0.1, 0, 0, 0, 0, 0.1]), np.full(8, 1 / 8)
    trust = rng.beta(6, 3, 512)[:, None]  # by draw: how much the scores say
    mass = tuple((trust * one + (1 - trust) * flat) / 512 for one in (loud, loud[::-1]))
    made, history = Made(THREE, tuple(Table((0, 1, 2), 2, one, 1e12) for one in mass)), cases_of(THREE, 2)
    grouped = painted(made, history).worth.votes
    monkeypatch.setattr(collected, "GROUPS", 512)
    single = painted(made, history).worth.votes
    assert grouped[0] == pytest.approx(single[0], abs=0.03)
    assert np.diff(grouped)[1] == pytest.approx(np.diff(single)[1], rel=0.35)
    assert single[1] < single[0] < single[2]


def test_an_empty_history_has_nothing_to_show() -> None:
    with pytest.raises(InputError, match="the history is empty"):
        painted(Made(THREE, ()), History(THREE))


def test_cases_from_before_the_panel_grew_count_too() -> None:
    seen: list[Case] = []

    class Noting(Made):
        def patterns(self, rng: np.random.Generator, case: Case) -> Patterns:
            seen.append(case)
            return Table((0, 1, 2), 2, np.full((1, 8), 1 / 8), 1e12)

    grown = Panel(THREE.classes, THREE.experts, ["net", "web"])
    old = History(grown, (Case("0", ((0.5, 0.5),), (True, True), ((1, 0),)),))
    painted(Noting(grown, ()), old)
    assert seen == [Case("0", ((0.5, 0.5), None), (True, True, True), ())]


def known(theta: Floats, panel: Panel, settings: EvidenceSettings) -> EvidencePredictor:
    """The shared-evidence model with its parameters known."""
    nobody = Cases.of(History(panel))
    prior = from_prior(np.random.default_rng(0), nobody, len(panel.classes), settings)
    health = EvidenceLearner(settings).update(np.random.default_rng(0), History(panel), None).health
    return EvidencePredictor(panel, replace(prior, theta=np.tile(theta, (len(prior.theta), 1))), health)


def scored(panel: Panel, count: int, seed: int) -> tuple[History, Floats]:
    rng = np.random.default_rng(seed)
    p = softmax(rng.normal(0.0, 1.5, (count, len(panel.classifiers), len(panel.classes))))
    there = (True,) * len(panel.experts)
    rows = [tuple(tuple(row.tolist()) for row in one) for one in p]
    return History(panel, tuple(Case(str(n), row, there) for n, row in enumerate(rows))), p


def test_skill_is_that_of_votes_simulated_from_the_model() -> None:
    panel = Panel(["a", "b", "c"], ["ann", "ben", "cho", "dan"], ["net"])
    settings = EvidenceSettings(particles=64)
    history, p = scored(panel, 60, seed=5)
    nobody = from_prior(np.random.default_rng(0), Cases.of(History(panel)), 3, settings)
    theta = 0.7 * np.random.default_rng(6).standard_normal(size(nobody.shape))
    found = painted(known(theta, panel, settings), history)
    rng, everyone = np.random.default_rng(7), np.arange(4)
    questions = [Question(row, 0, everyone, np.full(4, -1)) for row in read_scores(p)[0]]
    drawn = [sampled(rng, theta[None], nobody.model, question, 1000)[1][0] for question in questions]
    votes = np.concatenate(drawn)
    shares = parse_target("consensus", panel).weights(votes)
    for h, k in itertools.product(range(4), range(3)):
        seen = (shares[:, k] * (votes[:, h] == k)).sum() / shares[:, k].sum()
        assert found.skill[h, k] == pytest.approx([seen] * 3, abs=0.02)


def with_experts(particles: Particles, theta: Floats, values: Floats) -> Floats:
    """Parameters whose experts are these: (H, 2K+1)."""
    shape, made = particles.shape, theta.copy()
    for h, own in enumerate(values):
        at = expert_at(shape, h)
        made[at : at + 2 * shape.classes + 1] = own
    return made


def test_experts_who_are_alike_have_equal_skill() -> None:
    settings = EvidenceSettings(particles=64)
    history, _ = scored(THREE, 20, seed=8)
    nobody = from_prior(np.random.default_rng(0), Cases.of(History(THREE)), 2, settings)
    theta = np.random.default_rng(9).standard_normal(size(nobody.shape))
    alike = with_experts(nobody, theta, np.tile([0.3, 0.0, 0.5, 0.2, -0.1], (3, 1)))
    found = painted(known(alike, THREE, settings), history)
    assert found.skill[0] == pytest.approx(found.skill[1])
    assert found.skill[0] == pytest.approx(found.skill[2])
    assert found.siding[0, 1] == pytest.approx(found.siding[1, 2])


def with_a_twin(cases: int) -> History:
    """Four good experts, one who is often wrong, and a twin who votes as that one does."""
    skill = [0.7, 0.93, 0.93, 0.93, 0.93]
    table = synthetic(np.random.default_rng(4), experts=5, classes=2, cases=cases, skill=skill)
    panel = Panel(["0", "1"], ["ann", "ben", "cho", "dan", "eve", "twin"], ["net"])
    votes = np.column_stack([table.votes, table.votes[:, 0]])
    filled = []
    for n in range(cases):
        cast = tuple((h, int(vote)) for h, vote in enumerate(votes[n]))
        filled.append(Case(str(n), table.case(n).probabilities, (True,) * 6, cast))
    return History(panel, tuple(filled))


@pytest.mark.parametrize("model", ["evidence", "full"])
def test_a_pair_that_votes_as_one_sides_with_each_other(model: str) -> None:
    history = with_a_twin(120)
    learner = EvidenceLearner(EvidenceSettings(particles=64)) if model == "evidence" else FullLearner(FULL)
    predictor = learner.update(np.random.default_rng(0), history, None)
    assert isinstance(predictor, Portrayable)
    found = painted(predictor, history)
    assert found.together[0, 5] > 0.99
    assert found.siding[0, 5, 1] > 0.4
    others = [found.siding[h, g, 0] for h, g in itertools.combinations(range(6), 2) if (h, g) != (0, 5)]
    assert max(others) < found.siding[0, 5, 0] - 0.2
    assert found.skill[0, :, 0].max() < found.skill[1:5, :, 0].min()
    assert np.isfinite(found.skill).all()
    assert (found.skill[..., 1] <= found.skill[..., 0]).all()
    assert (found.skill[..., 0] <= found.skill[..., 2]).all()


def test_a_classifier_at_random_is_learned_to_be_worth_little() -> None:
    table = synthetic(np.random.default_rng(10), experts=4, classes=2, cases=100, skill=0.85)
    p = softmax(np.random.default_rng(11).normal(0.0, 1.5, table.probabilities.shape))
    blind = replace(table, probabilities=p)
    votes = [tuple((h, int(vote)) for h, vote in enumerate(row)) for row in table.votes]

    def worth_of(one: Votes) -> Floats:
        history = History(one.panel, tuple(replace(one.case(n), votes=votes[n]) for n in range(100)))
        predictor = EvidenceLearner(EvidenceSettings(particles=64)).update(np.random.default_rng(0), history, None)
        assert isinstance(predictor, Portrayable)
        return painted(predictor, history).worth.votes

    nothing, something = worth_of(blind), worth_of(table)
    assert nothing[0] < 0.1
    assert something[1] > nothing[2]


def test_a_large_panel_is_portrayed_from_sampled_votes() -> None:
    names = [f"expert_{h}" for h in range(20)]
    panel = Panel([str(k) for k in range(10)], names, ["net"])
    history, _ = scored(panel, 30, seed=12)
    settings = EvidenceSettings(particles=64, panels=1280)
    predictor = EvidenceLearner(settings).update(np.random.default_rng(0), History(panel), None)
    assert isinstance(predictor, EvidencePredictor)
    found = painted(predictor, history)
    assert found.skill.shape == (20, 10, 3)
    assert found.siding.shape == (20, 20, 3)
    assert np.isfinite(found.skill).all()
    assert 0 < found.worth.votes[0] < 20


def test_the_same_seed_paints_the_same_portrait() -> None:
    history = with_a_twin(20)
    predictor = EvidenceLearner(EvidenceSettings(particles=64)).update(np.random.default_rng(0), history, None)
    assert isinstance(predictor, Portrayable)
    one, two = painted(predictor, history), painted(predictor, history)
    assert np.array_equal(one.skill, two.skill)
    assert np.array_equal(one.worth.votes, two.worth.votes)


def test_more_subsets_than_are_looked_at_are_sampled() -> None:
    assert len(worth._subsets(np.random.default_rng(0), 4, 2)) == 6
    some = worth._subsets(np.random.default_rng(0), 12, 5)
    assert len(some) == worth.SUBSETS
    assert all(len(set(one)) == 5 for one in some)
