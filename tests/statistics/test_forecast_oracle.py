"""Forecasts and expected entropies against quadrature over the latents and enumeration of the votes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from quorate.core.arrays import Floats
from quorate.core.case import Case, open_case
from quorate.core.choice import Choice
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.core.target import parse_target
from quorate.models.draws import Draws
from quorate.models.full.normal import prior_draws
from quorate.models.full.predictor import FullPredictor
from quorate.policy.information import InformationGain

CLIP = Settings().clip
CORNERS = [(2, 2, 1), (2, 3, 1), (3, 2, 1), (3, 3, 1), (2, 3, 2)]  # (K, H, M)


def panel_of(classes: int, experts: int, classifiers: int) -> Panel:
    return Panel(
        [f"c{k}" for k in range(classes)],
        [f"e{h}" for h in range(experts)],
        [f"m{m}" for m in range(classifiers)],
    )


def some_draws(panel: Panel, count: int, seed: int) -> Draws:
    """A few parameters with a temperature at which quadrature is exact."""
    sizes = {"classes": len(panel.classes), "classifiers": len(panel.classifiers), "experts": len(panel.experts)}
    drawn = prior_draws(np.random.default_rng(seed), **sizes, settings=Settings(), chains=2, count=count)
    return Draws(drawn.mu, drawn.s + 0.3, drawn.omega, np.full_like(drawn.tau, 0.35), **sizes)


def predictor_of(panel: Panel, draws: Draws, latents: int) -> FullPredictor:
    return FullPredictor(panel, Settings(latents=latents), draws, Health())


def exact_patterns(panel: Panel, draws: Draws, case: Case, nodes: int) -> dict[tuple[int, ...], float]:
    """Probability of every pattern of votes, by Gauss-Hermite quadrature over z given the classifiers."""
    classes, experts = len(panel.classes), len(panel.experts)
    block = classes - 1
    observed = []
    for row in case.probability_rows(classes):
        observed += np.clip(np.log(row[:-1] / row[-1]), -CLIP, CLIP).tolist()
    z_m = np.array(observed)
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    grid = np.array(list(product(points, repeat=experts * block)))
    mass = np.prod(np.array(list(product(weights, repeat=experts * block))), axis=1)
    flat = [a.reshape(-1, *a.shape[2:]) for a in (draws.mu, draws.s, draws.omega, draws.tau)]
    total = np.zeros((classes,) * experts)
    for mu, s, omega, tau in zip(*flat, strict=True):
        sigma = omega * np.outer(s, s)
        seen = np.isfinite(z_m)
        known, rest = np.flatnonzero(seen), np.arange(len(z_m), len(mu))
        gain = sigma[np.ix_(rest, known)] @ np.linalg.inv(sigma[np.ix_(known, known)])
        mean = mu[rest] + gain @ (z_m[known] - mu[known])
        cov = sigma[np.ix_(rest, rest)] - gain @ sigma[np.ix_(known, rest)]
        z = mean + grid @ np.linalg.cholesky(cov).T
        logits = np.concatenate([z.reshape(-1, experts, block), np.zeros((len(z), experts, 1))], axis=2)
        theta = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
        chance = np.exp(theta / tau) / np.exp(theta / tau).sum(axis=2, keepdims=True)
        for row in product(range(classes), repeat=experts):
            total[row] += mass @ np.prod([chance[:, h, k] for h, k in enumerate(row)], axis=0)
    return {row: float(total[row]) / len(flat[0]) for row in product(range(classes), repeat=experts)}


def exact_outcomes(table: dict[tuple[int, ...], float], seen: dict[int, int], classes: int) -> Floats:
    """Consensus given the votes seen, ties shared, one pattern at a time."""
    found = np.zeros(classes)
    for row, p in table.items():
        if all(row[h] == k for h, k in seen.items()):
            counts = Counter(row)
            leaders = [k for k in range(classes) if counts[k] == max(counts.values())]
            found[leaders] += p / len(leaders)
    return found


def exact_gain(table: dict[tuple[int, ...], float], seen: dict[int, int], expert: int, classes: int) -> float:
    def entropy(mass: Floats) -> float:
        p = mass[mass > 0] / mass.sum()
        return float(-(p * np.log(p)).sum())

    now = exact_outcomes(table, seen, classes)
    after = [exact_outcomes(table, {**seen, expert: k}, classes) for k in range(classes)]
    return entropy(now) - sum(float(a.sum() / now.sum()) * entropy(a) for a in after if a.sum() > 0)


def a_case(panel: Panel, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    given = {name: rng.dirichlet(np.ones(len(panel.classes))).tolist() for name in panel.classifiers}
    return open_case(panel, "case", given)


@pytest.mark.parametrize(("classes", "experts", "classifiers"), CORNERS)
def test_forecasts_and_gains_are_exact_up_to_monte_carlo_error(classes: int, experts: int, classifiers: int) -> None:
    panel = panel_of(classes, experts, classifiers)
    draws = some_draws(panel, 2, seed=classes * 10 + experts)
    case = a_case(panel, seed=experts)
    table = exact_patterns(panel, draws, case, nodes={1: 40, 2: 40, 3: 30, 4: 16, 6: 9}[experts * (classes - 1)])
    predictor = predictor_of(panel, draws, latents=400_000)
    target = parse_target("consensus", panel)
    for votes in ((), ((0, 1),), ((0, 1), (1, 0))):
        asked = case
        for expert, vote in votes:
            asked = asked.with_vote(expert, vote)
        forecast = predictor.forecast(np.random.default_rng(1), asked, target)
        mass = exact_outcomes(table, dict(votes), classes)
        assert np.abs(np.array(forecast.values) - mass / mass.sum()).max() < 0.005
        chances = {
            expert: [
                sum(p for row, p in table.items() if row[expert] == k and all(row[h] == v for h, v in votes))
                for k in range(classes)
            ]
            for expert in asked.unasked
        }
        gains = InformationGain().score(np.random.default_rng(0), Choice(asked, forecast, forecast.candidates))
        for name, gain in gains.items():
            assert abs(gain - exact_gain(table, dict(votes), panel.expert(name), classes)) < 0.005
        for expert in asked.unasked:
            given = np.array(chances[expert]) / sum(chances[expert])
            stated = forecast.votes[panel.experts[expert]]
            assert np.abs(given - np.array(list(stated.values()))).max() < 0.005


def test_a_missing_classifier_is_integrated_out() -> None:
    panel = panel_of(2, 2, 2)
    draws = some_draws(panel, 2, seed=4)
    case = open_case(panel, "case", {"m0": None, "m1": [0.3, 0.7]})
    predictor = predictor_of(panel, draws, latents=400_000)
    forecast = predictor.forecast(np.random.default_rng(1), case, parse_target("consensus", panel))
    # the exact answer from draws in which the absent classifier was never there
    keep = [1, 2, 3]
    without = Draws(draws.mu[..., keep], draws.s[..., keep], draws.omega[..., keep, :][..., keep], draws.tau, 2, 1, 2)
    small = Panel(panel.classes, panel.experts, ["m1"])
    table = exact_patterns(small, without, open_case(small, "case", {"m1": [0.3, 0.7]}), nodes=40)
    assert np.abs(np.array(forecast.values) - exact_outcomes(table, {}, 2)).max() < 0.005


def test_sampled_patterns_agree_with_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(3, 3, 1)
    predictor = predictor_of(panel, some_draws(panel, 50, seed=2), latents=400_000)
    target = parse_target("consensus", panel)
    case = a_case(panel, seed=1).with_vote(1, 2)
    tabled = predictor.forecast(np.random.default_rng(3), case, target)
    monkeypatch.setattr("quorate.models.full.predictor.TABLE_LIMIT", 1)
    sampled = predictor.forecast(np.random.default_rng(4), case, target)
    assert np.abs(np.array(tabled.values) - np.array(sampled.values)).max() < 0.01
    for name in tabled.joint:
        assert np.abs(tabled.joint[name] - sampled.joint[name]).max() < 0.01


def moved(draws: Draws, order: list[int]) -> Draws:
    """The same draws with the coordinates of the agents in another order."""
    return Draws(
        draws.mu[..., order],
        draws.s[..., order],
        draws.omega[..., order, :][..., order],
        draws.tau,
        draws.classes,
        draws.classifiers,
        draws.experts,
    )


def gains_of(case: Case, forecast: Forecast) -> dict[str, float]:
    return dict(InformationGain().score(np.random.default_rng(0), Choice(case, forecast, forecast.candidates)))


def test_permuting_experts_permutes_the_answers() -> None:
    panel = panel_of(2, 3, 1)
    draws = some_draws(panel, 50, seed=9)
    other = Panel(panel.classes, ["e2", "e0", "e1"], panel.classifiers)
    given = {"m0": [0.35, 0.65]}
    one, two = open_case(panel, "c", given).with_vote(0, 1), open_case(other, "c", given).with_vote(1, 1)
    rng = np.random.default_rng(0)
    first = predictor_of(panel, draws, 400_000).forecast(rng, one, parse_target("consensus", panel))
    moved_draws = moved(draws, [0, 3, 1, 2])
    second = predictor_of(other, moved_draws, 400_000).forecast(rng, two, parse_target("consensus", other))
    assert np.abs(np.array(first.values) - np.array(second.values)).max() < 0.005
    for name, gain in gains_of(one, first).items():
        assert abs(gain - gains_of(two, second)[name]) < 0.005


def test_permuting_two_classes_permutes_the_answers() -> None:
    # with two classes the other base is a change of sign of every log-ratio
    panel = panel_of(2, 3, 1)
    draws = some_draws(panel, 50, seed=9)
    flipped = Draws(-draws.mu, draws.s, draws.omega, draws.tau, 2, 1, 3)
    other = Panel(["c1", "c0"], panel.experts, panel.classifiers)
    one = open_case(panel, "c", {"m0": [1.0, 0.0]}).with_vote(0, 1)
    two = open_case(other, "c", {"m0": [0.0, 1.0]}).with_vote(0, 0)
    rng = np.random.default_rng(0)
    first = predictor_of(panel, draws, 400_000).forecast(rng, one, parse_target("consensus", panel))
    second = predictor_of(other, flipped, 400_000).forecast(rng, two, parse_target("consensus", other))
    for name, p in first.probabilities.items():
        assert abs(p - second.probabilities[name]) < 0.005


def test_permuting_classes_beside_the_base_permutes_the_answers() -> None:
    panel = panel_of(3, 2, 1)
    draws = some_draws(panel, 50, seed=9)
    other = Panel(["c1", "c0", "c2"], panel.experts, panel.classifiers)
    one = open_case(panel, "c", {"m0": [0.0, 0.3, 0.7]}).with_vote(0, 1)
    two = open_case(other, "c", {"m0": [0.3, 0.0, 0.7]}).with_vote(0, 0)
    rng = np.random.default_rng(0)
    first = predictor_of(panel, draws, 400_000).forecast(rng, one, parse_target("consensus", panel))
    swapped = moved(draws, [1, 0, 3, 2, 5, 4])
    second = predictor_of(other, swapped, 400_000).forecast(rng, two, parse_target("consensus", other))
    for name, p in first.probabilities.items():
        assert abs(p - second.probabilities[name]) < 0.005
    assert abs(gains_of(one, first)["e1"] - gains_of(two, second)["e1"]) < 0.005


@pytest.mark.parametrize("name", ["consensus", "any:c1", "all:c0", "unanimous", "weighted:e0=2", "consensus:worst=c2"])
def test_limits_hold_for_every_pattern_of_votes(name: str) -> None:
    panel = panel_of(3, 3, 1)
    predictor = predictor_of(panel, some_draws(panel, 20, seed=5), latents=2000)
    target = parse_target(name, panel)
    start = a_case(panel, seed=3)
    for row in product(range(-1, 3), repeat=3):
        case = start
        for expert, vote in enumerate(row):
            if vote >= 0:
                case = case.with_vote(expert, vote)
        forecast = predictor.forecast(np.random.default_rng(1), case, target)
        forced = target.forced(case.vote_row(), case.unasked)
        assert forecast.certain == (forced is not None)
        assert sum(forecast.values) == pytest.approx(1)
        if forced is not None:
            assert forecast.values == tuple(forced.tolist())
            assert forecast.candidates == ()
        else:
            assert forecast.error > 0  # only the votes make a forecast certain
            assert min(gains_of(case, forecast).values()) > -1e-12
