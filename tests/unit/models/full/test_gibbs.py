from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.arrays import Floats, Ints
from quorate.core.settings import Settings
from quorate.errors import InputError
from quorate.models.full import gibbs
from quorate.models.full.normal import prior_parameters, simulate
from quorate.models.health import fit_health

SHORT = Settings(chains=3, warmup=20, draws=30)


def history(seed: int, *, classes: int, classifiers: int, experts: int, n: int) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    truth = prior_parameters(rng, classes=classes, classifiers=classifiers, experts=experts, settings=SHORT)
    return simulate(rng, truth, n, classes=classes, classifiers=classifiers, settings=SHORT, missing=0.3)


def rng() -> np.random.Generator:
    return np.random.default_rng(12)


def test_the_same_seed_gives_the_same_draws_however_many_threads() -> None:
    log_ratios, votes = history(1, classes=3, classifiers=1, experts=2, n=8)
    begun = gibbs.start(rng(), log_ratios, votes, classes=3, settings=SHORT)
    digests = {gibbs.advance(begun, warmup=20, draws=30, threads=threads)[1].digest for threads in (1, 2, 3)}
    assert digests == {gibbs.sample(rng(), log_ratios, votes, classes=3, settings=SHORT).digest}


def test_a_run_can_go_on() -> None:
    log_ratios, votes = history(2, classes=2, classifiers=2, experts=2, n=6)
    begun = gibbs.start(rng(), log_ratios, votes, classes=2, settings=SHORT)
    _, whole = gibbs.advance(begun, warmup=10, draws=30)
    middle, first = gibbs.advance(begun, warmup=10, draws=10)
    _, second = gibbs.advance(middle, warmup=0, draws=20)
    assert first.then(second).digest == whole.digest


@pytest.mark.parametrize(("classes", "classifiers", "experts", "n"), [(2, 1, 1, 1), (5, 1, 2, 3), (2, 3, 4, 2)])
def test_corners_give_finite_draws(classes: int, classifiers: int, experts: int, n: int) -> None:
    log_ratios, votes = history(3, classes=classes, classifiers=classifiers, experts=experts, n=n)
    for temperature in (True, False):
        for correlations in (True, False):
            settings = replace(SHORT, temperature=temperature, correlations=correlations)
            draws = gibbs.sample(rng(), log_ratios, votes, classes=classes, settings=settings)
            assert all(np.isfinite(part).all() for part in (draws.mu, draws.s, draws.omega, draws.tau))
            assert np.abs(draws.omega).max() <= 1.0 + 1e-9
            assert temperature or (draws.tau == 1.0).all()
            assert correlations or (draws.omega == np.eye(draws.size)).all()


def test_an_empty_history_gives_the_prior() -> None:
    settings = replace(SHORT, draws=2000)
    draws = gibbs.sample(rng(), np.empty((0, 1, 1)), np.empty((0, 3), dtype=np.int64), classes=2, settings=settings)
    assert draws.shape == (3, 2000)
    assert draws.tau.mean() == pytest.approx(0.4 * np.sqrt(2 / np.pi), abs=0.015)
    assert fit_health(draws, settings).healthy


def test_a_history_that_says_nothing_gives_the_prior() -> None:
    """Neither votes nor classifiers: the chain walks through the prior by all of its moves."""
    settings = Settings(chains=4, warmup=100, draws=6000)
    draws = gibbs.sample(rng(), np.full((2, 1, 1), np.nan), np.full((2, 2), -1), classes=2, settings=settings)
    health = fit_health(draws, settings)
    assert health.ess is not None
    error = 5 / np.sqrt(health.ess)
    assert draws.mu.std() == pytest.approx(0.1, rel=error)
    assert draws.s.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=error * 0.6)
    assert draws.tau.mean() == pytest.approx(0.4 * np.sqrt(2 / np.pi), abs=error * 0.24)
    assert draws.omega[..., 1, 0].var() == pytest.approx(1 / (2 * 0.75 + 3 - 1), abs=error * 0.3)


def test_equal_votes_and_certain_classifiers_are_survived() -> None:
    log_ratios, votes = np.full((20, 1, 1), 20.0), np.zeros((20, 3), dtype=np.int64)
    begun = gibbs.start(rng(), log_ratios, votes, classes=2, settings=SHORT)
    after, draws = gibbs.advance(begun, warmup=100, draws=100)
    assert np.isfinite(draws.s).all()
    assert draws.s.min() > 1e-4
    assert after.refused <= 3


def test_a_chain_that_enters_singular_stands_still_and_returns() -> None:
    log_ratios, votes = history(4, classes=2, classifiers=1, experts=2, n=5)
    begun = gibbs.start(rng(), log_ratios, votes, classes=2, settings=SHORT)
    broken = begun.chains[0]
    broken.state.Sigma[:], broken.state.Q[:] = 1.0, np.nan
    after, draws = gibbs.advance(begun, warmup=0, draws=10)
    assert after.refused == 10
    assert np.ptp(draws.tau[0]) == 0.0
    assert "never moved" in fit_health(draws, SHORT).reasons[0]


def test_a_fit_that_fails_its_gate_goes_on_and_keeps_its_size() -> None:
    log_ratios, votes = history(5, classes=2, classifiers=1, experts=2, n=6)
    strict = Settings(chains=2, warmup=10, draws=40, extensions=2, min_ess=1e6)
    found = gibbs.fit(rng(), log_ratios, votes, classes=2, settings=strict)
    draws, health = found.draws, found.health
    assert draws.shape == (2, 40)
    assert any("effective sample size" in reason for reason in health.reasons)
    easy = replace(strict, min_ess=1e-3, max_rhat=100.0)
    found = gibbs.fit(rng(), log_ratios, votes, classes=2, settings=easy)
    draws, health = found.draws, found.health
    assert health.healthy
    assert draws.digest == gibbs.sample(rng(), log_ratios, votes, classes=2, settings=easy).digest


@pytest.mark.parametrize(
    ("log_ratios", "votes", "message"),
    [
        (np.zeros((2, 1, 1)), np.zeros((3, 2), dtype=np.int64), "do not make a history"),
        (np.zeros((2, 1, 2)), np.zeros((2, 2), dtype=np.int64), "expected 1 for 2 classes"),
        (np.zeros((1, 1, 1)), np.array([[2]]), "expected -1"),
        (np.full((1, 1, 1), np.inf), np.array([[0]]), "infinities"),
    ],
)
def test_what_is_no_history_is_refused(log_ratios: Floats, votes: Ints, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gibbs.start(rng(), log_ratios, votes, classes=2, settings=SHORT)
