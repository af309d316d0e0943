"""What audits come to: the error found with its exact interval, beside the error stated."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.assurance.audit import Checked, audited


def test_nothing_is_known_without_audits() -> None:
    found = audited([])
    assert (found.cases, found.rate, found.low, found.high, found.bins) == (0, None, 0.0, 1.0, ())
    assert found.honest


def test_errors_are_counted_and_bounded() -> None:
    found = audited([Checked(0.98, 0.02, 1.0)] * 48 + [Checked(0.98, 0.02, 0.0)] * 2)
    assert (found.errors, found.rate) == (2.0, 0.04)
    assert found.stated == pytest.approx(1.0)
    assert found.low < 0.02 < found.high
    assert found.honest


def test_a_tie_counts_by_its_share_and_is_bounded_with_care() -> None:
    found = audited([Checked(0.9, 0.1, 0.5)])
    assert found.errors == 0.5
    assert found.high == 1.0


def test_a_stated_error_far_below_what_is_found_is_not_honest() -> None:
    found = audited([Checked(0.999, 0.001, 1.0)] * 40 + [Checked(0.999, 0.001, 0.0)] * 10)
    assert not found.honest


def test_the_interval_covers_the_true_error() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        wrong = rng.random(60) < 0.07
        found = audited([Checked(0.93, 0.07, float(not one)) for one in wrong])
        covered += found.low <= 0.07 <= found.high
    assert covered / 400 >= 0.95
