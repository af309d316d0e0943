"""The plots of a comparison draw what they are given, whatever is missing from it."""

from __future__ import annotations

import dataclasses

import pytest

from quorate.reporting import comparison_plots as plots
from quorate.reporting.comparison import Comparison
from quorate.reporting.style import METHODS, MUTED, to_png, to_svg
from tests.unit.reporting.comparisons import point, small_comparison, with_floor

PNG = b"\x89PNG"
ALL = (plots.error_cost, plots.promise, plots.over_time, plots.by_class)


def without(comparison: Comparison, *names: str) -> Comparison:
    kept = tuple(curve for curve in comparison.curves if curve.method not in names)
    return dataclasses.replace(comparison, curves=kept)


def labels(comparison: Comparison) -> list[str]:
    return plots.error_cost(comparison).axes[0].get_legend_handles_labels()[1]


def test_methods_that_stop_by_their_error_have_a_colour_and_the_others_a_mark() -> None:
    style = plots.looks(small_comparison())
    assert [style[name].colour for name in ("bayes", "infexp")] == list(METHODS[:2])
    assert {style[name].colour for name in ("majority:1", "until-determined", "all", "classifier")} == {MUTED}
    assert style["majority:1"].text == "1"
    assert len({(look.colour, look.mark) for look in style.values()}) == len(style)


def test_both_0_and_5_percent_stand_on_the_scale_and_apart() -> None:
    axes = plots.error_cost(small_comparison()).axes[0]
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert {"0 %", "5 %"} <= set(ticks)
    ends = axes.transData.transform([(0, 0), (0, 0.05), (0, axes.get_ylim()[1])])[:, 1]
    assert (ends[1] - ends[0]) / (ends[2] - ends[0]) > 0.25


def test_the_whole_panel_is_always_drawn_once() -> None:
    assert labels(small_comparison()).count("whole panel") == 1
    assert labels(without(small_comparison(), "all")).count("whole panel") == 1


def test_cost_takes_the_place_of_queries_where_votes_have_a_price() -> None:
    assert plots.error_cost(small_comparison()).axes[0].get_xlabel() == "queries a case"
    axes = plots.error_cost(small_comparison(price=3.0)).axes[0]
    assert axes.get_xlabel() == "cost of a case"
    assert axes.get_xlim()[1] >= 9


@pytest.mark.parametrize("draw", ALL)
def test_names_are_never_read_as_mathematics(draw: object) -> None:
    comparison = small_comparison(outcomes=("$x", "a_{b}$", "c"), experts=("$1", "b", "c"))
    assert callable(draw)
    assert to_png(draw(comparison), dpi=40).startswith(PNG)


@pytest.mark.parametrize("draw", [draw for draw in ALL if draw is not plots.promise])
def test_simple_methods_alone_can_be_drawn(draw: object) -> None:
    assert callable(draw)
    assert to_png(draw(without(small_comparison(), "bayes", "infexp")), dpi=40).startswith(PNG)


def test_a_method_that_failed_at_one_allowed_error_is_drawn_at_the_others() -> None:
    comparison = small_comparison()
    cut = dataclasses.replace(comparison.curves[0], points=comparison.curves[0].points[1:])
    comparison = dataclasses.replace(comparison, curves=(cut, *comparison.curves[1:]))
    for draw in ALL:
        figure = draw(comparison)
        assert cut.method in to_svg(figure, "cut")
        assert to_png(figure, dpi=40).startswith(PNG)


def test_errors_up_to_one_and_runs_of_a_single_case_can_be_drawn() -> None:
    comparison = small_comparison()
    all_wrong = dataclasses.replace(point(None, 0.0, 1.0), queries_by_place=(0.0,))
    curve = dataclasses.replace(comparison.curves[-1], points=(all_wrong,))
    comparison = dataclasses.replace(comparison, curves=(curve,), differences=())
    for draw in ALL:
        if draw is not plots.promise:
            assert to_png(draw(comparison), dpi=40).startswith(PNG)


def test_a_floor_is_dashed_and_says_that_it_is_one() -> None:
    comparison = with_floor(small_comparison(), "hindsight:paper")
    name = "floor: fitted in hindsight (paper)"
    assert plots.looks(comparison)["bayes"] == plots.looks(small_comparison())["bayes"]
    for draw in (plots.error_cost, plots.over_time):
        axes = draw(comparison).axes[0]
        lines = [line for line in axes.get_lines() if line.get_label() == name]
        assert [line.is_dashed() for line in lines] == [True]
    for draw in (plots.promise, plots.by_class):
        assert "hindsight" not in to_svg(draw(comparison), "x")
    alone = dataclasses.replace(comparison, curves=comparison.curves[-1:], differences=())
    for draw in (plots.error_cost, plots.over_time):
        assert to_png(draw(alone), dpi=40).startswith(PNG)
