from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.case import Case
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.errors import HealthError
from quorate.models.draws import Draws
from quorate.models.full import gibbs, learner, population
from quorate.models.full.gibbs import Chains
from quorate.models.full.learner import FullLearner
from quorate.models.full.predictor import FullPredictor

PANEL = Panel(["no", "yes"], ["ann", "ben", "cho"], ["net"])
SETTINGS = Settings(population=16, warmup=60, draws=150, extensions=2, min_ess=10, max_rhat=1.3)
LEARNER = FullLearner(SETTINGS)


def history(n: int) -> History:
    rng = np.random.default_rng(1)
    cases = []
    for i in range(n):
        p = float(rng.uniform(0.05, 0.95))
        votes = tuple((h, int(rng.random() < p)) for h in range(3) if rng.random() < 0.7)
        cases.append(Case(f"case-{i}", ((1 - p, p),), (True, True, True), votes))
    return History(PANEL, tuple(cases))


def learned(seed: int, past: History, previous: FullPredictor | None) -> FullPredictor:
    found = LEARNER.update(np.random.default_rng(seed), past, previous)
    assert isinstance(found, FullPredictor)
    return found


def streamed(upto: int) -> FullPredictor:
    found = learned(0, history(0), None)
    for n in range(1, upto + 1):
        found = learned(n, history(n), found)
    return found


def no_long_fit(*_: object, **__: object) -> gibbs.Fit:
    raise AssertionError("a long fit was started")


def test_without_cases_the_prior_is_known_exactly() -> None:
    found = learned(0, history(0), None)
    assert found.health.healthy
    assert found.population is not None
    assert found.draws.shape[0] == 16


def test_cases_are_taken_in_by_the_chains_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gibbs, "fit", no_long_fit)
    found = streamed(6)
    assert found.health.healthy
    assert found.population is not None
    assert found.population.cases.keys == tuple(f"case-{i}" for i in range(6))
    again = streamed(6)
    assert again.draws.digest == found.draws.digest
    window = learned(7, History(PANEL, history(7).cases[3:]), found)
    assert window.population is not None
    assert len(window.population.cases) == 4


def test_a_history_from_elsewhere_starts_with_a_long_fit() -> None:
    found = learned(0, history(30), None)
    assert found.draws.shape == (4, 150)
    assert found.population is not None
    assert len(found.population.chains.chains) == 16
    prior = learned(0, history(0), None)
    assert learned(1, history(30), prior).draws.shape == (4, 150)  # too many new cases at once
    assert learned(1, history(31), found).draws.shape == (16, population.POOLED)


def frozen(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: it never moves."""
    del warmup
    _, moved = gibbs.advance(chains, warmup=0, draws=1)
    mu, s, omega, tau = (np.repeat(part, draws, axis=1) for part in (moved.mu, moved.s, moved.omega, moved.tau))
    return chains, Draws(mu, s, omega, tau, moved.classes, moved.classifiers, moved.experts)


def two_minded(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: the second half of its chains believes in another prior."""
    other = replace(chains, prior=chains.prior._replace(sigma_sigma=0.05))
    half = len(chains.chains) // 2
    low, a = gibbs.advance(replace(chains, chains=chains.chains[:half]), warmup=warmup, draws=draws)
    high, b = gibbs.advance(replace(other, chains=chains.chains[half:]), warmup=warmup, draws=draws)
    mu, s, omega, tau = (np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("mu", "s", "omega", "tau"))
    drawn = Draws(mu, s, omega, tau, a.classes, a.classifiers, a.experts)
    return replace(low, chains=(*low.chains, *high.chains)), drawn


def creeping(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: its steps have shrunk to almost nothing."""
    _, first = frozen(chains, warmup=warmup, draws=draws)
    _, later = gibbs.advance(chains, warmup=warmup, draws=draws)
    mu, s, omega, tau = (
        a + 1e-6 * (b - a)
        for a, b in ((getattr(first, name), getattr(later, name)) for name in ("mu", "s", "omega", "tau"))
    )
    return chains, Draws(mu, s, omega, tau, first.classes, first.classifiers, first.experts)


def trailing(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: all chains still move towards where they should be."""
    after, moved = gibbs.advance(chains, warmup=warmup, draws=draws)
    lag = np.linspace(1.5, 0.0, draws)[None, :, None]
    return after, Draws(
        moved.mu, moved.s * np.exp(lag), moved.omega, moved.tau, moved.classes, moved.classifiers, moved.experts
    )


def sinking(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: one scale falls to its floor and stays there."""
    after, moved = gibbs.advance(chains, warmup=warmup, draws=draws)
    s = moved.s.copy()
    s[:, :, 1] = 1.1e-4 + 1e-5 * np.random.default_rng(0).random(s.shape[:2])
    return after, Draws(moved.mu, s, moved.omega, moved.tau, moved.classes, moved.classifiers, moved.experts)


def refusing(chains: Chains, *, warmup: int, draws: int) -> tuple[Chains, Draws]:
    """A sampler broken on purpose: a good part of its sweeps makes the covariance singular and is undone."""
    after, moved = gibbs.advance(chains, warmup=warmup, draws=draws)
    return replace(after, refused=after.refused + (warmup + draws) * len(chains.chains) // 5), moved


@pytest.mark.parametrize("broken", [frozen, two_minded, creeping, trailing, sinking, refusing])
def test_chains_that_fail_their_gate_are_given_up_for_a_long_fit(
    broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = streamed(25)
    monkeypatch.setattr(population, "advance", broken)
    tries: list[int] = []

    def counted(chains: population.Population, sweeps: int) -> population.Population:
        tries.append(sweeps)
        return population.longer(chains, sweeps)

    monkeypatch.setattr(learner, "longer", counted)
    found = learned(26, history(26), before)
    assert tries == [30, 60, 120]
    assert found.draws.shape == (4, 150)
    assert found.health.healthy


def test_what_still_fails_after_a_long_fit_is_unhealthy_until_one_passes() -> None:
    strict = FullLearner(replace(SETTINGS, min_ess=1e9, extensions=0))
    found = strict.update(np.random.default_rng(0), history(30), None)
    assert not found.health.healthy
    later = strict.update(np.random.default_rng(1), history(31), found)
    assert not later.health.healthy  # its chains are not carried on as if they had agreed
    assert learned(1, history(31), found if isinstance(found, FullPredictor) else None).health.healthy


def test_a_sampler_that_gives_nothing_leaves_what_was_learned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> gibbs.Fit:
        raise HealthError("the sampler gave nothing that may be used")

    before = learned(0, history(30), None)
    monkeypatch.setattr(gibbs, "fit", nothing)
    monkeypatch.setattr(population, "advance", frozen)
    found = learned(1, history(31), before)
    assert found.draws is before.draws
    assert found.health.reasons == ("the sampler gave nothing that may be used",)
    with pytest.raises(HealthError):
        learned(1, history(31), None)


LARGER = PANEL.with_expert("dee").with_classifier("vit")


def test_a_panel_that_has_grown_is_learned_from_nothing() -> None:
    before, grown = streamed(4), history(30).grown(LARGER)
    found = learned(5, grown, before)
    assert found.panel == LARGER
    assert (found.draws.experts, found.draws.classifiers) == (4, 2)
    assert found.draws.shape == (4, 150)
    assert found.draws.digest == learned(5, grown, streamed(6)).draws.digest  # nothing of it flows in
    few = learned(5, history(4).grown(LARGER), before)
    assert few.population is not None
    assert len(few.population.cases) == 4
    assert learned(6, history(5).grown(LARGER), few).draws.shape == (16, population.POOLED)


def test_where_a_grown_panel_gives_nothing_usable_the_prior_stands_in_marked_as_unhealthy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> gibbs.Fit:
        raise HealthError("no chain is finite")

    before = streamed(2)
    monkeypatch.setattr(gibbs, "fit", broken)
    found = learned(3, history(30).grown(LARGER), before)
    assert found.health.reasons == ("no chain is finite",)
    assert found.panel == LARGER
    assert found.draws.experts == 4
