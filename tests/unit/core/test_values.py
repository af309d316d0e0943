"""Panels, cases, histories, settings and forecasts: what they accept and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from quorate.core.case import open_case, probability_row
from quorate.core.forecast import Forecast
from quorate.core.history import History
from quorate.core.panel import Panel
from quorate.core.settings import Settings
from quorate.errors import InputError, PanelError, SettingsError

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet", "resnet"])


@pytest.mark.parametrize(
    ("classes", "experts", "message"),
    [
        (["one"], ["ann"], "at least 2 classes, got 1"),
        (["a", "b"], [], "at least 1 experts, got 0"),
        (["a", "a"], ["ann"], "class 'a' is named twice"),
        (["a", ""], ["ann"], "class '' is not a name"),
        (["a", 3], ["ann"], "class 3 is not a name"),
        ("ab", ["ann"], "must be a list of names"),
    ],
)
def test_a_panel_says_what_is_wrong_with_it(classes: list[str], experts: list[str], message: str) -> None:
    with pytest.raises(PanelError, match=message):
        Panel(classes, experts)


def test_names_are_found_or_listed() -> None:
    assert PANEL.classifier("resnet") == 1
    with pytest.raises(PanelError, match="no expert 'zed'; the panel has ann, ben, cho"):
        PANEL.expert("zed")


def test_a_panel_grows_at_its_end() -> None:
    larger = PANEL.with_expert("dee").with_classifier("vit")
    assert larger == Panel(PANEL.classes, [*PANEL.experts, "dee"], [*PANEL.classifiers, "vit"])
    assert PANEL.experts == ("ann", "ben", "cho")  # the panel before is another value
    with pytest.raises(PanelError, match="expert 'ben' is named twice"):
        PANEL.with_expert("ben")
    with pytest.raises(PanelError, match="classifier '' is not a name"):
        PANEL.with_classifier("")


def test_what_votes_cost_belongs_to_a_panel() -> None:
    dear = PANEL.priced({"ann": 3})
    assert dear == Panel(PANEL.classes, PANEL.experts, PANEL.classifiers, costs=[3.0, 1.0, 1.0])
    assert hash(dear) == hash(PANEL.priced((3.0, 1.0, 1.0)))
    assert dear != PANEL
    assert PANEL.costs == (1.0, 1.0, 1.0)
    assert (PANEL.prices, PANEL.priced([2, 2, 2]).prices) == (None, None)  # nothing to weigh
    assert dear.prices == {"ann": 3.0, "ben": 1.0, "cho": 1.0}
    larger = dear.with_expert("dee").with_expert("eve", 0.5).with_classifier("vit")
    assert larger.costs == (3.0, 1.0, 1.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"zed": 1.0}, "no expert 'zed' to have a cost; the panel has ann, ben, cho"),
        ({"ann": -1.0}, "cost -1 of expert 'ann' is out of range; expected a number of at least 0"),
        ({"ann": float("nan")}, "cost nan of expert 'ann' is out of range"),
        ({"ann": float("inf")}, "cost inf of expert 'ann' is out of range"),
        ({"ann": "much"}, "cost 'much' of expert 'ann' is not a number"),
        ([0, 0, 0], "every expert costs 0, so there is nothing to save"),
        ([1.0, 2.0], "2 costs for 3 experts; expected one an expert"),
    ],
)
def test_a_cost_that_cannot_be_is_named(costs: dict[str, float] | list[float], message: str) -> None:
    with pytest.raises(PanelError, match=message):
        PANEL.priced(costs)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.6], "sum to 1.1, expected 1 within"),
        ([1.5, -0.5], "1.5 is not between 0 and 1"),
        ([float("nan"), 1.0], "nan is not between 0 and 1"),
        ([1.0], "expected 2 probabilities, one a class, got 1"),
        (["x", 1.0], "expected 2 numbers"),
    ],
)
def test_bad_probabilities_are_named(row: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        probability_row(row, classes=2, what="densenet")


def test_probabilities_are_normalised() -> None:
    assert sum(probability_row([0.3, 0.70005], classes=2, what="x")) == pytest.approx(1, abs=1e-15)


def test_a_case_knows_who_is_left_and_what_is_missing() -> None:
    case = open_case(PANEL, "c", {"resnet": [0.2, 0.8]}, available=["cho", "ann"]).with_vote(2, 1)
    assert case.unasked == (0,)
    assert case.vote_row().tolist() == [-1, -1, 1]
    assert np.isnan(case.probability_rows(2)[0]).all()
    assert case.probability_rows(2)[1].tolist() == [0.2, 0.8]
    with pytest.raises(InputError, match="no expert available"):
        open_case(PANEL, "c", {}, available=[])
    with pytest.raises(PanelError, match="no classifier 'vgg'"):
        open_case(PANEL, "c", {"vgg": [0.5, 0.5]})


def test_a_history_has_arrays_and_a_window() -> None:
    empty = History(PANEL)
    assert empty.votes().shape == (0, 3)
    assert empty.probabilities().shape == (0, 2, 2)
    history = empty
    for n in range(5):
        history = history.with_case(open_case(PANEL, str(n), {"densenet": [0.5, 0.5]}).with_vote(n % 3, 1))
    assert [case.key for case in history.window(2)] == ["3", "4"]
    assert history.window(None) is history
    assert history.votes()[4].tolist() == [-1, 1, -1]
    with pytest.raises(SettingsError, match="window 0"):
        history.window(0)


def test_settings_read_text_and_name_what_is_wrong() -> None:
    changed = Settings().changed({"eta": "2", "chains": "6", "temperature": "False"})
    assert (changed.eta, changed.chains, changed.temperature) == (2.0, 6, False)
    for texts, message in [
        ({"sigma": "1"}, "no setting 'sigma'; the settings are sigma_mu"),
        ({"eta": "two"}, "setting eta = 'two': expected a number"),
        ({"chains": "2.5"}, "expected a whole number"),
        ({"temperature": "maybe"}, "expected true or false"),
        ({"eta": "-1"}, "eta = -1 is out of range"),
        ({"eta": "nan"}, "out of range"),
        ({"chains": "1"}, "chains = 1 is out of range; expected 2 to 256"),
        ({"max_rhat": "1"}, "max_rhat = 1 is out of range"),
        ({"sigma_tau": "1e-7"}, "sigma_tau = 1e-07 is out of range"),
        ({"eta": "1e-300"}, "eta = 1e-300 is out of range"),
    ]:
        with pytest.raises(SettingsError, match=message):
            Settings().changed(texts)


def test_the_stated_error_is_the_sum_of_the_others() -> None:
    # 1 - max would round to 0 here and settle a case at max_error 0
    forecast = Forecast(("a", "b"), ("a", "b"), (1.0, 1e-20), {}, ())
    assert forecast.error == 1e-20
    assert forecast.leaders == ("a",)
    tie = Forecast(("a", "b", "c"), ("a", "b", "c"), (0.5, 0.0, 0.5), {}, ())
    assert tie.leaders == ("a", "c")
    assert tie.outcome == "a"
