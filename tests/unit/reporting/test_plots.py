"""The plots show the numbers they are given: read back from their artists."""

import builtins
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from quorate.assurance.summary import exact_interval, summarise
from quorate.errors import InputError, MissingExtraError
from quorate.reporting import plots
from quorate.reporting.replay import Correlation
from quorate.reporting.style import shorten, to_png, to_svg
from tests.unit.reporting.replay_reports import scored_case, small_report

REPORT = small_report()


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (found,) = [line for line in axes.lines if line.get_label() == label]
    return np.asarray(found.get_xdata()).tolist(), np.asarray(found.get_ydata()).tolist()


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def tick_names(ticks: list[Any]) -> list[str]:
    return [tick.get_text() for tick in ticks]


def test_queries_over_time_shows_every_case_the_running_mean_and_the_panel() -> None:
    axes = axes_of(plots.queries_over_time(REPORT.scored, REPORT.summary))
    assert line(axes, "each case")[1] == [3, 2, 2, 1, 0, 1, 1, 1, 0, 1]
    assert line(axes, "mean of the last 25")[1] == list(REPORT.summary.running_queries)
    assert line(axes, "whole panel (3)")[1] == [3, 3]


def test_stated_and_actual_are_cumulative_and_leave_ties_out() -> None:
    axes = axes_of(plots.stated_and_actual(REPORT.scored))
    assert line(axes, "actual")[1] == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    stated = line(axes, "stated")[1]
    assert stated[5] == stated[6]
    assert stated[-1] == pytest.approx(0.0 + 4 * 0.004 + 0.0005 + 0.008 + 0.004 + 0.009)


def test_error_band_agrees_with_simulation() -> None:
    chance = np.linspace(0.0, 0.2, 60)
    errors = (np.random.default_rng(0).random((200_000, 60)) < chance).cumsum(axis=1)
    low, high = plots.error_band(chance)
    assert np.abs(low - np.quantile(errors, 0.025, axis=0, method="inverted_cdf")).max() <= 1
    assert np.abs(high - np.quantile(errors, 0.975, axis=0, method="inverted_cdf")).max() <= 1
    inside = ((errors >= low) & (errors <= high)).mean(axis=0)
    assert inside.min() > 0.945


def test_reliability_groups_by_stated_error_with_exact_intervals() -> None:
    axes = axes_of(plots.reliability_plot(REPORT.scored))
    assert tick_names(axes.get_yticklabels()) == ["certain", "up to 0.1 %", "0.3 to 1 %"]
    assert texts(axes) == ["0 of 1", "0 of 1", "1 of 7"]
    ends = [np.asarray(found.get_xdata()).tolist() for found in axes.lines if len(np.asarray(found.get_xdata())) == 2]
    assert ends == [list(exact_interval(0, 1)), list(exact_interval(1, 7))]


def test_who_was_asked_stacks_the_places() -> None:
    axes = axes_of(plots.who_was_asked(REPORT.summary))
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    widths = [round(bar.get_width(), 6) for bar in bars]
    first, second, third, nobody = widths[0:3], widths[3:6], widths[6:9], widths[9]
    assert first == [0.1, 0.6, 0.1]
    assert second == [0.2, 0.1, 0.0]
    assert third == [0.0, 0.0, 0.1]
    assert nobody == 0.2
    assert texts(axes) == ["30 %", "70 %", "20 %", "20 %"]
    assert tick_names(axes.get_yticklabels()) == ["ann", "ben", "cho", "no one"]


def test_many_places_are_gathered_in_the_last() -> None:
    experts = tuple(f"e{n}" for n in range(8))
    summary = summarise([scored_case(0, experts)], experts=experts, outcomes=("normal", "abnormal"))
    figure = plots.who_was_asked(summary)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "fifth or later"
    assert texts(axes_of(figure)) == ["100 %"] * 8


def test_error_by_outcome_counts() -> None:
    axes = axes_of(plots.error_by_outcome(REPORT.summary))
    assert tick_names(axes.get_yticklabels()) == ["normal", "abnormal"]
    assert texts(axes) == ["0 of 6", "1 of 3"]


def test_an_outcome_without_cases_says_so() -> None:
    summary = summarise([scored_case(0)], experts=("ann",), outcomes=("normal", "abnormal"))
    assert texts(axes_of(plots.error_by_outcome(summary))) == ["0 of 1", "no case"]


def test_correlation_map_writes_the_lower_triangle() -> None:
    omega = np.array([[1.0, -0.3, 0.7], [-0.3, 1.0, 0.05], [0.7, 0.05, 1.0]])
    axes = axes_of(plots.correlation_map(Correlation(("net", "ann", "ben"), ("no", "yes"), omega)))
    assert texts(axes) == ["\N{MINUS SIGN}0.30", "0.70", "0.05"]
    assert tick_names(axes.get_xticklabels()) == ["net", "ann"]
    assert tick_names(axes.get_yticklabels()) == ["ann", "ben"]


def test_correlation_of_blocks_is_the_mean_over_matching_log_ratios() -> None:
    omega = np.eye(4)
    omega[0, 2] = omega[2, 0] = 0.8
    omega[1, 3] = omega[3, 1] = 0.2
    omega[0, 3] = omega[3, 0] = -0.9  # log-ratios that do not match say nothing here
    found = Correlation(("net", "ann"), ("a", "b", "c"), omega).by_agent()
    assert found == pytest.approx(np.array([[1.0, 0.5], [0.5, 1.0]]))


def test_correlation_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"have the shape \(4, 4\), got \(3, 3\)"):
        Correlation(("net", "ann"), ("a", "b", "c"), np.eye(3))


@pytest.mark.parametrize("name", ["$\\frac{", "名医", "a" * 200, "line\nbreak", "<script>", "🩺"])
def test_any_name_can_be_drawn(name: str) -> None:
    report = small_report((name, "ben", "cho"), (f"{name} class", "other"))
    assert report.correlation is not None
    for figure in (
        plots.who_was_asked(report.summary),
        plots.error_by_outcome(report.summary),
        plots.correlation_map(report.correlation),
    ):
        assert to_png(figure, dpi=40).startswith(b"\x89PNG")
        ET.fromstring(to_svg(figure, "plot"))  # noqa: S314  # our own text


def test_one_case_and_one_expert_can_be_drawn() -> None:
    case = scored_case(0, ("ann",))
    summary = summarise([case], experts=("ann",), outcomes=("normal", "abnormal"))
    for figure in (
        plots.queries_over_time([case], summary),
        plots.stated_and_actual([case]),
        plots.reliability_plot([case]),
        plots.who_was_asked(summary),
        plots.error_by_outcome(summary),
    ):
        assert to_png(figure, dpi=40).startswith(b"\x89PNG")


def test_a_replay_of_ties_alone_can_be_drawn() -> None:
    case = scored_case(0, truth=("normal", "abnormal"), stated=0.5)
    assert to_png(plots.reliability_plot([case]), dpi=40)
    assert to_png(plots.stated_and_actual([case]), dpi=40)


def test_svg_has_its_own_ids_and_follows_the_theme() -> None:
    svg = to_svg(plots.who_was_asked(REPORT.summary), "asked")
    root = ET.fromstring(svg)  # noqa: S314  # our own text
    ids = [found for node in root.iter() if (found := node.get("id"))]
    assert all(found.startswith("asked-") for found in ids)
    assert len(ids) == len(set(ids))
    assert "var(--place-1, " in svg
    assert "ann" in "".join(root.itertext())
    assert svg == to_svg(plots.who_was_asked(REPORT.summary), "asked")


def test_shorten_keeps_names_on_one_line() -> None:
    assert shorten("a\tb\nc") == "a b c"
    assert len(shorten("x" * 99)) == 20


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for module in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"quorate\[plots\]"):
        plots.who_was_asked(REPORT.summary)
