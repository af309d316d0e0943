"""The plots of a running study show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from quorate.assurance.audit import Checked, audited
from quorate.reporting import board_plots as plots
from quorate.reporting.style import INK, LIGHT_AND_DARK

NOTHING = audited([])


def test_votes_of_each_case_and_their_mean() -> None:
    figure = plots.queries([3, 1, 2], 11, 5.0)
    each, mean, whole = figure.axes[0].lines
    assert np.asarray(each.get_xdata()).tolist() == [11, 12, 13]
    assert np.asarray(each.get_ydata()).tolist() == [3, 1, 2]
    assert np.asarray(mean.get_ydata()).tolist() == pytest.approx([3, 2, 2])
    assert np.asarray(whole.get_ydata()).tolist() == [5, 5]


def test_the_running_mean_forgets() -> None:
    values = np.array([10.0] * 5 + [0.0] * 5)
    assert plots.running_mean(values, window=5)[-1] == 0
    assert plots.running_mean(values, window=100)[-1] == 5


def test_the_errors_with_the_interval_of_audits() -> None:
    audit = audited([Checked(0.99, 0.01, 1.0)] * 49 + [Checked(0.99, 0.01, 0.0)])
    lines = {str(line.get_label()): line for line in plots.errors(0.01, audit, 0.02).axes[0].lines}
    assert np.asarray(lines["stated, on average"].get_xdata()).tolist() == [0.01]
    assert np.asarray(lines["audited, with its 95 % interval"].get_xdata()).tolist() == [0.02]
    interval = next(
        line for line in lines.values() if len(np.asarray(line.get_ydata())) == 2 and line.get_linewidth() == 4
    )
    assert np.asarray(interval.get_xdata()).tolist() == [audit.low, audit.high]


def test_errors_without_audits_say_so() -> None:
    texts = [text.get_text() for text in plots.errors(0.01, NOTHING, 0.02).axes[0].texts]
    assert texts == ["none yet"]


def test_a_reliability_diagram_has_a_dot_a_bin() -> None:
    audit = audited([Checked(0.97, 0.03, 1.0)] * 3 + [Checked(0.7, 0.3, 0.0), Checked(0.7, 0.3, 1.0)])
    dots = [line for line in plots.reliability_diagram(audit).axes[0].lines if line.get_marker() == "o"]
    found = [(float(np.asarray(dot.get_xdata())[0]), float(np.asarray(dot.get_ydata())[0])) for dot in dots]
    assert np.array(found) == pytest.approx(np.array([[0.7, 0.5], [0.97, 1.0]]))


def test_agreement_is_a_share_of_the_cases_that_both_voted_on() -> None:
    same, both = np.array([[0, 3, 0], [3, 0, 1], [0, 1, 0]]), np.array([[0, 4, 0], [4, 0, 1], [0, 1, 0]])
    figure = plots.agreement(["ann", "ben", "cho"], same, both)
    assert [text.get_text() for text in figure.axes[0].texts] == ["75", "100"]


def test_load_stacks_what_was_done_and_what_waits() -> None:
    figure = plots.load([plots.Load("ann", 5, 2, 1), plots.Load("ben", 0, 0, 0)])
    widths = [bar.get_width() for bar in figure.axes[0].patches if isinstance(bar, Rectangle)]
    assert widths == [5, 0, 2, 0, 1, 0]


def test_a_drawing_has_no_style_and_follows_the_theme() -> None:
    light, dark = plots.themed_svg(plots.load([plots.Load('a "style" <b>', 1, 0, 0)]), "load")
    for svg in (light, dark):
        assert "<style" not in svg
        assert "style=" not in svg
        assert "&lt;b&gt;" in svg
    assert INK in light
    assert INK not in dark
    assert LIGHT_AND_DARK["ink"][1] in dark
