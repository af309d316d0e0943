"""A few short simulated streams, and proof that a stated error can be found wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.statistics import streams


def line(rng: np.random.Generator, error: float, stated: float, cases: int = 250) -> dict[str, Any]:
    wrong = (rng.random(cases) < error).astype(float).tolist()
    few = {"queries": 2.0, "unhealthy_fits": 0, "forced_asks": 0}
    return {"error": wrong, "stated": [stated] * cases, "tied": [False] * cases, **few}


@pytest.mark.parametrize("world", ["full", "evidence"])
def test_short_streams_are_honest(world: str) -> None:
    found = streams.verdict([streams.run(world, 2, number, 40, 0.05) for number in (0, 1, 3)])
    assert found.low <= 0.05
    assert found.error <= found.stated + 0.03
    assert found.unhealthy_fits == 0


@pytest.mark.parametrize(
    ("error", "stated", "word"),
    [
        (0.01, 0.01, "honest"),
        (0.02, 0.009, "too sure"),
        (0.008, 0.004, "too sure"),  # although no more went wrong than was allowed
        (0.0, 0.05, "too cautious"),
    ],
)
def test_a_verdict_can_fall_either_way(error: float, stated: float, word: str) -> None:
    rng = np.random.default_rng(0)
    found = streams.verdict([line(rng, error, stated) for _ in range(40)])
    assert found.word(0.01) == word
    assert found.low <= found.error <= found.high


def test_cases_that_settled_as_a_tie_are_left_out() -> None:
    one = line(np.random.default_rng(0), 0.0, 0.001, cases=4)
    tied = {**one, "error": [0.0, 0.5, 0.0, 0.0], "stated": [0.0, 0.5, 0.0, 0.0], "tied": [False, True, False, False]}
    assert streams.verdict([tied]).error == 0.0
