from __future__ import annotations

from collections.abc import Callable

import pytest
import typer

from quorate.cli.options import as_option, names, number_pairs, numbers, one_or_each, pairs
from quorate.errors import SettingsError


def test_an_option_that_is_not_given() -> None:
    assert (names(None, "--a"), numbers(None, "--a"), one_or_each(None, "--a")) == (None, None, None)
    assert (pairs(None, "--a"), number_pairs(None, "--a")) == ({}, {})


def test_lists_and_pairs() -> None:
    assert names(" a , b", "--a") == ["a", "b"]
    assert names('"x,y",z', "--a") == ["x,y", "z"]
    assert names('5" tube', "--a") == ['5" tube']
    assert names('"a', "--a") == ['"a']  # a quote that is not closed is a letter
    assert numbers("1,.5 , 1e-3", "--a") == [1.0, 0.5, 0.001]
    assert pairs("a=1, b = x=y", "--a") == {"a": "1", "b": "x=y"}
    assert number_pairs("a=1", "--a") == {"a": 1.0}


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (names, "", "holds an empty name"),
        (names, "a,", "holds an empty name"),
        (names, ",", "holds an empty name"),
        (numbers, "", "'' is not a number"),
        (numbers, "1,x", "'x' is not a number"),
        (numbers, "inf", "'inf' is not a number"),
        (one_or_each, "1,", "'' is not a number"),
        (pairs, "a", "'a' is not name=value"),
        (pairs, "a=", "'a=' is not name=value"),
        (pairs, "=1", "'=1' is not name=value"),
        (pairs, "", "'' is not name=value"),
        (pairs, "a=1,a=2", "'a' is given twice"),
        (number_pairs, "a=x", "'x' is not a number"),
    ],
)
def test_what_cannot_be_read_names_the_option(read: Callable[[str, str], object], text: str, message: str) -> None:
    with pytest.raises(typer.BadParameter, match=message) as caught:
        read(text, "--thing")
    assert caught.value.param_hint == "--thing"


def test_a_setting_in_the_words_of_the_command_line() -> None:
    assert as_option(SettingsError("drift_at = 9 is too large")).message == "--drift-at = 9 is too large"
    assert as_option(SettingsError("skill has 2 values")).message == "--skill has 2 values"
    assert as_option(SettingsError("too many cases at once")).message == "too many cases at once"
