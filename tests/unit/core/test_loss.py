"""Outcomes that are not equally grave: what leads, what is stated and when that is enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.core.case import Case
from quorate.core.forecast import Forecast
from quorate.core.health import Health
from quorate.core.loss import gravity_of
from quorate.errors import SettingsError
from quorate.policy.stopping import ErrorBelow

CASE = Case("c", (None,), (True,))


def forecast(*values: float, noise: float | None = None) -> Forecast:
    names = tuple("abcd"[: len(values)])
    return Forecast(names, names, values, {}, ("ann",), health=Health(monte_carlo_error=noise))


def test_the_outcome_of_least_expected_loss_leads() -> None:
    found = forecast(0.5, 0.3, 0.2).weighing((1.0, 1.0, 5.0))
    assert (found.outcome, found.leaders) == ("c", ("c",))
    assert found.error == pytest.approx(0.8)
    assert found.loss == pytest.approx(0.8)
    assert found.risks == pytest.approx({"a": 0.3 + 1.0, "b": 0.5 + 1.0, "c": 0.8})
    assert min(found.risks.values()) == pytest.approx(found.loss)


def test_a_tie_goes_to_the_graver_and_the_impossible_never_leads() -> None:
    assert forecast(0.5, 0.5).leaders == ("a", "b")
    assert forecast(0.5, 0.5).weighing((1.0, 5.0)).leaders == ("b",)
    for gravity in ((5.0, 0.0), (0.0, 5.0)):
        assert forecast(0.0, 1.0).weighing(gravity).leaders == ("b",)
        assert forecast(1.0, 0.0).weighing(gravity).leaders == ("a",)


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=4).filter(lambda values: sum(values) > 0),
    st.floats(0, 0.9),
    st.floats(0, 0.05),
)
def test_equal_gravity_changes_nothing(values: list[float], allowed: float, noise: float) -> None:
    plain = forecast(*values, noise=noise)
    ones = (1.0,) * len(values)
    equal = plain.weighing(ones)
    assert (equal.leaders, equal.error, equal.loss) == (plain.leaders, plain.error, plain.error)
    one, other = ErrorBelow(allowed), ErrorBelow(allowed, gravity=ones)
    assert one.settled(CASE, plain) == other.settled(CASE, equal)
    assert (one.doubt(plain) is None) == (other.doubt(equal) is None)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda values: sum(values) > 0),
    st.lists(st.floats(0, 9), min_size=3, max_size=3).filter(any),
)
def test_a_stopper_and_a_forecast_speak_of_the_same_loss(values: list[float], gravity: list[float]) -> None:
    found = forecast(*values).weighing(tuple(gravity))
    assert found.loss == pytest.approx(min(found.risks.values()))
    for allowed in (0.0, 0.01, 0.3):
        stopper = ErrorBelow(allowed, gravity=tuple(gravity))
        if abs(found.loss - allowed) > 1e-12:
            assert stopper.settled(CASE, found) == (found.loss <= allowed)


def test_the_doubt_weighs_what_could_be_missed() -> None:
    stopper = ErrorBelow(0.05, gravity=(1.0, 5.0))
    kept = forecast(0.995, 0.005, noise=0.004).weighing(
        stopper.gravity
    )  # an error of a is one of b, five times as grave
    doubt = stopper.doubt(kept)
    assert doubt is not None
    assert doubt.startswith(
        "the Monte Carlo error 0.02 of the expected loss 0.025 is above 0.25 times the allowed 0.05"
    )
    assert ErrorBelow(0.05).doubt(forecast(0.995, 0.005, noise=0.004)) is None
    assert stopper.doubt(forecast(0.04, 0.96, noise=0.004).weighing(stopper.gravity)) is None  # only a could be missed


def test_the_interval_is_that_of_the_leader_or_none() -> None:
    two = Forecast(("a", "b"), ("a", "b"), (0.8, 0.2), {}, (), interval=(0.7, 0.9))
    assert two.weighing((1.0, 5.0)).interval == pytest.approx((0.1, 0.3))
    assert two.weighing((1.0, 2.0)).interval == (0.7, 0.9)
    three = Forecast(("a", "b", "c"), ("a", "b"), (0.5, 0.3, 0.2), {}, (), interval=(0.4, 0.6))
    assert three.weighing((1.0, 1.0, 9.0)).interval is None


def test_many_values_at_once_are_judged_like_one() -> None:
    rng = np.random.default_rng(0)
    values = rng.dirichlet([0.3, 0.3, 0.3], 200)
    stopper = ErrorBelow(0.2, gravity=(1.0, 5.0, 0.5))
    alone = [stopper.settled(CASE, forecast(*row).weighing(stopper.gravity)) for row in values.tolist()]
    assert stopper.enough(values).tolist() == alone
    assert 0 < sum(alone) < 200


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ({"c": 5}, "no outcome 'c' to have a loss; the target has a, b"),
        ({"a": -1}, "loss -1 of 'a' is out of range"),
        ({"a": float("nan")}, "loss nan of 'a' is out of range"),
        ({"a": float("inf")}, "loss inf of 'a' is out of range"),
        ({"a": "grave"}, "loss 'grave' of 'a' is not a number"),
        ({"a": 0, "b": 0}, "every outcome has a loss of 0"),
    ],
)
def test_a_loss_that_means_nothing_is_refused(loss: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        gravity_of(loss, ("a", "b"))
    assert gravity_of({}, ("a", "b")) is None
