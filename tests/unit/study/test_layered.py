"""A layered mapping is a dictionary that is never changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.study.layered import Layered


@given(st.lists(st.tuples(st.sampled_from("abcdefghijkl"), st.integers()), max_size=60))
def test_it_holds_what_a_dictionary_would(entries: list[tuple[str, int]]) -> None:
    plain: dict[str, int] = {}
    layered: Layered[int] = Layered()
    for key, value in entries:
        before, held = layered, dict(plain)
        layered = layered.plus(key, value)
        plain[key] = value
        assert before == held
        assert list(layered.items()) == list(plain.items())
        assert len(layered) == len(plain)


def test_what_is_not_there_is_missing() -> None:
    layered = Layered[int]().plus("a", 1)
    assert "b" not in layered
    assert layered.get("b") is None
    with pytest.raises(KeyError, match="b"):
        layered["b"]


def test_only_few_entries_are_copied_each_time() -> None:
    layered: Layered[int] = Layered()
    copied = 0
    for n in range(10_000):
        larger = layered.plus(str(n), n)
        copied += len(larger.over) if larger.under is layered.under else len(larger)
        layered = larger
    assert copied / 10_000 < 3 * 10_000**0.5  # one dictionary would copy 5,000 a time
