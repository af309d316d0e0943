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
from quorate.models.health import fit_health, free_parameters, mixing

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
