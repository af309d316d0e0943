"""Forecasts of panels too large for a table against panels simulated by the million, weighted by the votes seen."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from quorate.core.arrays import Floats, Ints
from quorate.core.case import Case, open_case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.compiled import kernel
from quorate.models.draws import Draws
from quorate.models.full.normal import factor, lkj, vote_probabilities
from quorate.models.full.predictor import FullPredictor
from quorate.models.patterns import effective

Votes = tuple[tuple[int, int], ...]

SHAPES = {(15, 2): [0.7, 0.3], (10, 4): [0.5, 0.2, 0.15, 0.15]}  # what the classifier says
AGREEING: tuple[Votes, ...] = ((), ((0, 0),), ((0, 0), (3, 0), (5, 0)), tuple((h, 0) for h in range(6)))
SURPRISING: dict[int, tuple[Votes, ...]] = {
    2: (((0, 1),), ((0, 1), (3, 1), (5, 0)), ((0, 1), (1, 0), (2, 1), (3, 1), (4, 1), (5, 1))),
    4: (((0, 2),), ((0, 1), (3, 1), (5, 2)), ((0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 0))),
}
TEMPERATURES = (0.01, 0.1, 0.5)
LIGHT = 1e-4
"""Weight below which a simulated panel may be dropped."""
ENOUGH, MOST = 80_000, 40_000_000
"""Effective and simulated panels at which brute force stops."""
WAYS = [(shape, tau, votes) for shape in SHAPES for tau in TEMPERATURES for votes in (*AGREEING, *SURPRISING[shape[1]])]


class Truth(NamedTuple):
    """What simulated panels do, each weighted by the probability of the votes seen."""

    outcomes: Floats  # (K,)
    votes: Floats  # (H, K)
    panels: float  # effective number of them


def panel_of(experts: int, classes: int) -> Panel:
    return Panel([f"c{k}" for k in range(classes)], [f"e{h}" for h in range(experts)], ["m"])


def agreeing(panel: Panel, tau: float) -> Draws:
    """Eight draws of a panel that agrees well, so that votes against the others are surprising."""
    rng = np.random.default_rng(3)
    block, agents, shape = len(panel.classes) - 1, len(panel.experts) + 1, (2, 4)
    size = agents * block
    omega = 0.65 * np.kron(np.ones((agents, agents)), 0.5 + 0.5 * np.eye(block)) + 0.35 * lkj(rng, size, 1.0, 8)
    s, mu = rng.uniform(0.5, 1.5, (*shape, size)), rng.normal(0.0, 0.1, (*shape, size))
    return Draws(mu, s, omega.reshape(*shape, size, size), np.full(shape, tau), block + 1, 1, agents - 1)


def experts_given(draws: Draws, observed: Floats, order: list[int]) -> list[tuple[Floats, Floats]]:
    """Mean and factor of the experts' log-ratios given the classifier, by draw, experts in an order."""
    block, size = draws.classes - 1, draws.size
    rest = block + (np.array(order)[:, None] * block + np.arange(block)).reshape(-1)
    found = []
    flat = (part.reshape(-1, *part.shape[2:]) for part in (draws.mu, draws.s, draws.omega))
    for mu, s, omega in zip(*flat, strict=True):
        sigma = omega * np.outer(s, s)
        known = np.arange(size) < block
        gain = sigma[rest][:, known] @ np.linalg.inv(sigma[known][:, known])
        left = sigma[np.ix_(rest, rest)] - gain @ sigma[known][:, rest]
        found.append((mu[rest] + gain @ (observed - mu[known]), factor(left)))
    return found


@kernel
def simulate(
    rng: np.random.Generator,
    mean: Floats,
    root: Floats,
    tau: float,
    row: Ints,
    tries: int,
    outcomes: Floats,
    votes: Floats,
) -> float:
    """Add simulated panels to weighted counts of outcomes (K,) and votes (H, K); returns the sum of squared weights.

    A panel that has become light plays a fair game: it stays as often as it is light, and then weighs more.
    """
    experts, classes = votes.shape
    block, squares = classes - 1, 0.0
    e, theta, cast, tally = np.empty(mean.shape[0]), np.empty(classes), np.empty(experts, np.int64), np.empty(classes)
    for _ in range(tries):
        weight, h = 1.0, 0
        while h < experts:
            total = 1.0
            for k in range(block):
                a = h * block + k
                e[a] = rng.standard_normal()
                z = mean[a]
                for b in range(a + 1):
                    z += root[a, b] * e[b]
                theta[k] = math.exp(z)
                total += theta[k]
            theta[block] = 1.0
            scale = 1.0 / (total * tau)
            total = 0.0
            for k in range(classes):
                theta[k] = math.exp(theta[k] * scale - 1.0 / tau)
                total += theta[k]
            if row[h] >= 0:
                cast[h] = row[h]
                weight *= theta[row[h]] / total
                if weight < LIGHT:
                    if rng.random() * LIGHT > weight:
                        break
                    weight = LIGHT
            else:
                u, cast[h] = rng.random() * total - theta[0], 0
                while u > 0.0 and cast[h] < block:
                    cast[h] += 1
                    u -= theta[cast[h]]
            h += 1
        if h == experts:
            squares += weight * weight
            tally[:] = 0.0
            for h in range(experts):
                tally[cast[h]] += 1.0
                votes[h, cast[h]] += weight
            leaders = (tally == tally.max()).sum()
            for k in range(classes):
                if tally[k] == tally.max():
                    outcomes[k] += weight / leaders
    return squares


def truth(draws: Draws, observed: Floats, seen: Votes) -> Truth:
    """The outcome and every vote, given the votes seen, by brute force over all draws alike."""
    order = [h for h, _ in seen] + [h for h in range(draws.experts) if h not in dict(seen)]
    row = np.array([dict(seen).get(h, -1) for h in order])
    rng, latents = np.random.default_rng(0), experts_given(draws, observed, order)
    outcomes, votes = np.zeros(draws.classes), np.zeros((draws.experts, draws.classes))
    squares, panels, tries = 0.0, 0.0, 0
    while panels < ENOUGH and tries < MOST:
        for mean, root in latents:
            squares += simulate(rng, mean, root, float(draws.tau[0, 0]), row, 10_000, outcomes, votes)
        tries += 10_000 * len(latents)
        panels = outcomes.sum() ** 2 / squares if squares > 0 else 0.0
    total = outcomes.sum()
    return Truth(outcomes / total, votes[np.argsort(order)] / total, panels)


def voted(panel: Panel, said: list[float], votes: Votes) -> Case:
    case = open_case(panel, "case", {"m": said})
    for expert, vote in votes:
        case = case.with_vote(expert, vote)
    return case


def stated(panel: Panel, draws: Draws, case: Case, latents: int) -> Forecast:
    predictor = FullPredictor(panel, Settings(latents=latents), draws, Health())
    return predictor.forecast(np.random.default_rng(1), case, parse_target("consensus", panel))


@pytest.mark.parametrize(("shape", "tau", "votes"), WAYS)
def test_forecasts_are_those_of_brute_force(shape: tuple[int, int], tau: float, votes: Votes) -> None:
    panel, said = panel_of(*shape), SHAPES[shape]
    draws, case = agreeing(panel, tau), voted(panel, said, votes)
    expected = truth(draws, np.log(np.array(said[:-1]) / said[-1]), votes)
    forecast = stated(panel, draws, case, latents=128_000)
    assert expected.panels > 40_000  # brute force itself is sure to .0025 or better
    assert np.array(forecast.values) == pytest.approx(expected.outcomes, abs=0.01)
    for expert in case.unasked:
        chances = list(forecast.votes[panel.experts[expert]].values())
        assert chances == pytest.approx(expected.votes[expert].tolist(), abs=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_weights_would_collapse(shape: tuple[int, int]) -> None:
    """Latents that ignore the votes are nearly all useless after surprising ones; those of the predictor are not."""
    panel, said = panel_of(*shape), SHAPES[shape]
    draws, votes = agreeing(panel, 0.01), SURPRISING[shape[1]][-1]
    observed, order = np.log(np.array(said[:-1]) / said[-1]), [expert for expert, _ in votes]
    rng, plain = np.random.default_rng(0), []
    for mean, root in experts_given(draws, observed, order):
        z = (mean + rng.standard_normal((2000, len(mean))) @ root.T).reshape(2000, len(votes), -1)
        chance = vote_probabilities(z, 0.01, temperature=True)
        plain.append(np.prod([chance[:, place, vote] for place, (_, vote) in enumerate(votes)], axis=0))
    predictor = FullPredictor(panel, Settings(latents=16_000), draws, Health())
    case = voted(panel, said, votes)
    found = predictor.patterns(np.random.default_rng(1), case)
    left = found.given(case.vote_row(), case.unasked, parse_target("consensus", panel)).latents
    assert effective(np.array(plain)) < 150  # of 16,000
    assert left > 3000
