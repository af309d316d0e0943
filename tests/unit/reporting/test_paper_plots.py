"""What the drawings of the paper's results may not claim."""

from __future__ import annotations

import numpy as np

from quorate.reporting.paper_plots import GAP, _smooth


def test_a_curve_reaches_no_error_only_where_none_was_made() -> None:
    x, y = [0.3, 0.8, 1.2, 1.5, 1.7, 1.9, 2.1, 2.4], [0.08, 0.04, 0.02, 0.006, 0.003, 0.001, 0.0003, 0.0]
    at, smooth = _smooth(x, y)
    assert at.tolist() == x
    assert (smooth[:-1] > 0).all()
    assert (smooth >= 0).all()


def test_a_curve_is_broken_off_over_a_gap() -> None:
    x = [0.0, 0.1, 1.1 + GAP, 1.2 + GAP, 1.3 + GAP, 1.4 + GAP, 1.5 + GAP]
    at, smooth = _smooth(x, [0.5, 0.45, 0.02, 0.02, 0.01, 0.01, 0.0])
    assert np.isnan(at).tolist() == np.isnan(smooth).tolist()
    assert np.flatnonzero(np.isnan(at)).tolist() == [2]
