"""The shared-evidence model's particles: a short calibration, long chains, and proof that both can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quorate.core.settings import EvidenceSettings
from quorate.data.table import read_table
from tests.statistics import evidence_long, evidence_sbc

FITS = 100
WORST = 0.001
"""Smallest p-value, times the number of quantities, that still passes."""
SETTINGS = EvidenceSettings(particles=128)


def calibrated(learn: evidence_sbc.Learn, corners: tuple[evidence_sbc.Corner, ...], fits: int) -> dict[str, float]:
    return evidence_sbc.calibration(
        evidence_sbc.one_fit(3, number, corners[number % len(corners)], learn, SETTINGS) for number in range(fits)
    )


def worst(p_values: dict[str, float]) -> float:
    return min(p_values.values()) * len(p_values)


def test_the_particles_are_calibrated() -> None:
    found = calibrated(evidence_sbc.case_by_case, evidence_sbc.CORNERS, FITS)
    assert len(found) == 16
    assert worst(found) > WORST, found


def test_cases_that_count_too_often_are_found() -> None:
    corners = tuple(replace(corner, n=10, missing_votes=0.0) for corner in evidence_sbc.CORNERS[:2])
    found = calibrated(evidence_sbc.overcounted, corners, 40)
    assert worst(found) < WORST, found


@pytest.mark.panels
@pytest.mark.parametrize("name", ["chestxray", "chaoyang"])
def test_particles_agree_with_long_chains(name: str, panels: Path) -> None:
    votes = read_table(panels / f"{name}.csv")
    found = evidence_long.agreement(votes, 100, warmup=300, draws=400)
    assert found.effective > 400
    assert found.parameters < 4.0
    assert found.mean < 0.01
    assert found.largest < 0.03


@pytest.mark.panels
def test_chains_over_other_cases_do_not_agree(panels: Path) -> None:
    votes = read_table(panels / "chestxray.csv")
    cases = evidence_long.masked(votes, 100)
    particles = evidence_long.stream(cases, 2, 0)
    other = evidence_long.stream(evidence_long.masked(votes, 25), 2, 0)
    far = np.abs(
        evidence_long.forecasts(particles.theta, particles.weight, particles, votes)
        - evidence_long.forecasts(other.theta, other.weight, other, votes)
    )
    assert far.mean() > 0.01
