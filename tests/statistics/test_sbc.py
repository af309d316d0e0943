"""A short simulation-based calibration, and proof that it can fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from quorate.core.settings import Settings
from quorate.models.full.normal import prior_parameters, vote_probabilities
from tests.statistics import sbc

FITS = 105
WORST = 0.001
"""Smallest p-value, times the number of quantities, that still passes."""


def worst(p_values: dict[str, float]) -> float:
    return min(p_values.values()) * len(p_values)


def calibrated(sampler: sbc.Sampler, corners: tuple[sbc.Corner, ...], fits: int) -> dict[str, float]:
    return sbc.calibration(sbc.one_fit(7, number, corners[number % len(corners)], sampler) for number in range(fits))


def test_the_sampler_is_calibrated() -> None:
    found = calibrated(sbc.gibbs_sampler, sbc.CORNERS + sbc.ABLATIONS, FITS)
    assert len(found) == 11
    assert worst(found) > WORST, found


def test_a_broken_sampler_fails() -> None:
    found = calibrated(sbc.wrong_prior_sampler, sbc.CORNERS[:2], 40)
    assert worst(found) < WORST, found


def test_the_thresholds_can_be_reached() -> None:
    """A p-value has a smallest value; if all of them together passed with that, no sampler could ever fail."""
    assert worst(dict.fromkeys("abcdefghijk", 1 / sbc.SIMULATIONS)) < WORST
    assert sbc.band_end(4 * 11) > 1 / sbc.SIMULATIONS


def test_the_band_holds_for_uniform_ranks_and_no_others() -> None:
    rng = np.random.default_rng(0)
    passed = [sbc.p_value(rng.integers(0, 65, 100), 64) for _ in range(60)]
    assert np.mean(np.array(passed) < 0.2) == pytest.approx(0.2, abs=0.16)
    assert sbc.p_value(rng.binomial(64, 0.5, 100), 64) < WORST
    assert sbc.p_value(np.minimum(rng.integers(0, 80, 100), 64), 64) < 0.05


@pytest.mark.parametrize("corner", sbc.CORNERS)
def test_the_chance_of_a_vote_is_that_of_latents_given_the_classifiers(corner: sbc.Corner) -> None:
    """Against draws of everybody's latents, weighted by how near the classifiers' are to those observed."""
    rng, first = np.random.default_rng(3), corner.classifiers * (corner.classes - 1)
    sizes = {"classes": corner.classes, "classifiers": corner.classifiers, "experts": corner.experts}
    truth = prior_parameters(rng, **sizes, settings=Settings())
    omega, s, tau = 0.5 * (truth.omega + np.eye(len(truth.mu))), truth.s + 0.3, 0.3
    observed = np.full(first, 0.3)
    found = sbc.vote_chance(truth.mu[None], s[None], omega[None], np.array([tau]), observed, corner)[0]
    z = truth.mu + rng.standard_normal((400_000, len(truth.mu))) @ np.linalg.cholesky(omega * np.outer(s, s)).T
    near = np.exp(-0.5 * (((z[:, :first] - observed) / 0.1) ** 2).sum(axis=1))
    shares = vote_probabilities(z[:, first : first + corner.classes - 1], tau, temperature=True)[:, 0]
    assert found == pytest.approx(float(near @ shares / near.sum()), abs=0.03)


def test_fits_go_on_where_they_stopped_and_leave_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[int] = []

    def quick(_seed: int, number: int, _corner: sbc.Corner, _sampler: sbc.Sampler) -> dict[str, int]:
        run.append(number)
        return {"tau": number}

    monkeypatch.setattr(sbc, "one_fit", quick)
    path = tmp_path / "made" / "sbc.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({"seed": 1, "fit": 0, "corner": 0, "ranks": {"tau": 7}}) + "\n")
    assert sbc.fits(2, 1, path) == [{"tau": 0}, {"tau": 1}]
    assert sbc.fits(3, 1, path) == [{"tau": 0}, {"tau": 1}, {"tau": 2}]
    assert run == [0, 1, 2]
    monkeypatch.setattr(sbc, "NODES", sbc.NODES + 1)
    sbc.fits(1, 1, path)
    assert run == [0, 1, 2, 0]
    assert len(path.read_text().splitlines()) == 5


@pytest.mark.parametrize(("least", "verdict", "code"), [(0.002, "inside", 0), (0.001, "OUTSIDE", 1)])
def test_the_verdict_counts_every_quantity_of_every_corner(
    least: float, verdict: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The band ends at .05 / 44 = .00114."""
    monkeypatch.setattr(sbc, "fits", lambda count, _seed, _path: [{}] * count)
    monkeypatch.setattr(sbc, "calibration", lambda _records: dict.fromkeys("abcdefghijk", least))
    monkeypatch.setattr("sys.argv", ["sbc", "--fits", "6"])
    assert sbc.main() == code
    assert verdict in capsys.readouterr().out
