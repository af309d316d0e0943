from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quorate.core.settings import Settings
from quorate.errors import HealthError, InputError
from quorate.models.draws import Draws
from quorate.models.full import gibbs
from quorate.models.full.normal import prior_parameters, simulate
from quorate.models.full.population import (
    POOLED,
    Cases,
    Population,
    carried,
    from_fit,
    from_prior,
    longer,
    swept,
)
from quorate.models.full.stored import population_from_npz, population_to_npz

SETTINGS = Settings(population=8, chains=4, warmup=20, draws=40)


def made_up(n: int, classes: int = 2) -> Cases:
    rng = np.random.default_rng(3)
    truth = prior_parameters(rng, classes=classes, classifiers=1, experts=3, settings=SETTINGS)
    ratios, votes = simulate(rng, truth, n, classes=classes, classifiers=1, settings=SETTINGS, missing=0.4)
    return Cases(tuple(f"case-{i}" for i in range(n)), ratios, votes, classes)


def first(cases: Cases, n: int, start: int = 0) -> Cases:
    return Cases(cases.keys[start:n], cases.log_ratios[start:n], cases.votes[start:n], cases.classes)


def born(cases: Cases) -> Population:
    return from_prior(np.random.default_rng(0), first(cases, 0), SETTINGS)


def streamed(cases: Cases, upto: int) -> Population:
    chains = born(cases)
    for n in range(1, upto + 1):
        chains = swept(carried(np.random.default_rng(n), chains, first(cases, n)))
    return chains


def latents(chains: Population, row: int) -> list[list[float]]:
    return [chain.state.z[row].tolist() for chain in chains.chains.chains]


def test_before_any_case_the_chains_are_draws_from_the_prior() -> None:
    chains = born(made_up(1))
    assert chains.draws.shape[0] == 8
    for c, chain in enumerate(chains.chains.chains):
        assert chain.state.mu.tolist() == chains.draws.mu[c, 0].tolist()
        np.testing.assert_allclose(chain.state.Sigma @ chain.state.Q, np.eye(4), atol=1e-6)


def test_forecasts_pool_as_many_draws_however_they_came() -> None:
    cases = made_up(48)
    chains = streamed(cases, 48)
    assert [update.behind for update in chains.recent] == [2, 1, 0][-len(chains.recent) :]
    assert chains.draws.shape[1] == POOLED
    early = streamed(cases, 5)
    assert len(early.recent) == 1
    assert early.draws.shape[1] == POOLED


def test_cases_that_stay_keep_their_latents() -> None:
    cases = made_up(12)
    before = streamed(cases, 10)
    after = carried(np.random.default_rng(1), before, first(cases, 12))
    assert all(latents(after, row) == latents(before, row) for row in range(10))
    assert after.changed == 2
    moved = carried(np.random.default_rng(1), before, first(cases, 11, start=4))
    assert latents(moved, 0) == latents(before, 4)
    assert moved.changed == 5
    assert all(chain.state.z.shape == (7, 4) for chain in moved.chains.chains)


def test_a_late_vote_is_new_and_a_changed_vote_ends_the_pool() -> None:
    cases = made_up(45)
    before = streamed(cases, 45)
    late = cases.votes.copy()
    row, expert = np.argwhere(late < 0)[0]
    late[row, expert] = 1
    after = carried(np.random.default_rng(1), before, replace(cases, votes=late))
    assert latents(after, row) != latents(before, row)
    assert after.recent
    row, expert = np.argwhere(cases.votes >= 0)[0]
    for value in (-1, 1 - cases.votes[row, expert]):
        changed = cases.votes.copy()
        changed[row, expert] = value
        after = carried(np.random.default_rng(1), before, replace(cases, votes=changed))
        assert not after.recent
        assert after.changed == 10
        assert swept(after).draws.shape[1] == POOLED


def test_broken_chains_are_replaced_at_the_door() -> None:
    cases = made_up(6)
    chains = streamed(cases, 5)
    chains.chains.chains[2].state.mu[0] = np.nan
    chains.chains.chains[7].state.Sigma[:] = 1.0
    after = carried(np.random.default_rng(9), chains, cases)
    third, fourth = after.chains.chains[2:4]
    assert third.state.z.tolist() == fourth.state.z.tolist()
    assert after.chains.chains[7].state.Sigma.tolist() == after.chains.chains[0].state.Sigma.tolist()
    moved = swept(after).chains.chains
    assert moved[2].state.mu.tolist() != moved[3].state.mu.tolist()
    chains.chains.chains[4].state.tau[0] = np.nan
    with pytest.raises(HealthError, match="3 of 8 chains are not finite"):
        carried(np.random.default_rng(9), chains, cases)


def test_chains_go_on_from_a_long_fit() -> None:
    cases = made_up(30)
    found = gibbs.fit(np.random.default_rng(0), cases.log_ratios, cases.votes, classes=2, settings=SETTINGS)
    assert len(found.moments) == 2
    chains = from_fit(np.random.default_rng(1), cases, found.moments, found.draws)
    assert len(chains.chains.chains) == 8
    assert chains.draws.shape[0] == 8
    assert chains.chains.chains[1].state.mu.tolist() == found.draws.mu[0, -1].tolist()
    further = longer(chains, 5).draws
    assert len({float(tau) for tau in further.tau[:, 0]}) == 8  # no two share a generator


def test_stored_and_resumed_to_the_bit() -> None:
    cases = made_up(45, classes=3)
    whole = streamed(cases, 44)
    content = population_to_npz(whole)
    resumed = population_from_npz(content, SETTINGS)
    assert population_to_npz(resumed) == content
    digests: list[Draws] = []
    for chains in (whole, resumed):
        digests.append(longer(chains, 3).draws)
        digests.append(swept(carried(np.random.default_rng(5), chains, cases)).draws)
    assert digests[0].digest == digests[2].digest
    assert digests[1].digest == digests[3].digest


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", made_up(1).votes.tobytes()])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="not chains of quorate"):
        population_from_npz(content, SETTINGS)
