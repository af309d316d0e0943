from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.models.draws import Draws
from quorate.models.full.normal import prior_draws
from quorate.models.health import (
    between_chain_ess,
    carried_health,
    fit_health,
    free_parameters,
    mixing,
    nested_rhat,
)

SETTINGS = Settings()


def made(count: int = 400) -> Draws:
    return prior_draws(
        np.random.default_rng(4), classes=2, classifiers=1, experts=2, settings=SETTINGS, chains=4, count=count
    )


def changed(draws: Draws, **arrays: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Draws:
    parts = {"mu": draws.mu, "s": draws.s, "omega": draws.omega, "tau": draws.tau, **arrays}
    return Draws(**parts, classes=2, classifiers=1, experts=2)


def test_independent_draws_are_healthy() -> None:
    health = fit_health(made(), SETTINGS)
    assert health.healthy
    assert health.rhat is not None
    assert health.rhat < 1.02
    assert health.ess is not None
    assert 1000 < health.ess < 1800


def test_the_numbers_are_those_of_arviz() -> None:
    draws = made()
    arviz: Any = import_module("arviz_stats")
    tree = draws.to_datatree(Panel(["no", "yes"], ["ann", "ben"]))
    names, values = free_parameters(draws, SETTINGS)
    rhat, bulk, tail = mixing(values)
    at, chosen = names.index("s[2]"), {"agent": "ann", "class": "no"}
    only = {"var_names": "s"}  # the unit diagonal of Omega has no R-hat
    assert rhat[at] == pytest.approx(float(arviz.rhat(tree, method="rank", **only)["s"].sel(chosen)))
    assert bulk[at] == pytest.approx(float(arviz.ess(tree, method="bulk", **only)["s"].sel(chosen)))
    assert tail[at] == pytest.approx(float(arviz.ess(tree, method="tail", prob=(0.05, 0.95), **only)["s"].sel(chosen)))


def test_chains_that_disagree() -> None:
    draws = made()
    tau = draws.tau.copy()
    tau[0] += 1.0
    health = fit_health(changed(draws, tau=tau), SETTINGS)
    assert any(reason.startswith("R-hat ") and reason.endswith("of tau is above 1.05") for reason in health.reasons)


def test_too_few_draws() -> None:
    health = fit_health(made(10), SETTINGS)
    assert any("effective sample size" in reason and "is below 100" in reason for reason in health.reasons)


def test_draws_that_are_not_finite() -> None:
    draws = made()
    omega = draws.omega.copy()
    omega[2, 5, 2, 1] = np.nan
    health = fit_health(changed(draws, omega=omega), SETTINGS, divergences=3)
    assert health.reasons == ("draws of Omega[3,2] are not finite",)
    assert health.divergences == 3


def test_draws_at_their_floors() -> None:
    draws = made()
    s, tau = draws.s.copy(), draws.tau.copy()
    s[:, :40, 1] = 1.1e-4
    tau[:, :40] = 1.1e-5
    reasons = fit_health(changed(draws, s=s, tau=tau), SETTINGS).reasons
    assert any("of s[2] lie at its floor" in reason for reason in reasons)
    assert any("of tau lie at its floor" in reason for reason in reasons)


def test_what_is_not_sampled_is_left_out() -> None:
    ablated = replace(SETTINGS, temperature=False, correlations=False)
    draws = prior_draws(
        np.random.default_rng(4), classes=2, classifiers=1, experts=2, settings=ablated, chains=4, count=400
    )
    assert fit_health(draws, ablated).healthy
    assert free_parameters(draws, ablated)[1].shape == (6, 4, 400)


def test_a_chain_that_never_moved() -> None:
    draws = made()
    tau = draws.tau.copy()
    tau[3] = 0.2
    assert fit_health(changed(draws, tau=tau), SETTINGS).reasons == ("a chain of tau never moved",)


def population(chains: int = 32, count: int = 15) -> Draws:
    return prior_draws(
        np.random.default_rng(4), classes=2, classifiers=1, experts=2, settings=SETTINGS, chains=chains, count=count
    )


def test_independent_carried_chains_are_healthy() -> None:
    draws = population()
    health = carried_health(draws, draws.last(3), SETTINGS)
    assert health.healthy
    assert health.rhat is not None
    assert health.rhat < 1.03
    assert health.ess is not None
    assert 100 < health.ess < 480  # the smallest of ten, each with the noise of 32 chain means


def test_chains_with_a_long_memory_count_as_their_number() -> None:
    draws = population(count=1)
    slow = changed(draws, **{name: np.repeat(getattr(draws, name), 15, axis=1) for name in ("mu", "s", "omega", "tau")})
    jitter = changed(slow, mu=slow.mu + 1e-9 * np.random.default_rng(0).standard_normal(slow.mu.shape))
    _, values = free_parameters(jitter, SETTINGS)
    assert between_chain_ess(values) == pytest.approx(31, abs=0.01)
    assert nested_rhat(values) < 1.3


def test_every_gate_of_carried_chains_trips() -> None:
    draws, ramp = population(), np.linspace(0.0, 1.0, 15)
    tau, s, mu = draws.tau, draws.s, draws.mu
    half = np.where(np.arange(32) < 16, 3.0, 1.0)[:, None]
    stuck = mu.copy()
    stuck[5, :, 1] = stuck[5, 0, 1]
    nan = mu.copy()
    nan[0, 0, 2] = np.nan
    tiny = s.copy()
    tiny[:, :, 1] = 1.5e-4
    slow = mu[:, :1] + 1e-5 * mu
    one = changed(draws, **{name: getattr(draws, name).copy() for name in ("mu", "s", "omega", "tau")})
    for part in (one.mu, one.s, one.omega, one.tau):
        part[7] = part[7, :1] + 1e-5 * (part[7] - part[7, :1])
    broken = {
        "the chains of mu[": changed(draws, mu=slow),
        "chain 8 hardly moved": one,
        "halves of the chains differ by ": changed(draws, tau=half * tau),
        "the chains drift by ": changed(draws, mu=mu + 0.2 * ramp[None, :, None]),
        "a chain of mu[2] never moved": changed(draws, mu=stuck),
        "draws of mu[3] are not finite": changed(draws, mu=nan),
        "100% of the draws of s[2] lie at its floor": changed(draws, s=tiny),
    }
    for reason, sick in broken.items():
        reasons = carried_health(sick, sick, SETTINGS).reasons
        assert any(found.startswith(reason) for found in reasons), (reason, reasons)
    assert carried_health(draws, draws, SETTINGS, refused=0.2).reasons[0].startswith("20% of the sweeps")


def test_a_classifier_that_hardly_varies_may_lie_at_its_floor() -> None:
    draws = population()
    s = draws.s.copy()
    s[:, :, 0] = np.random.default_rng(0).uniform(1.1e-4, 1.3e-4, s.shape[:2])
    constant = changed(draws, s=s)
    assert carried_health(constant, constant.last(3), SETTINGS).healthy


def test_healthy_chains_hardly_ever_trip_a_gate() -> None:
    trips = 0
    for seed in range(300):
        draws = prior_draws(
            np.random.default_rng(seed), classes=3, classifiers=1, experts=3, settings=SETTINGS, chains=32, count=15
        )
        trips += not carried_health(draws, draws.last(3), SETTINGS).healthy
    assert trips <= 3
