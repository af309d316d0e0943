"""Carried chains against long fits of the same recorded votes, where both are quick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quorate.data.table import read_table
from tests.statistics import carried

SHORTER = replace(carried.LONG, draws=3000)


@pytest.mark.panels
@pytest.mark.parametrize(("name", "points"), [("chestxray", (50, 100)), ("chaoyang", (50,))])
def test_carried_forecasts_are_those_of_long_fits(name: str, points: tuple[int, ...], panels: Path) -> None:
    table = read_table(panels / f"{name}.csv")
    learned = carried.streamed(table, max(points), points)
    for n in points:
        found = carried.distance(learned[n], carried.long_fit(table, n, SHORTER), table)
        assert learned[n].health.healthy
        assert found.within(name, n), (n, found)


def test_a_distance_can_be_too_large() -> None:
    assert carried.Distance(0.009, 0.039, 1.1, 1.0).within("chestxray", 100)
    assert not carried.Distance(0.011, 0.039, 1.1, 1.0).within("chestxray", 100)
    assert not carried.Distance(0.009, 0.041, 1.1, 1.0).within("chestxray", 100)
    assert not carried.Distance(0.009, 0.039, 1.2, 1.0).within("chestxray", 100)
    assert carried.Distance(0.009, 0.039, 1.2, 1.0).within("chestxray", 50)
