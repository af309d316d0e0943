from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.settings import EvidenceSettings
from quorate.models.evidence import particles as module
from quorate.models.evidence.cases import Cases, difference
from quorate.models.evidence.health import particle_health
from quorate.models.evidence.layout import expert_at, residuals_at, size
from quorate.models.evidence.moves import likelihoods
from quorate.models.evidence.particles import Particles, carried, from_nothing, from_prior, refreshed, resampled
from quorate.models.patterns import effective
from tests.unit.models.evidence import panels


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def learned(cases: Cases, classes: int, *, seed: int = 0, particles: int = 64) -> Particles:
    settings = EvidenceSettings(particles=particles, nodes=32)
    generator, found = rng(seed), from_prior(rng(seed), cases, classes, settings)
    for n in range(1, len(cases) + 1):
        found = refreshed(generator, carried(generator, found, cases.some(np.arange(n))))
    return found


def test_before_any_case_the_particles_are_the_prior() -> None:
    cases, _, _ = panels.made_up(0)
    found = from_prior(rng(), cases, 3, EvidenceSettings(particles=2048))
    assert len(found.cases) == 0
    assert found.theta.mean() == pytest.approx(0.0, abs=0.02)
    assert found.theta.std() == pytest.approx(1.0, abs=0.02)
    assert found.weight == pytest.approx(np.full(2048, 1 / 2048))


def test_a_case_reweighs_by_its_likelihood() -> None:
    cases, _, _ = panels.made_up(1, n=1)
    before = from_prior(rng(), cases, 3, EvidenceSettings(particles=64, nodes=32))
    after = carried(rng(), before, cases)
    assert np.array_equal(after.theta, before.theta)
    expected = likelihoods(before.theta, before.model, before.data(cases))
    assert after.log_weight == pytest.approx(expected)


def test_a_case_that_comes_and_goes_leaves_the_weights_as_they_were() -> None:
    cases, _, _ = panels.made_up(2, n=3)
    before = carried(
        rng(), from_prior(rng(), cases, 3, EvidenceSettings(particles=64, nodes=32)), cases.some(np.array([0, 1]))
    )
    back = carried(rng(), carried(rng(), before, cases), cases.some(np.array([0, 1])))
    assert back.log_weight == pytest.approx(before.log_weight)
    assert back.cases.keys == before.cases.keys


def test_a_changed_vote_counts_as_it_stands() -> None:
    cases, _, _ = panels.made_up(2, n=3)
    other = replace(cases, votes=np.where(cases.votes >= 0, (cases.votes + 1) % 3, -1))
    begun = from_prior(rng(), cases, 3, EvidenceSettings(particles=64, nodes=32))
    straight = carried(rng(), begun, other.some(np.array([0])))
    amended = carried(rng(), carried(rng(), begun, cases.some(np.array([0]))), other.some(np.array([0])))
    assert amended.log_weight == pytest.approx(straight.log_weight)


def test_what_differs_is_found() -> None:
    cases, _, _ = panels.made_up(5, n=4)
    votes = cases.votes.copy()
    votes[1, 0] = (votes[1, 0] + 2) % 3
    gone, new = difference(cases.some(np.array([0, 1, 2])), replace(cases, votes=votes).some(np.array([1, 2, 3])))
    assert (gone.tolist(), new.tolist()) == ([0, 1], [0, 2])


def test_resampling_leaves_equal_weights_and_calls_for_moves_of_all() -> None:
    cases, _, _ = panels.made_up(3, n=4)
    found = from_prior(rng(), cases, 3, EvidenceSettings(particles=64, nodes=32))
    skewed = replace(found, log_weight=np.linspace(0.0, 8.0, 64))
    drawn = resampled(rng(), skewed)
    assert effective(drawn.weight) == pytest.approx(64.0)
    assert weighted_mean(drawn) == pytest.approx(weighted_mean(skewed), abs=0.6)
    assert refreshed(rng(), replace(drawn, arrived=0)).trace.moves == 64


def test_where_no_case_came_nothing_is_moved_and_the_step_stays() -> None:
    cases, _, _ = panels.made_up(3, n=6)
    found = learned(cases, 3)
    after = refreshed(rng(), carried(rng(), found, cases))  # numpy's warnings are errors here
    assert (after.arrived, after.trace.moves, after.turn) == (0, 0, found.turn)
    assert after.step == found.step
    assert np.array_equal(after.theta, module._folded(found).theta)
    assert np.array_equal(after.log_weight, found.log_weight)
    assert particle_health(after).healthy


def test_in_between_particles_are_moved_in_turn() -> None:
    cases, _, _ = panels.made_up(3, n=20)
    found = replace(learned(cases, 3), arrived=1, unmoved=1, turn=60)
    after = refreshed(rng(), found)
    assert after.trace.moves == 7
    assert after.turn == 3
    others = np.delete(np.arange(64), [0, 1, 2, 60, 61, 62, 63])
    assert np.array_equal(after.theta[others], module._folded(found).theta[others])
    assert not np.array_equal(after.theta, module._folded(found).theta)


@pytest.mark.parametrize("window", [50, 60])
def test_a_full_window_is_checked_now_and_then(window: int) -> None:
    cases, _, _ = panels.made_up(4, n=window + 60, classes=2, experts=2)
    found = replace(learned(cases.some(np.arange(window)), 2, particles=64), unmoved=0)
    generator, every = rng(), 0
    for n in range(window + 1, window + 61):
        found = refreshed(generator, carried(generator, found, cases.some(np.arange(n - window, n))))
        every += found.trace.shift is not None
    assert 1 <= every <= 30


def weighted_mean(found: Particles) -> Floats:
    mean: Floats = found.weight @ found.theta
    return mean


def test_a_great_change_comes_in_parts() -> None:
    cases, _, _ = panels.made_up(6, n=12)
    settings = EvidenceSettings(particles=64, nodes=32)
    found = carried(rng(), from_prior(rng(), cases, 3, settings), cases)
    assert effective(found.weight) >= module.BRIDGED * 64
    assert found.trace.moves == 64  # moved on the way


def test_the_same_seed_gives_the_same_particles() -> None:
    cases, _, _ = panels.made_up(7, n=6)
    one, other = learned(cases, 3), learned(cases, 3)
    assert np.array_equal(one.theta, other.theta)
    assert np.array_equal(one.log_weight, other.log_weight)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cases, _, _ = panels.made_up(7, n=6)
    one = learned(cases, 3)
    monkeypatch.setattr("quorate.models.parts.THREADS", 1)
    assert np.array_equal(one.theta, learned(cases, 3).theta)


def test_a_new_expert_comes_with_the_prior_and_leaves_the_others_as_they_are() -> None:
    cases, _, _ = panels.made_up(8, n=8, experts=2)
    found = learned(cases, 3, particles=128)
    wider = cases.wider(1, 3)
    votes = wider.votes.copy()
    after = carried(rng(), found, replace(wider, votes=votes))
    assert after.shape.experts == 3
    assert np.array_equal(after.log_weight, found.log_weight)
    own = after.theta[:, expert_at(after.shape, 2) :]
    assert own.shape[1] == 7
    assert own.mean() == pytest.approx(0.0, abs=0.1)
    assert own.std() == pytest.approx(1.0, abs=0.1)
    assert np.array_equal(after.theta[:, : found.theta.shape[1]], found.theta)


def test_a_classifier_that_takes_over_has_parameters_of_its_own() -> None:
    cases, _, _ = panels.made_up(9, n=8, experts=2)
    found = learned(cases, 3)
    wider = replace(cases.wider(2, 2), missing=np.full(8, 2))  # the second was not there yet
    after = carried(rng(), found, wider)
    assert after.regimes == (2,)
    assert after.theta.shape[1] == size(after.shape)
    before, now = (likelihoods(after.theta, after.model, after.data(part)) for part in (cases.wider(2, 2), wider))
    assert np.std(now - before) > 0.1  # what is learned of the first alone is another thing
    if np.array_equal(after.theta[:, 0], found.theta[:, 0]):  # neither resampled nor moved on the way
        assert after.log_weight == pytest.approx(found.log_weight + now - before)
    swapped = replace(wider, missing=np.full(8, 1), keys=tuple(f"late-{i}" for i in range(8)))
    later = refreshed(rng(), carried(rng(), after, wider.then(swapped)))
    assert later.regimes == (2, 1)
    assert particle_health(later).healthy


def test_from_nothing_and_case_by_case_agree() -> None:
    cases, _, _ = panels.made_up(10, n=16, classes=2, experts=3)
    settings = EvidenceSettings(particles=512)
    at_once = from_nothing(rng(1), cases, 2, settings)
    for _ in range(3):
        at_once = module.moved_all(rng(2), at_once)
    stream = learned(cases, 2, particles=512)
    spread = np.sqrt(at_once.weight @ (at_once.theta - weighted_mean(at_once)) ** 2)
    z = (weighted_mean(at_once) - weighted_mean(stream)) / spread * np.sqrt(256 / 2)
    rho = residuals_at(stream.shape)
    assert np.abs(np.delete(z, rho)).max() < 4.5


def test_health_sees_what_is_broken() -> None:
    cases, _, _ = panels.made_up(11, n=6)
    found = learned(cases, 3)
    assert particle_health(found).healthy
    broken = found.theta.copy()
    broken[3, 2] = np.nan
    assert particle_health(replace(found, theta=broken)).reasons == ("particles are not finite",)
    heavy = np.zeros(64)
    heavy[:3] = 20.0
    assert "are effective" in particle_health(replace(found, log_weight=heavy)).reasons[0]
    apart = found.theta.copy()
    apart[:32, 0] += 5.0
    assert "halves of the particles differ" in " ".join(particle_health(replace(found, theta=apart)).reasons)
    refused = replace(found, trace=replace(found.trace, moves=64, accepted=0.1))
    assert "accepted" in particle_health(refused).reasons[0]


def test_particles_that_trail_behind_move_one_way() -> None:
    cases, _, _ = panels.made_up(12, n=20, classes=2, experts=3)
    found = learned(cases, 2, particles=128)
    for off, word in ((0.5, "one way"), (3.0, "are accepted")):
        away = module.moved_all(rng(), replace(found, theta=found.theta + off))
        assert any(word in reason for reason in particle_health(away).reasons)
    assert particle_health(module.moved_all(rng(), found)).healthy


def test_a_check_of_particles_that_are_right_finds_nothing() -> None:
    cases, _, _ = panels.made_up(12, n=module.CHECKED, classes=2, experts=3)
    found = refreshed(rng(), replace(learned(cases, 2, particles=128), turn=77, unmoved=module.CHECKED))
    assert (found.trace.moves, found.unmoved) == (128, 0)
    assert found.trace.shift is not None
    assert found.trace.shift < 5.0
